"""The end of a ledger from the answers of its bookies, whoever has asked them."""

import pytest

from bookkeeper_tx.client.last_entries import LastEntries, LastEntryAnswers
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    NoSuchEntry,
    NoSuchLedger,
    RequestTimedOut,
    StorageFailed,
    Unauthorized,
)
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.quorums.quorum import Quorum

DIGEST = EntryDigest(DigestType.CRC32C, b"")


def answers(write: int = 3, ack: int = 2) -> LastEntryAnswers:
    return LastEntryAnswers(7, ("b0", "b1", "b2"), Quorum(3, write, ack), DIGEST)


def test_it_is_known_when_no_acknowledged_entry_can_have_been_missed() -> None:
    found = answers()
    found.learn_entry(DIGEST.seal(7, 5, 4, 60, b""))
    found.count(0, None)
    assert not found.decided
    found.count(2, NoSuchLedger())
    assert found.decided
    assert found.outcome() == LastEntries(4, {5: 60})


def test_later_answers_may_tell_of_later_entries() -> None:
    found = answers()
    for index in range(2):
        found.count(index, NoSuchEntry())
    found.learn_entry(DIGEST.seal(7, 5, 4, 60, b""))
    found.count(2, None)
    assert found.outcome() == LastEntries(4, {5: 60})


@pytest.mark.parametrize("order", [(2, 4, 3), (4, 2, 3), (2, 3, 4)])
@pytest.mark.parametrize("explicit", [False, True])
def test_the_highest_of_all_answers_counts_in_whichever_order_they_come(
    order: tuple[int, int, int], explicit: bool
) -> None:
    found = answers()
    for index, last_add_confirmed in enumerate(order):
        if explicit:
            found.learn_explicit(DIGEST.seal_last_add_confirmed(7, last_add_confirmed))
        else:
            found.learn_entry(DIGEST.seal(7, last_add_confirmed + 1, last_add_confirmed, 60, b""))
        found.count(index, None)
    outcome = found.outcome()
    assert isinstance(outcome, LastEntries)
    assert outcome.last_add_confirmed == 4


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ([RequestTimedOut("late"), RequestTimedOut("late")], RequestTimedOut),
        ([StorageFailed("disk"), RequestTimedOut("late")], BookieUnavailable),
        ([RequestTimedOut("late"), Unauthorized("who?")], Unauthorized),
    ],
)
def test_the_error_is_that_of_the_bookies_if_it_is_the_same_of_all(
    errors: list[BookKeeperError], kind: type[BookKeeperError]
) -> None:
    found = answers()
    for index, error in enumerate(errors):
        found.count(index, error)
    found.count(2, None)
    outcome = found.outcome()
    assert type(outcome) is kind
    if kind is not Unauthorized:
        assert str(outcome) == (
            f"too few bookies answered to know the last add confirmed of ledger 7 (b0: {errors[0]}; b1: {errors[1]})"
        )
