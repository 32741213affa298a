"""Where the options open the metadata store, in the driver and in tasks: always as they want ZooKeeper spoken to."""

import ast
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructType

import bookkeeper_tx.spark.session
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslLogin
from bookkeeper_tx.spark.cluster.bookies_table import BookiesReader
from bookkeeper_tx.spark.cluster.ledgers_table import LedgersReader
from bookkeeper_tx.spark.cluster.orphans_table import OrphansReader
from bookkeeper_tx.spark.options import metadata_store
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan import ledger_ranges
from bookkeeper_tx.spark.plan.latest_metadata import LatestMetadata
from bookkeeper_tx.spark.plan.ledger_chunks import Chunk
from bookkeeper_tx.spark.plan.ledger_ranges import KnownLedger, Snapshot, recovered, take_snapshot
from bookkeeper_tx.spark.replicas.table import ReplicasReader
from bookkeeper_tx.spark.sink import sink, writer
from bookkeeper_tx.spark.sink.commit import abort_epoch, commit_epoch
from bookkeeper_tx.spark.sink.manifest import EpochKey, PublishedLedger
from bookkeeper_tx.spark.sink.writer import EpochMessage
from bookkeeper_tx.spark.stream.cluster import StreamCluster
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from tests.spark.stores import open_ledger

URI = "zk://h/ledgers"
KEYS = {
    "bookkeeper.client.java.security.auth.login.config": "/jaas",
    "bookkeeper.client.zookeeper.sasl.clientconfig": "Mine",
    "bookkeeper.client.zkEnableSecurity": "true",
}
SECURITY = MetadataSecurity(login=SaslLogin("/jaas", "Mine"), creator_only=True)
KEY = EpochKey("query", 1)


class Opened(Exception):
    """Somebody opens the store with these arguments."""


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_one(*arguments: Any) -> None:
        raise Opened(arguments)

    for module in (metadata_store, writer):
        monkeypatch.setattr(module, "open_blocking_store", open_one)
    monkeypatch.setattr(ledger_ranges, "recover_ledger", lambda *_, config: KNOWN.metadata)
    task = SimpleNamespace(partitionId=lambda: 0, attemptNumber=lambda: 0, taskAttemptId=lambda: 0)
    monkeypatch.setattr(writer, "TaskContext", SimpleNamespace(get=lambda: task))


def options(use: Use, **values: str) -> Options:
    return Options.from_spark({"metadataServiceUri": URI, "metadataTimeoutMs": "3000", **KEYS, **values}, use)


READ = options(Use.READ, ledger="7")


SCHEMA = StructType().add("payload", BinaryType())
WRITE = options(Use.WRITE, sinkId="s", ensembleSize="1", writeQuorumSize="1", ackQuorumSize="1")


def sink_plan() -> Any:
    return pickle.loads(pickle.dumps(sink._plan(WRITE, SCHEMA)))


def stream() -> StreamCluster:
    return StreamCluster(options(Use.STREAM, ledger="7"), Secret(), lambda *_: ())


def rows() -> Any:
    return iter([pa.record_batch({"payload": [b"x"]})])


KNOWN = KnownLedger(7, open_ledger(), 1)
OPEN = Snapshot((KNOWN,), {})
MESSAGE = EpochMessage(KEY, 0, (PublishedLedger(7, 0, 1),))


def task_of(reader: Any, value: Any = None) -> Any:
    """Run a task of a reader, which has travelled."""
    return list(pickle.loads(pickle.dumps(reader)).read(SimpleNamespace(value=value)))


PLACES: dict[str, Callable[[], Any]] = {
    "planning a read": lambda: take_snapshot(READ, Secret()),
    "a task that looks once more": lambda: LatestMetadata(READ, None)(7),  # type: ignore[arg-type]
    "planning a stream": lambda: stream().look(StreamOffset()),
    "recovery that was done": lambda: recovered(OPEN, READ, Secret()),
    "planning a batch write": lambda: sink.make_writer(WRITE, SCHEMA, False),
    "planning a streaming write": lambda: sink.make_stream_writer(WRITE, SCHEMA, False),
    "a task of a sink": lambda: writer.write_partition(sink_plan(), KEY, rows()),
    "a commit": lambda: commit_epoch(sink_plan(), KEY, [MESSAGE]),
    "an abort": lambda: abort_epoch(sink_plan(), KEY, [MESSAGE]),
    "planning bookies": lambda: BookiesReader(options(Use.BOOKIES), ["bookie"]).partitions(),
    "a task of bookies": lambda: task_of(BookiesReader(options(Use.BOOKIES), ["bookie"])),
    "planning ledgers": lambda: LedgersReader(options(Use.LEDGERS), ["ledger_id"]).partitions(),
    "a task of ledgers": lambda: task_of(LedgersReader(options(Use.LEDGERS), ["ledger_id"]), Chunk((7,), frozenset())),
    "planning replicas": lambda: ReplicasReader(options(Use.REPLICAS), ["bookie"]).partitions(),
    "a task of replicas": lambda: task_of(
        ReplicasReader(options(Use.REPLICAS), ["bookie"]),
        (SimpleNamespace(chunk=Chunk((7,), frozenset())), None, Secret()),
    ),
    "planning orphans": lambda: OrphansReader(options(Use.ORPHANS, ids="0-9"), ["bookie"]).partitions(),
    "a task of orphans": lambda: task_of(
        OrphansReader(options(Use.ORPHANS, ids="0-9"), ["bookie"]), ("bookie", IdRanges(()))
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_shows_the_store_what_the_options_say(place: str) -> None:
    with pytest.raises(Opened) as opened:
        PLACES[place]()
    assert opened.value.args == ((URI, 3.0, SECURITY),)


def test_no_call_leaves_the_security_out() -> None:
    """Also none that the places above do not have yet."""
    short = []
    for path in Path(bookkeeper_tx.spark.session.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and "open_blocking_store" in ast.unparse(node.func) and len(node.args) != 3:
                short.append(f"{path.name}:{node.lineno}")
    assert short == []


def test_a_wrong_key_is_told_before_the_store_is_asked() -> None:
    with pytest.raises(InvalidConfig, match=r"option bookkeeper\.client\.nothing does nothing here"):
        open_store(options(Use.READ, ledger="7", **{"bookkeeper.client.nothing": "x"}))
    with pytest.raises(InvalidConfig, match=r"zookeeper\.sasl\.clientconfig = Mine: a login needs"):
        open_store(options(Use.READ, ledger="7", **{"bookkeeper.client.zookeeper.sasl.client": "false"}))
