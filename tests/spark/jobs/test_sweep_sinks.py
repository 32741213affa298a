"""The summary of the sweep job."""

from attrs import evolve

from bookkeeper_tx.model import DigestType, LedgerState
from bookkeeper_tx.spark.jobs.summary import ExitCode
from bookkeeper_tx.spark.jobs.sweep_sinks import row_of, summarise
from bookkeeper_tx.spark.sink.manifest import EpochKey
from bookkeeper_tx.spark.sink.mark import SinkMark
from bookkeeper_tx.spark.sink.sweep import Leftover, Reason, SweepReport

MARK = SinkMark("orders", EpochKey("query", 3), 1, 0, 17)
GONE = Leftover(7, MARK, LedgerState.CLOSED, Reason.LOST, DigestType.CRC32C, b"secret", deleted=True)
LEFT = evolve(GONE, ledger_id=8, deleted=False, error="the store is gone")


def test_leftovers_that_are_deleted() -> None:
    summary = summarise(SweepReport((GONE,), 5, 2), dry_run=False)
    assert (summary.exit_code, summary.text) == (ExitCode.DONE, "1 leftover deleted")
    assert summary.tables[0].rows == ((5, 2, 1, 1),)


def test_leftovers_that_stay_are_a_failure() -> None:
    summary = summarise(SweepReport((GONE, LEFT), 5, 2), dry_run=False)
    assert (summary.exit_code, summary.text) == (ExitCode.FAILED, "1 leftover could not be deleted")
    assert summary.tables[-1].rows == (("8", "the store is gone"),)


def test_a_dry_run_is_no_failure() -> None:
    summary = summarise(SweepReport((evolve(GONE, deleted=False),), 0, 0), dry_run=True)
    assert (summary.exit_code, summary.text) == (ExitCode.DONE, "1 leftover would be deleted")


def test_a_row_has_no_password() -> None:
    assert row_of(LEFT) == (
        *(0, 8, "orders", "query", 3, 1, 0),
        *("closed", "its epoch is published without it", False, "the store is gone"),
    )
