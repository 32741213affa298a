"""Open the metadata store that a URI names."""

from typing import Any

from bookkeeper_tx.metadata.sqlite.sqlite import SqliteMetadataStore
from bookkeeper_tx.metadata.uri import SqliteUri, parse_metadata_uri


def open_metadata_store(uri: str, reactor: Any, timeout_s: float = 10.0) -> Any:
    """Return the IMetadataStore of ``uri``, not yet started; raises InvalidConfig for a URI that names none.

    ``sqlite:///path/to/file``; ``zk://h1:2181;h2:2181/ledgers`` (also ``zk+null://``), which takes the cluster's own
    layout; ``zk+hierarchical://…`` and ``zk+longhierarchical://…``, which insist on that layout.  ``timeout_s`` is how
    long ZooKeeper may take to answer, and after how long of silence it takes us for gone.
    """
    parsed = parse_metadata_uri(uri)
    if isinstance(parsed, SqliteUri):
        return SqliteMetadataStore(parsed.path, reactor)
    # Only here: who has an SQLite store need not wait for kazoo to be imported.
    from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore

    return ZooKeeperMetadataStore(parsed, reactor, session_timeout_s=timeout_s, operation_timeout_s=timeout_s)
