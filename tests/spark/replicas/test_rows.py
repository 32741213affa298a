"""Rows about the replicas of one ledger, from bookies without sockets."""

from collections.abc import Callable
from typing import Any

from attrs import evolve

from bookkeeper_tx.errors import NoSuchLedger, StorageFailed
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.filters import IdFilter
from bookkeeper_tx.spark.plan.ledger_chunks import Chunk
from bookkeeper_tx.spark.replicas.copies import CopyReader
from bookkeeper_tx.spark.replicas.pieces import Share
from bookkeeper_tx.spark.replicas.plan import Task
from bookkeeper_tx.spark.replicas.rows import LedgerRows
from bookkeeper_tx.spark.replicas.table import ENTRIES, RANGES
from bookkeeper_tx.spark.table_rows import batches_of
from tests.spark.replicas.kept_copies import LEDGER, KeptCluster, KeptCopies, sealed

COUNT = 10
OPEN = LedgerMetadata(3, 3, 2, [Fragment(0, ["a", "b", "c"])], DigestType.CRC32C)
CLOSED = OPEN.with_close(COUNT - 1, 70)


def rows_of(
    cluster: KeptCluster,
    metadata: LedgerMetadata,
    *,
    task: Task | None = None,
    ids: IdFilter | None = None,
    now: Callable[[], LedgerMetadata] | None = None,
    **options: str,
) -> list[dict[str, Any]]:
    parsed = Options.from_spark({"metadataServiceUri": "sqlite:///none", **options}, Use.REPLICAS)
    task = task or Task(Chunk((LEDGER,), frozenset()), Share(), 1000)
    with cluster.channels() as channels:
        reader = CopyReader.make(channels, batch=True, window=8, num_retries=0, retry_interval_s=0)
        ledger = LedgerRows(LEDGER, metadata, task, ids or IdFilter(), Secret(), parsed, now or (lambda: metadata))
        columns = ENTRIES if parsed.per_entry else RANGES
        batches = list(batches_of(ledger.rows(channels, reader), columns, columns.names, 1000))
    return [row for batch in batches for row in batch.to_pylist()]


def three(count: int = COUNT) -> KeptCluster:
    return KeptCluster(**{name: KeptCopies(range(count)) for name in "abc"})


def test_a_row_for_each_bookie() -> None:
    cluster = three()
    del cluster.bookies["b"].entries[4]
    cluster.bookies["c"].entries[5] = StorageFailed("bad sector")
    rows = rows_of(cluster, CLOSED)
    assert [(row["bookie"], row["verdict"], row["present"]) for row in rows] == [
        ("a", "ok", COUNT),
        ("b", "missing", COUNT - 1),
        ("c", "storage-failed", COUNT - 1),
    ]
    assert rows[1]["missing_ranges"] == [{"first": 4, "last": 4}]
    assert rows[2]["error"] == "storage-failed: bad sector"
    assert [(row["storage_failed"], row["unknown"]) for row in rows] == [(0, 0), (0, 0), (1, 0)]


def test_a_disk_that_fails_is_told_from_a_bookie_that_does_not_answer_entry_by_entry() -> None:
    cluster = three()
    del cluster.bookies["a"].entries[3]
    cluster.bookies["b"].entries[3] = StorageFailed("bad sector")
    cluster.bookies["c"].reachable = False
    rows = [row for row in rows_of(cluster, CLOSED, perEntry="true") if row["entry_id"] == 3]
    assert [(row["bookie"], row["present"], row["storage_failed"]) for row in rows] == [
        ("a", False, False),
        ("b", None, True),
        ("c", None, False),
    ]


def test_a_ledger_that_has_changed_meanwhile_is_not_damaged() -> None:
    def deleted() -> LedgerMetadata:
        raise NoSuchLedger

    cluster = three()
    del cluster.bookies["b"].entries[4]
    assert [row["bookie"] for row in rows_of(cluster, CLOSED, now=deleted)] == ["a"]
    moved = evolve(CLOSED, fragments=[Fragment(0, ["a", "d", "c"])])
    rows = rows_of(cluster, CLOSED, now=lambda: moved)
    assert [(row["bookie"], row["verdict"]) for row in rows] == [("a", "ok"), (None, "unknown")]
    assert "look again" in rows[1]["error"]


