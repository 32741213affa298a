"""A Pulsar cluster whose entries are kept by three bookies of ours, and what tests do with its messages."""

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import LedgerMetadata
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.cluster import session
from compat_tests.targets.unavailable import Unavailable
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.pulsar.admin import Admin
from tests.integration.pulsar.broker import Broker
from tests.integration.pulsar.offloader import offloader_settings

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "pulsar.md"

ROOT = "/ledgers"
"""Where Pulsar wants BookKeeper's metadata."""

ENTRIES_PER_LEDGER = 50
"""After so many messages Pulsar begins a new ledger."""

TEST_SETTINGS = {
    "managedLedgerMaxEntriesPerLedger": ENTRIES_PER_LEDGER,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "managedLedgerCursorMaxEntriesPerLedger": 20,
}

BOOKIE_SETTINGS = {"gcWaitTime": 1000, "flushInterval": 500, "logSizeLimit": 2 * 1024 * 1024}
"""Bookies of tests begin new entry logs soon, and look for deleted ledgers every second."""

DB_LEDGER_STORAGE = "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"
"""What Pulsar's own file of configuration asks for: two of the three bookies have it, one has index files."""

WAIT_S = 120
POLL_S = 0.2


def guide_settings(file: str) -> dict[str, str]:
    """The keys and values that the guide gives for a file of configuration."""
    match = re.search(rf"^```\n# {re.escape(file)}\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert match is not None
    lines = [line for line in match[1].splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def pulsar_client() -> Any:
    """The module of Pulsar's client for Python."""
    try:
        import pulsar
    except ImportError as error:
        raise Unavailable(f"the pulsar-client package is not installed ({error})") from error
    return pulsar


@frozen
class Site:
    """ZooKeeper, bookies and broker, all of them running, and a client of Pulsar."""

    zookeeper: ZooKeeper
    bookies: LocalCluster
    broker: Broker
    admin: Admin
    client: Any
    begun_by_pulsar: frozenset[str]
    """What was in the root of BookKeeper's metadata when Pulsar's tool had made it, and no bookie had been started."""
    _numbers: Iterator[int] = field(factory=lambda: itertools.count(1))

    def new_topic(self, namespace: str = "default") -> str:
        """A name that no topic has had, as the calls of administrators take it: ``persistent/public/default/t1``."""
        return f"persistent/public/{namespace}/t{next(self._numbers)}"

    def producer(self, topic: str, **options: Any) -> Any:
        """A producer whose messages are an entry each, unless the options ask for batches."""
        return self.client.create_producer(_url(topic), send_timeout_millis=WAIT_S * 1000, **options)

    def subscribe(self, topic: str, name: str, **options: Any) -> Any:
        """A consumer that begins with the earliest message, unless this subscription has been there before."""
        earliest = pulsar_client().InitialPosition.Earliest
        return self.client.subscribe(_url(topic), name, initial_position=earliest, **options)

    def send(self, topic: str, payloads: Sequence[bytes]) -> None:
        """Send messages, and return when each is acknowledged."""
        producer = self.producer(topic)
        for payload in payloads:
            producer.send(payload)
        producer.close()

    def read(self, topic: str, count: int, *, compacted: bool = False) -> list[bytes]:
        """The first messages of a topic, as a reader sees them; none is acknowledged."""
        earliest = pulsar_client().MessageId.earliest
        reader = self.client.create_reader(_url(topic), earliest, is_read_compacted=compacted)
        messages = [reader.read_next(WAIT_S * 1000).data() for _ in range(count)]
        reader.close()
        return messages

    def unload(self, topic: str) -> None:
        """Have the broker close the topic and forget its entries; it is opened again when somebody wants it."""
        self.admin.put(f"{topic}/unload")

    def cursor_state(self, topic: str, subscription: str) -> str:
        """The state of a subscription's cursor; ``Open`` when what is acknowledged goes to a ledger of its own."""
        state: str = self.admin.get(f"{topic}/internalStats")["cursors"][subscription]["state"]
        return state

    def ledger_metadata(self, ledger_id: int) -> LedgerMetadata:
        """A ledger's metadata, read by ours; raises NoSuchLedger if there is none."""
        store = open_blocking_store(self.bookies.metadata_uri)
        try:
            return store.read_ledger(ledger_id).metadata
        finally:
            store.close()

    def ledgers_root(self) -> frozenset[str]:
        """What is in the root of BookKeeper's metadata."""
        return _children(self.zookeeper)

    def entry_log_bytes(self) -> int:
        """The bytes of all entry logs of all bookies."""
        logs = [log for bookie in self.bookies.bookies for log in (bookie.directory / "data" / "current").glob("*.log")]
        return sum(_size_bytes(log) for log in logs)

    def known_ledgers(self) -> set[int]:
        """The ids of all ledgers that have metadata, whether of a topic, of a cursor or of a schema."""
        store = open_blocking_store(self.bookies.metadata_uri)
        try:
            return set(store.list_ledgers())
        finally:
            store.close()

    def bookies_of(self, ledger_id: int) -> set[str]:
        """The ids of the bookies in all ensembles of a ledger."""
        return {
            bookie for fragment in self.ledger_metadata(ledger_id).fragments for bookie in map(str, fragment.ensemble)
        }


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Return when the condition is true; fails the test if that takes too long."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S} s: {what}"
        time.sleep(POLL_S)


def _size_bytes(path: Path) -> int:
    """The size of a file; 0 if it has been removed meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _children(zookeeper: ZooKeeper) -> frozenset[str]:
    with session(zookeeper.hosts) as client:
        return frozenset(client.get_children(ROOT))


def _url(topic: str) -> str:
    kind, _, rest = topic.partition("/")
    return f"{kind}://{rest}"


@contextmanager
def running_site(work_dir: Path) -> Iterator[Site]:
    """Start everything in the order of the guide, and stop it in the opposite one."""
    pulsar = pulsar_client()
    offloader = offloader_settings(work_dir / "offloader")
    with ZooKeeper(work_dir / "zookeeper") as zookeeper:
        settings = {**guide_settings("broker.conf"), **TEST_SETTINGS, **offloader}
        (work_dir / "broker").mkdir()
        broker = Broker(zookeeper.hosts, work_dir / "broker", settings)
        broker.initialise_metadata()
        begun = _children(zookeeper)
        uri = f"zk+hierarchical://{zookeeper.hosts}{ROOT}"
        bookie_settings = {**guide_settings("bk_server.conf"), **BOOKIE_SETTINGS, "metadataServiceUri": uri}
        bookie_settings["ledgerStorageClass"] = DB_LEDGER_STORAGE
        with LocalCluster(work_dir / "bookies", 2, metadata_uri=uri, settings=bookie_settings) as bookies:
            bookies.add_bookie(settings={"ledgerStorageClass": "SortedLedgerStorage"})
            try:
                broker.start()
                logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
                client = pulsar.Client(broker.service_url, operation_timeout_seconds=WAIT_S, logger=logger)
                yield Site(zookeeper, bookies, broker, Admin(broker.web_url), client, begun)
                client.shutdown()
            finally:
                broker.stop()
