"""A client's knowledge of a bookie's capability follows the table of the reference, row by row."""

from collections.abc import Callable

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.client.capability import Capabilities, Capability, told_by_batch_probe, told_by_plain_read
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    BadRequest,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    ClientClosed,
    NoSuchEntry,
    ProtocolViolation,
    RequestTimedOut,
    TlsFailed,
)
from bookkeeper_tx.model import BookieId
from protocol_specs.states import CAPABILITY, Transition

BOOKIE = BookieId("127.0.0.1:3181")
EXPIRY_S = 300


class Known:
    """The capability of one bookie as it is known, and the requests that wait for it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.capabilities = Capabilities(self.clock, EXPIRY_S)
        self.told: list[BookKeeperError | None] = []
        self.interruptions = 0

    @property
    def capability(self) -> Capability:
        return self.capabilities.of(BOOKIE, self.interruptions)

    def wanted(self) -> None:
        if self.capability is Capability.UNKNOWN:
            self.capabilities.begin_probe(BOOKIE)
        else:
            self.capabilities.wait(BOOKIE, self.told.append)

    def lost(self) -> None:
        self.capabilities.unknown(BOOKIE, BookieUnavailable())

    def interrupted(self) -> None:
        self.interruptions += 1

    def expires(self) -> None:
        self.clock.advance(EXPIRY_S - 1)
        assert self.capability is not Capability.UNKNOWN
        self.clock.advance(1)


EVENTS: dict[str, Callable[[Known], None]] = {
    "a batch read is wanted": Known.wanted,
    "V3: batch-read-v3 is published": lambda known: known.capabilities.advertised(BOOKIE),
    "V3: other extensions are published": lambda known: known.capabilities.lacks(BOOKIE),
    "an answer, be it an error": lambda known: known.capabilities.serves(BOOKIE),
    "bad request, bad version, or closed without an answer": lambda known: known.capabilities.lacks(BOOKIE),
    "time-out, or no connection": Known.lost,
    "the connection is lost": Known.interrupted,
    "the knowledge expires": Known.expires,
}


def _brought_to(state: str) -> Known:
    known = Known()
    if state != "UNKNOWN":
        known.wanted()
    if state == "SERVES":
        known.capabilities.serves(BOOKIE)
    elif state == "LACKS":
        known.capabilities.lacks(BOOKIE)
    assert known.capability.name == state
    return known


@pytest.mark.parametrize("row", CAPABILITY.transitions, ids=lambda row: f"{row.state}: {row.event}")
def test_each_row(row: Transition) -> None:
    known = _brought_to(row.state)
    if row.state == "PROBED" and row.next != "PROBED":
        known.wanted()
    EVENTS[row.event](known)
    assert known.capability.name == row.next
    ended = row.state == "PROBED" and row.next != "PROBED"
    assert len(known.told) == ended, "requests that wait go on when the probe has ended, and only then"
    if ended:
        assert (known.told[0] is None) == (row.next != "UNKNOWN")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (None, Capability.SERVES),
        (NoSuchEntry(), Capability.SERVES),
        (BadRequest(), Capability.LACKS),
        (RequestTimedOut(), Capability.UNKNOWN),
        (ProtocolViolation(), Capability.UNKNOWN),
        (ClientClosed(), Capability.UNKNOWN),
        (TlsFailed(), Capability.UNKNOWN),
        (AuthenticationFailed(), Capability.UNKNOWN),
    ],
    ids=repr,
)
def test_what_a_first_batch_read_tells(error: BookKeeperError | None, told: Capability) -> None:
    assert told_by_batch_probe(error) is told


def test_a_bookie_that_has_served_it_refuses_only_the_request() -> None:
    assert told_by_batch_probe(BadRequest(), ever_served=True) is Capability.SERVES


def test_behind_a_lost_connection_only_an_answer_to_a_plain_read_tells() -> None:
    for answer in (None, NoSuchEntry()):
        assert told_by_plain_read(BookieUnavailable(), answer) is Capability.LACKS
        assert told_by_plain_read(CannotConnect(), answer) is Capability.UNKNOWN
    for silence in (CannotConnect(), RequestTimedOut()):
        assert told_by_plain_read(BookieUnavailable(), silence) is Capability.UNKNOWN
