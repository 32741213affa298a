"""The rows that a task makes of the runs of its ledger readers; tests with bookies are in tests/spark/reading."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, DigestMismatch, EntriesMissing, NoSuchEntry
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.entries import partition_reader
from bookkeeper_tx.spark.entries.partition_reader import read_ranges
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.reading.missing_entries import MissingEntries
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun
from tests.spark.plan.ranges import ledger_range

SCHEMA = pa.schema(
    [("ledger_id", pa.int64()), ("entry_id", pa.int64()), ("payload", pa.binary()), ("lost", pa.string())]
)
DIGEST = EntryDigest(DigestType.CRC32C, b"")
GONE = {"bookie:3181": NoSuchEntry()}


def run(ledger: int, first: int, last: int) -> VerifiedRun:
    sealed = [DIGEST.seal(ledger, each, -1, 0, b"%d" % each) for each in range(first, last + 1)]
    return VerifiedRun(
        EntryRun.of_entries(ledger, first, sealed), len(sealed), DIGEST.payload_offset_of(ledger), ("bookie:3181",)
    )


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[Any]]:
    """The results of each ledger's reader: runs, lost entries, an error."""
    parts: dict[int, list[Any]] = {}

    class Reader:
        def __init__(self, channels: Any, ledger: Any, password: bytes, **options: Any) -> None:
            self.missing = MissingEntries()
            self._ledger_id = ledger.ledger_id

        def parts(self) -> Iterator[Any]:
            for each in parts[self._ledger_id]:
                if isinstance(each, Exception):
                    raise each
                if isinstance(each, LostEntry):
                    self.missing.add(each.entry_id, dict(each.reasons))
                yield each

    monkeypatch.setattr(partition_reader, "LedgerReader", Reader)
    return parts


def rows(*ranges: Any, **options: str) -> list[dict[str, Any]]:
    given = {"metadataServiceUri": "sqlite:///m", "ledger": "1", **options}
    batches = read_ranges(ranges, {}, Secret(), Options.from_spark(given, Use.READ), SCHEMA)
    return [row for batch in batches for row in batch.to_pylist()]


def test_small_ledgers_share_a_batch(given: dict[int, list[Any]]) -> None:
    given.update({1: [run(1, 0, 1), run(1, 2, 2)], 2: [run(2, 5, 6)]})
    found = rows(ledger_range(1, 0, 2), ledger_range(2, 5, 6))
    assert [(row["ledger_id"], row["entry_id"], row["payload"]) for row in found] == [
        (1, 0, b"0"),
        (1, 1, b"1"),
        (1, 2, b"2"),
        (2, 5, b"5"),
        (2, 6, b"6"),
    ]


def test_lost_entries_are_rows_and_in_the_log(given: dict[int, list[Any]], caplog: pytest.LogCaptureFixture) -> None:
    corrupt = LostEntry(1, 3, {"bookie:3181": DigestMismatch("bad bits")})
    given[1] = [run(1, 0, 0), LostEntry(1, 1, GONE), run(1, 2, 2), corrupt]
    with caplog.at_level(logging.WARNING):
        found = rows(ledger_range(1, 0, 3), failOnDataLoss="false", includeLost="true")
    assert [(row["entry_id"], row["payload"], row["lost"]) for row in found] == [
        (0, b"0", None),
        (1, None, "bookie:3181: There is no such entry."),
        (2, b"2", None),
        (3, None, "bookie:3181: bad bits"),
    ]
    (said,) = caplog.messages
    assert said == (
        "ledger 1: lost entries: 2, 1 of them corrupt; the first is 1 (bookie:3181: There is no such entry.)"
    )


@pytest.mark.parametrize("error", [EntriesMissing(1, 1, 1, GONE), DigestMismatch("entry 1 is corrupt")])
def test_a_loss_says_what_to_do(given: dict[int, list[Any]], error: BookKeeperError) -> None:
    given[1] = [run(1, 0, 0), error]
    with pytest.raises(type(error)) as caught:
        rows(ledger_range(1, 0, 2))
    assert "give failOnDataLoss=false" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("last", [1, 3])
def test_rows_are_counted(given: dict[int, list[Any]], last: int) -> None:
    given[1] = [run(1, 0, last)]
    with pytest.raises(BookKeeperError, match=r"ledger 1: . entries were read of 0 … 2, which is an error"):
        rows(ledger_range(1, 0, 2))
