"""Opening the metadata store that a URI names."""

from typing import Any

from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.metadata.sqlite.sqlite import SqliteMetadataStore
from bookkeeper_tx.metadata.uri import EtcdUri, SqliteUri, parse_metadata_uri
from bookkeeper_tx.security.metadata_security import MetadataSecurity


def open_metadata_store(
    uri: str, reactor: Any, timeout_s: float = 10.0, security: MetadataSecurity | None = None
) -> MetadataStore:
    """Return the store of ``uri``, not yet started; raises InvalidConfig for a URI that names none.

    ``sqlite:///path/to/file``; ``zk://h1:2181;h2:2181/ledgers`` (also ``zk+null://``), which takes the cluster's own
    layout; ``zk+hierarchical://…``, ``zk+longhierarchical://…`` and ``zk+flat://…``, which insist on that layout;
    ``etcd://h1:2379;h2:2379/ledgers``.  ``timeout_s`` is how long ZooKeeper or etcd may take to answer, and also the
    time of silence after which it expires our session or lease.  ``security`` is for ZooKeeper; InvalidConfig is
    raised for a login that cannot be used, too.
    """
    parsed = parse_metadata_uri(uri)
    if isinstance(parsed, SqliteUri):
        return SqliteMetadataStore(parsed.path, reactor)
    if isinstance(parsed, EtcdUri):
        from bookkeeper_tx.metadata.etcd.etcd import EtcdMetadataStore

        return EtcdMetadataStore(parsed, reactor, timeout_s)
    # Imported here, so that a program with an SQLite store does not wait for the import of kazoo.
    from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore

    return ZooKeeperMetadataStore(parsed, reactor, security, session_timeout_s=timeout_s, operation_timeout_s=timeout_s)