def test_a_ledger_that_has_changed_meanwhile_is_not_damaged_entry_by_entry_either() -> None:
    def deleted() -> LedgerMetadata:
        raise NoSuchLedger

    def unchanged() -> LedgerMetadata:
        looks.append(CLOSED)
        return CLOSED

    looks: list[LedgerMetadata] = []
    cluster = three()
    for entry_id in (4, 6):
        del cluster.bookies["b"].entries[entry_id]
    before = [("a", each) for each in range(COUNT)] + [("b", each) for each in range(4)]
    rows = rows_of(cluster, CLOSED, now=deleted, perEntry="true")
    assert [(row["bookie"], row["entry_id"]) for row in rows] == before
    moved = evolve(CLOSED, fragments=[Fragment(0, ["a", "d", "c"])])
    rows = rows_of(cluster, CLOSED, now=lambda: moved, perEntry="true")
    assert [(row["bookie"], row["entry_id"]) for row in rows] == [*before, (None, None)]
    assert "look again" in rows[-1]["error"]
    rows = rows_of(cluster, CLOSED, now=unchanged, perEntry="true")
    assert [(row["bookie"], row["entry_id"]) for row in rows if not row["present"]] == [("b", 4), ("b", 6)]
    assert len(looks) == 1


def test_an_open_ledger_ends_at_its_last_add_confirmed() -> None:
    cluster = three()
    for bookie in cluster.bookies.values():
        bookie.entries[COUNT - 1] = sealed(COUNT - 1, lac=COUNT - 3)
    rows = rows_of(cluster, OPEN)
    assert {(row["last_entry"], row["verdict"], row["closed"]) for row in rows} == {(COUNT - 3, "ok", False)}
    assert rows_of(cluster, OPEN, readMode="closed") == []
    assert rows_of(three(0), OPEN) == []


def test_an_open_ledger_whose_end_nobody_knows_is_looked_at_up_to_there() -> None:
    cluster = three()
    for bookie in "ab":
        cluster.bookies[bookie].reachable = False
    grown = OPEN.with_fragment(Fragment(6, ["a", "b", "c"]))
    rows = rows_of(cluster, grown)
    assert (rows[0]["bookie"], rows[0]["verdict"]) == (None, "unknown")
    assert "last add confirmed" in rows[0]["error"]
    assert [(row["bookie"], row["verdict"], row["last_entry"]) for row in rows[1:]] == [
        ("a", "unknown", 5),
        ("b", "unknown", 5),
        ("c", "ok", 5),
    ]


def test_the_digest_type_may_have_to_be_given() -> None:
    unsaid = evolve(CLOSED, digest_type=None, password=None)
    (row,) = rows_of(three(), unsaid)
    assert "digestType" in row["error"]
    assert [row["verdict"] for row in rows_of(three(), unsaid, digestType="crc32c")] == ["ok"] * 3


def test_an_empty_ledger_has_no_rows() -> None:
    assert rows_of(three(), OPEN.with_close(-1, 0)) == []


def test_a_task_reads_its_share() -> None:
    task = Task(Chunk((LEDGER,), frozenset()), Share(1, 2), 4)
    assert [(row["first_entry"], row["last_entry"]) for row in rows_of(three(), CLOSED, task=task)] == [(4, 7)] * 3


def test_a_row_for_each_copy() -> None:
    cluster = three()
    cluster.bookies["b"].entries[4] = b"short"
    cluster.bookies["c"].other = NoSuchLedger()
    cluster.bookies["c"].entries.clear()
    rows = rows_of(cluster, CLOSED, perEntry="true", ids=IdFilter().and_in([3, 4]))
    assert [(row["bookie"], row["entry_id"], row["present"], row["digest_ok"]) for row in rows] == [
        ("a", 3, True, True),
        ("a", 4, True, True),
        ("b", 3, True, True),
        ("b", 4, True, False),
        ("c", 3, False, None),
        ("c", 4, False, None),
    ]
    assert (rows[0]["payload_bytes"], rows[0]["length"], rows[0]["last_add_confirmed"]) == (7, 7, -1)
    named = rows_of(cluster, CLOSED, perEntry="true", entries=f'{{"{LEDGER}": "3-4,900", "{LEDGER + 1}": "5"}}')
    assert sorted(map(str, named)) == sorted(map(str, rows))
    assert (rows[3]["sha256"], rows[3]["payload_bytes"]) == (None, None)


def test_copies_on_a_bookie_that_is_down_are_not_said_to_be_missing() -> None:
    cluster = three()
    cluster.bookies["a"].reachable = False
    rows = rows_of(cluster, CLOSED, perEntry="true", ids=IdFilter().and_in([3]))
    assert [(row["bookie"], row["present"]) for row in rows] == [("a", None), ("b", True), ("c", True)]
