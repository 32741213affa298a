"""Reading entries that every bookie of the ensemble should have: runs, from one bookie for as long as it gives them."""

from collections.abc import Iterator

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.spark.reading.read_session import ReadSession
from bookkeeper_tx.spark.reading.replica_choice import ReplicaChoice
from bookkeeper_tx.spark.reading.run_reads import RunReads
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun


def read_replicated(session: ReadSession, first: int, last: int) -> Iterator[VerifiedRun | LostEntry]:
    """Read ``first`` … ``last``, which lie in one fragment, in order."""
    at = first
    choice = ReplicaChoice(session.order(at))
    while at <= last:
        bookie = choice.next
        if bookie is None:
            outcome = session.all_failed(at, choice)
            if outcome is not None:
                yield outcome
                choice.passed_over()
                at += 1
            continue
        try:
            for run in _runs_from(session, bookie, at, last):
                count = session.good_count(run)
                if count:
                    choice.found_at(bookie)
                    at += count
                    yield session.verified(run, count, (bookie,))
                if count < run.count:
                    session.failed(bookie, session.mismatch(bookie, run, at, choice), choice)
                    break
        except BookKeeperError as error:
            session.failed(bookie, error, choice)


def _runs_from(session: ReadSession, bookie: BookieId, first: int, last: int) -> RunReads:
    """Return the read from one bookie; it raises the bookie's error for the first entry that it does not give."""
    return RunReads(
        session.channels,
        bookie,
        session.ledger_id,
        first,
        last,
        batch=session.batch,
        sizes=session.sizes,
        estimate=session.estimate,
    )
