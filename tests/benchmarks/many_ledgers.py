"""Put very many closed ledgers into a metadata store, in bulk: one at a time would take hours."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, TypeVar

from attrs import evolve
from kazoo.client import KazooClient
from twisted.internet import reactor

from bookkeeper_tx.metadata.ledger_record.serialization import serialize
from bookkeeper_tx.metadata.sqlite.file import transaction
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.uri import EtcdUri, SqliteUri, ZooKeeperUri, parse_metadata_uri
from bookkeeper_tx.metadata.zookeeper.paths import LedgerTree
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from protocol_specs.metadata import etcd_layout
from tests.reactor_thread import run_in_reactor

Item = TypeVar("Item")

TIMEOUT_S = 60
NODES_AT_ONCE = 1000
"""Some 300 kB: ZooKeeper takes transactions of 1 MiB."""

KEYS_AT_ONCE = 128
"""As many as etcd takes in a transaction."""

_CLOSED = LedgerMetadata(
    3, 3, 2, [Fragment(0, ("a:3181", "b:3181", "c:3181"))], DigestType.CRC32C, b"", ctime_ms=1_700_000_000_000
).with_close(9_999, 1_000_000)


def put_ledgers(uri: str, count: int) -> None:
    """Make a cluster at ``uri`` with the ledgers 1 to ``count``."""
    run_in_reactor(lambda: _make_cluster(uri), timeout_s=TIMEOUT_S)
    parsed, ids = parse_metadata_uri(uri), range(1, count + 1)
    if isinstance(parsed, SqliteUri):
        _put_into_sqlite(parsed, ids)
    elif isinstance(parsed, EtcdUri):
        _put_into_etcd(parsed, ids)
    else:
        _put_into_zookeeper(parsed, ids)


async def _make_cluster(uri: str) -> None:
    store: Any = open_metadata_store(uri, reactor)
    await store.start()
    await store.initialize()
    await store.stop()


def _record(ledger_id: int) -> bytes:
    return serialize(evolve(_CLOSED, create_token=ledger_id))


def _put_into_sqlite(uri: SqliteUri, ids: Iterable[int]) -> None:
    with closing(Tables(uri.path)) as tables, transaction(tables.opened()) as connection:
        connection.executemany("INSERT INTO ledgers VALUES (?, 0, ?)", ((each, _record(each)) for each in ids))


def _put_into_zookeeper(uri: ZooKeeperUri, ids: Iterable[int]) -> None:
    with _session(uri) as client:
        for some in _in_lots(_nodes(LedgerTree(uri.root, uri.layout or ""), ids), NODES_AT_ONCE):
            creates = client.transaction()
            for path, record in some:
                creates.create(path, record)
            made = creates.commit()
            assert made == [path for path, _ in some], made[:3]


def _nodes(tree: LedgerTree, ids: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """Yield the node of each ledger, after those above it that were not there yet."""
    made = set[str]()
    for ledger_id in ids:
        path = tree.path(ledger_id)
        for parent in reversed(tree.parents(path)):
            if parent not in made:
                made.add(parent)
                yield parent, b""
        yield path, _record(ledger_id)


@contextmanager
def _session(uri: ZooKeeperUri) -> Iterator[KazooClient]:
    client = KazooClient(",".join(uri.hosts), timeout=TIMEOUT_S)  # a server whose heap grows stops for seconds
    client.start(TIMEOUT_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def _put_into_etcd(uri: EtcdUri, ids: Iterable[int]) -> None:
    # Imported here, so that the other stores need no gRPC.
    from bookkeeper_tx.metadata.etcd.channel import EtcdChannel
    from bookkeeper_tx.metadata.etcd.client import EtcdClient, put

    client = EtcdClient(EtcdChannel(uri.hosts), TIMEOUT_S)
    folder = f"{uri.scope}/{etcd_layout.LEDGERS}"
    try:
        for some in _in_lots(ids, KEYS_AT_ONCE):
            client.transact([], [put(f"{folder}/{etcd_layout.ledger_name(each)}", _record(each)) for each in some])
    finally:
        client.channel.close()


def _in_lots(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    source = iter(items)
    while lot := list(islice(source, size)):
        yield lot
