"""The end of an open ledger: the answers of a covering set of its last bookies, and bookies that cannot be asked."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    DigestMismatch,
    NoSuchLedger,
    RequestTimedOut,
    StorageFailed,
    Unauthorized,
)
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.bookies.last_add_confirmed import (
    ASKED_AT_ONCE,
    LastConfirmed,
    OpenLedger,
    last_add_confirmed,
    last_adds_confirmed,
)
from protocol_specs import fields
from tests.spark.bookies.stored_entries import DIGEST, LEDGER, Site, corrupted, sealed


def metadata(site: Site, write: int, ack: int, first: int = 0) -> LedgerMetadata:
    fragments = [Fragment(0, ["x"] * len(site.names))] if first else []
    fragments.append(Fragment(first, site.names))
    return LedgerMetadata(len(site.names), write, ack, fragments, digest_type=DigestType.CRC32C)


def ask(site: Site, write: int = 3, ack: int = 2, first: int = 0) -> int:
    return last_add_confirmed(site.channels(), LEDGER, metadata(site, write, ack, first), DIGEST)


def test_the_highest_that_any_knows():
    site = Site(3)
    site.store(map(sealed, range(10)))
    site.bookies[0].entries.pop(9)
    site.bookies[2].entries.clear()
    assert ask(site) == 8
    assert [bookie.requests for bookie in site.bookies] == [[("single", fields.LAST_ENTRY, fields.LAST_ENTRY)]] * 3


def test_nothing_is_confirmed_of_an_empty_ledger():
    site = Site(3)
    assert ask(site) == fields.NO_ENTRY
    site.bookies[0].knows_ledger = False
    assert ask(site) == fields.NO_ENTRY


def test_what_lies_before_the_last_fragment_is_confirmed():
    assert ask(Site(3), first=40) == 39


@pytest.mark.parametrize("ack", [2, 3])
def test_as_many_may_be_down_as_leave_no_entry_unseen(ack):
    site = Site(3)
    site.store(map(sealed, range(10)))
    site.bookies[1].down = True
    assert ask(site, ack=ack) == 8
    site.bookies[2].down = True
    if ack == 3:
        assert ask(site, ack=ack) == 8
    else:
        with pytest.raises(BookieUnavailable, match=r"too few bookies .* ledger 7 .*b1.*b2"):
            ask(site, ack=ack)


def test_answers_without_a_good_entry_leave_a_bookie_unknown():
    site = Site(1)
    site.store(map(sealed, range(10)))
    site.bookies[0].entries[9] = corrupted(sealed(9))
    with pytest.raises(DigestMismatch, match="b0"):
        ask(site, 1, 1)
    for error in (StorageFailed(), RequestTimedOut()):
        site.bookies[0].errors[9] = error
        with pytest.raises(type(error), match="b0"):
            ask(site, 1, 1)


def test_unauthorized_is_final():
    site = Site(3)
    site.store(map(sealed, range(10)))
    site.bookies[0].errors[9] = Unauthorized()
    with pytest.raises(Unauthorized):
        ask(site)


# Many ledgers --------------------------------------------------------------------------------------------------------

Answer = bytes | BookKeeperError


class ManyLedgers:
    """A bookie that has the last entries of several ledgers."""

    def __init__(self, answers: dict[int, Answer]) -> None:
        self.answers = answers
        self.connections: list[ManyChannel] = []
        self.reachable = True
        self.attempts = 0

    def connect(self) -> "ManyChannel":
        self.attempts += 1
        if not self.reachable:
            raise CannotConnect("nobody is there")
        self.connections.append(ManyChannel(self))
        return self.connections[-1]

    @property
    def asked(self) -> list[list[int]]:
        """Ledgers asked for on each connection."""
        return [each.asked for each in self.connections]


class ManyChannel:
    """A connection to it; an answer of BookieUnavailable or RequestTimedOut closes it."""

    def __init__(self, bookie: ManyLedgers) -> None:
        self._bookie = bookie
        self.asked: list[int] = []
        self.closed = False
        self.taken: list[int] = []
        self.forgotten: list[int] = []
        self.flushed = 0

    def start_read(self, ledger_id: int, entry_id: int) -> int:
        assert entry_id == fields.LAST_ENTRY
        assert not self.closed
        self.asked.append(ledger_id)
        return ledger_id

    def flush(self) -> None:
        self.flushed += 1

    def done(self, token: int) -> bool:
        return False

    def forget(self, tokens: Iterable[int]) -> None:
        self.forgotten += tokens

    def result(self, token: int) -> bytes:
        assert not self.closed
        assert self.flushed
        self.taken.append(token)
        answer = self._bookie.answers.get(token, NoSuchLedger())
        if isinstance(answer, BookKeeperError):
            self.closed = isinstance(answer, (BookieUnavailable, RequestTimedOut))
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True


def last_of(ledger_id: int, last: int) -> bytes:
    return sealed(last, ledger_id=ledger_id)


def ends(
    bookies: dict[str, ManyLedgers], ids: Iterable[int], ensemble: Sequence[str] = ("b0",), ack: int = 1
) -> list[Any]:
    channels = BookieChannels(
        {name: (name, 1) for name in bookies},
        connect=lambda host, port, config: bookies[host].connect(),  # type: ignore[arg-type,return-value]
        clock=lambda: 0.0,
    )
    found = LedgerMetadata(len(ensemble), len(ensemble), ack, [Fragment(0, ensemble)], digest_type=DigestType.CRC32C)
    answers = list(last_adds_confirmed(channels, [OpenLedger(each, found, DIGEST) for each in ids]))
    return [type(each) if isinstance(each, BookKeeperError) else each.entry_id for each in answers]


def test_many_ledgers_are_asked_for_at_once_and_answered_in_their_order():
    bookies = {name: ManyLedgers({each: last_of(each, each) for each in range(2000)}) for name in ("b0", "b1")}
    assert ends(bookies, range(1999, -1, -1), ["b0", "b1"]) == list(range(1998, -2, -1))
    for bookie in bookies.values():
        (channel,) = bookie.connections
        assert channel.asked == channel.taken == list(range(1999, -1, -1))
        assert channel.flushed == 2000 // ASKED_AT_ONCE


def test_errors_are_those_of_their_ledgers():
    answers: dict[int, Answer] = {
        1: last_of(1, 10),
        2: StorageFailed(),
        3: corrupted(last_of(3, 10)),
        4: Unauthorized(),
        5: last_of(5, 50),
    }
    bookie = ManyLedgers(answers)
    assert ends({"b0": bookie}, [1, 2, 3, 4, 5, 6]) == [9, StorageFailed, DigestMismatch, Unauthorized, 49, -1]
    assert bookie.asked == [[1, 2, 3, 4, 5, 6]]


def test_what_another_has_cost_the_connection_is_asked_for_again():
    bookie = ManyLedgers({1: last_of(1, 10), 2: BookieUnavailable("lost"), 3: last_of(3, 30), 4: last_of(4, 40)})
    assert ends({"b0": bookie}, [1, 2, 3, 4]) == [9, BookieUnavailable, 29, 39]
    assert bookie.asked == [[1, 2, 3, 4], [3, 4]]
    assert bookie.connections[0].forgotten == [3, 4]


def test_a_bookie_that_hangs_costs_two_time_outs():
    hanging = ManyLedgers({each: RequestTimedOut("late") for each in range(50)})
    assert ends({"b0": hanging}, range(50)) == [RequestTimedOut] * 50
    assert [len(each.taken) for each in hanging.connections] == [1, 1]


def test_one_that_cannot_be_connected_to_is_tried_once_and_the_others_are_enough():
    down, up = ManyLedgers({}), ManyLedgers({each: last_of(each, each) for each in range(50)})
    down.reachable = False
    assert ends({"b0": down, "b1": up}, range(50), ["b0", "b1"], ack=2) == [each - 1 for each in range(50)]
    assert down.attempts == 1


def test_the_newest_entry_says_how_long_the_ledger_is():
    site = Site(3)
    site.store(map(sealed, range(10)))
    site.bookies[0].entries.pop(9)
    (found,) = last_adds_confirmed(site.channels(), [OpenLedger(LEDGER, metadata(site, 3, 2), DIGEST)])
    assert found == LastConfirmed(8, 9, 10 * 20)
    (empty,) = last_adds_confirmed(Site(3).channels(), [OpenLedger(LEDGER, metadata(site, 3, 2, 40), DIGEST)])
    assert empty == LastConfirmed(39, -1, 0)
