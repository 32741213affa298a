"""Lists of entries, over one end of a socket pair; the other end holds the bookie's answers already."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from bookkeeper_tx.entry.entry_list import EntryList, encode
from bookkeeper_tx.errors import BookieUnavailable, NoSuchLedger, ProtocolViolation, TooManyRequests
from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.spark.bookies.list_entries import IN_FLIGHT, EntryListChannel
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status


class UnixSocket(socket.socket):
    """One end of a pair, which knows no options of TCP."""

    def setsockopt(self, *_):
        pass


@pytest.fixture
def bookie(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The bookie's end of the connection."""
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: UnixSocket(fileno=ours.detach()))
    with theirs:
        yield theirs


def answer(txn_id: int, ledger_id: int, status: Status, entries: bytes | None = None) -> bytes:
    operation = V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER
    return v3_replies.reply(
        operation, txn_id, status, ledger_id=ledger_id, availability_of_entries_of_ledger=entries, ledger_scope_id=0
    )


def asked(bookie: socket.socket) -> list[int]:
    """Return the ledgers that the bookie was asked for."""
    data, found = bookie.recv(1 << 16), []
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        request = v3_pb2.Request.FromString(data[4:end])
        found.append(request.get_list_of_entries_of_ledger_request.ledger_id)
        data = data[end:]
    return found


def test_each_ledger_has_its_list_or_its_error_in_the_order_asked(bookie):
    bookie.sendall(
        answer(2, 8, statuses.ENOLEDGER)
        + answer(1, 7, statuses.EOK, encode([1, 2, 5]))
        + answer(3, 9, statuses.ETOOMANYREQUESTS)
    )
    with closing(EntryListChannel("bookie", 3181)) as channel:
        (seven, found), (eight, unknown), (nine, refused) = channel.list_entries([7, 8, 9])
    assert (seven, eight, nine) == (7, 8, 9)
    assert isinstance(found, EntryList)
    assert list(found) == [1, 2, 5]
    assert (type(unknown), type(refused)) == (NoSuchLedger, TooManyRequests)
    assert asked(bookie) == [7, 8, 9]


def test_so_many_are_asked_for_at_once(bookie):
    with closing(EntryListChannel("bookie", 3181)) as channel:
        found = channel.list_entries(iter(range(1000)))
        bookie.sendall(answer(1, 0, statuses.ENOLEDGER))
        assert next(found)[0] == 0
        assert asked(bookie) == list(range(IN_FLIGHT))
        found.close()


def test_one_by_one_each_is_sent_before_the_next_is_taken(bookie):
    bookie.settimeout(60)
    bookie.sendall(answer(1, 7, statuses.ENOLEDGER) + answer(2, 8, statuses.ENOLEDGER))
    sent = []

    def ids():
        for each in (7, 8):
            yield each
            sent.append(asked(bookie))

    with closing(EntryListChannel("bookie", 3181)) as channel:
        assert [each for each, _ in channel.list_entries(ids(), one_by_one=True)] == [7, 8]
    assert sent == [[7], [8]]


def test_a_connection_that_is_lost_ends_it(bookie):
    bookie.sendall(answer(1, 7, statuses.ENOLEDGER))
    bookie.shutdown(socket.SHUT_WR)
    with closing(EntryListChannel("bookie", 3181)) as channel:
        found = channel.list_entries([7, 8])
        assert next(found)[0] == 7
        with pytest.raises(BookieUnavailable):
            next(found)


def test_a_list_that_makes_no_sense(bookie):
    bookie.sendall(answer(1, 7, statuses.EOK, b"nonsense"))
    with closing(EntryListChannel("bookie", 3181)) as channel, pytest.raises(ProtocolViolation, match="ledger 7"):
        list(channel.list_entries([7]))
