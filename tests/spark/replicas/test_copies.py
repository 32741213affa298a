"""Reading one bookie's copies: there is an answer for every entry, once and in order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, NoSuchLedger, StorageFailed, TooManyRequests, Unauthorized
from bookkeeper_tx.model import DigestType, Fragment
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.replicas import copies as replica_copies
from bookkeeper_tx.spark.replicas.copies import Absent, CopyReader
from bookkeeper_tx.spark.replicas.pieces import Piece
from tests.sampling import examples
from tests.spark.replicas.kept_copies import LEDGER, KeptCluster, KeptCopies, sealed

NAMES = ("a", "b", "c")


def piece(last: int, stripe: int = 0, stripes: int = 1, first: int = 0) -> Piece:
    ledger = LedgerRange(LEDGER, first, last, (Fragment(0, NAMES),), 3, 3 if stripes == 1 else 2, 2, DigestType.CRC32C)
    return Piece(ledger, stripe, stripes, NAMES)


def reader(cluster: KeptCluster, **options: Any) -> CopyReader:
    given_options = {"batch": True, "window": 16, "num_retries": 2, "retry_interval_s": 0.5, **options}
    return CopyReader.make(cluster.channels(), **given_options)


def found(copies: Any) -> dict[int, bytes | str]:
    """Return each entry, or the name of its error."""
    answers: dict[int, bytes | str] = {}
    last = -1
    for each in copies:
        if isinstance(each, EntryRun):
            ids = range(each.first_entry_id, each.last_entry_id + 1)
            new: dict[int, bytes | str] = {entry_id: each.entry(entry_id) for entry_id in ids}
        else:
            new = dict.fromkeys(each.entry_ids, type(each.error).__name__)
        assert min(new) > last
        last = max(new)
        answers |= new
    return answers


def kept(bookie: KeptCopies, ids: range) -> dict[int, bytes | str]:
    entries = ((entry_id, bookie.entries.get(entry_id, bookie.other)) for entry_id in ids)
    return {
        entry_id: type(entry).__name__ if isinstance(entry, BookKeeperError) else entry for entry_id, entry in entries
    }


@settings(max_examples=examples(40), deadline=None)
@given(
    lost=st.sets(st.integers(0, 199)),
    failing=st.sets(st.integers(0, 199), max_size=5),
    stripes=st.sampled_from([1, 3]),
    batch=st.booleans(),
    served=st.booleans(),
    answers_left=st.integers(1, 60),
)
def test_each_entry_is_answered_for(
    lost: set[int], failing: set[int], stripes: int, batch: bool, served: bool, answers_left: int
) -> None:
    bookie = KeptCopies(range(200))
    bookie.batch, bookie.answers_left = served, answers_left
    for entry_id in lost:
        del bookie.entries[entry_id]
    for entry_id in failing:
        bookie.entries[entry_id] = StorageFailed()
    cluster = KeptCluster(a=bookie)
    for stripe in range(stripes):
        wanted = piece(199, stripe, stripes)
        assert found(reader(cluster, batch=batch).copies(wanted, "a")) == kept(bookie, wanted.entry_ids)
    assert all(channel.waiting == 0 for channel in cluster.open)


def test_a_long_hole_is_not_asked_for_one_by_one_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_copies, "LOOKED_AT_MIN", 8)
    bookie = KeptCopies(range(1000))
    for entry_id in range(100, 900):
        del bookie.entries[entry_id]
    cluster = KeptCluster(a=bookie)
    answers = found(reader(cluster).copies(piece(999), "a"))
    assert sum(answer == "NoSuchEntry" for answer in answers.values()) == 800
    assert [kind for kind, _, _ in bookie.asked].count("batch") < 150


def test_a_bookie_without_the_ledger_is_asked_once() -> None:
    bookie = KeptCopies(range(0))
    bookie.other = NoSuchLedger()
    for wanted in (piece(10_000), piece(10_000, 1, 3)):
        bookie.asked.clear()
        answers = found(reader(KeptCluster(a=bookie), batch=False).copies(wanted, "a"))
        assert answers == dict.fromkeys(wanted.entry_ids, "NoSuchLedger")
        assert len(bookie.asked) <= 16


def test_a_bookie_that_cannot_be_reached_is_not_tried_for_ever() -> None:
    bookie = KeptCopies(range(10))
    bookie.reachable = False
    cluster = KeptCluster(a=bookie)
    copies = reader(cluster)
    for _ in range(2):
        assert found(copies.copies(piece(9), "a")) == dict.fromkeys(range(10), "CannotConnect")
    assert cluster.slept == [0.5, 0.5]


def test_a_bookie_that_dies_leaves_the_rest_unanswered() -> None:
    bookie = KeptCopies(range(100))
    bookie.answers_left, bookie.dead_for_good = 4, True
    answers = found(reader(KeptCluster(a=bookie), batch=False).copies(piece(99), "a"))
    assert set(answers) == set(range(100))
    assert answers[0] == sealed(0)
    assert answers[99] == "BookieUnavailable"


def test_a_busy_bookie_is_asked_again() -> None:
    bookie = KeptCopies(range(10))
    bookie.entries[4] = TooManyRequests()
    cluster = KeptCluster(a=bookie)
    copies = reader(cluster, num_retries=1)
    answers = found(copies.copies(piece(9), "a"))
    assert answers[3] == sealed(3)
    assert answers[4] == answers[9] == "TooManyRequests"
    assert cluster.slept == [0.5]


def test_a_bookie_that_refuses_us_gives_nothing() -> None:
    bookie = KeptCopies(range(0))
    bookie.other = Unauthorized()
    (absent,) = reader(KeptCluster(a=bookie)).copies(piece(9), "a")
    assert isinstance(absent, Absent)
    assert (absent.entry_ids, type(absent.error)) == (range(10), Unauthorized)
