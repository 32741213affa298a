"""The blocking channel, over one end of a socket pair; the other end holds the bookie's answer already."""

import socket
import threading
from itertools import count
from types import SimpleNamespace

import pytest

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import (
    BookieUnavailable,
    IllegalOperation,
    ProtocolViolation,
    RequestTimedOut,
    Unauthorized,
)
from bookkeeper_tx.transport import blocking
from bookkeeper_tx.transport.blocking import BlockingChannel
from protocol_specs.ledger_id import join
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import Flag

READ_HEADER = "02020000"


class UnixSocket(socket.socket):
    """One end of a pair, which knows no options of TCP."""

    def setsockopt(self, *_):
        pass


@pytest.fixture
def bookie(monkeypatch):
    """The bookie's end of the connection."""
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: UnixSocket(fileno=ours.detach()))
    with theirs:
        yield theirs


def reply(status: int, ledger_id: int, entry_id: int, entry: bytes = b"") -> bytes:
    body = bytes.fromhex(READ_HEADER) + status.to_bytes(4, "big") + ledger_id.to_bytes(8, "big")
    body += entry_id.to_bytes(8, "big", signed=True) + entry
    return len(body).to_bytes(4, "big") + body


def test_a_single_read_gives_the_entry(bookie):
    bookie.sendall(reply(0, 5, 7, b"entry"))
    with BlockingChannel("bookie", 3181) as channel:
        assert channel.read_entry(5, 7) == b"entry"


def test_a_single_read_raises_what_the_bookie_answers(bookie):
    bookie.sendall(reply(102, 5, -1))
    with BlockingChannel("bookie", 3181) as channel, pytest.raises(Unauthorized):
        channel.read_entry(5, -1, Flag.FENCING, b"k" * 20)


def test_an_interrupted_channel_gives_no_answer_to_another_question(bookie, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    channel = BlockingChannel("bookie", 3181)
    bookie.sendall(reply(0, 5, 7, b"entry 7"))
    with monkeypatch.context() as patch:
        patch.setattr(channel, "_ready", interrupt)
        with pytest.raises(KeyboardInterrupt):
            channel.read_entry(5, 7)
    with pytest.raises(BookieUnavailable, match="make another"):
        channel.read_entry(5, 8)


# Several requests in flight ------------------------------------------------------------------------------------------


def batch_reply(request_id: int, ledger_id: int, start: int, entries: list[bytes]) -> bytes:
    body = bytes.fromhex("02070000") + bytes(4) + ledger_id.to_bytes(8, "big") + start.to_bytes(8, "big")
    body += request_id.to_bytes(8, "big") + b"".join(len(each).to_bytes(4, "big") + each for each in entries)
    return len(body).to_bytes(4, "big") + body


def test_each_result_is_that_of_its_request_whatever_the_order_of_the_replies(bookie):
    with BlockingChannel("bookie", 3181) as channel:
        tokens = [channel.start_batch_read(5, start, 2, 1000) for start in (0, 2, 4)]
        channel.flush()
        for request_id in (3, 1, 2):
            bookie.sendall(batch_reply(request_id, 5, 2 * request_id - 2, [b"%d" % request_id, b"x"]))
        runs = [channel.result(token) for token in tokens]
        assert [(run.first_entry_id, list(run)) for run in runs] == [
            (0, [b"1", b"x"]),
            (2, [b"2", b"x"]),
            (4, [b"3", b"x"]),
        ]


def test_what_is_there_already_is_known_without_waiting(bookie):
    with BlockingChannel("bookie", 3181) as channel:
        first, second = channel.start_read(5, 0), channel.start_read(5, 1)
        assert not channel.done(first)
        bookie.sendall(reply(0, 5, 0, b"0") + reply(0, 5, 1, b"1"))
        assert channel.result(first) == b"0"
        assert channel.done(second)
        assert channel.result(second) == b"1"


def test_late_and_duplicate_replies_are_inert(bookie):
    with BlockingChannel("bookie", 3181) as channel:
        given_up = channel.start_batch_read(5, 0, 2, 1000)
        channel.forget([given_up])
        wanted = channel.start_batch_read(5, 0, 2, 1000)
        late, reply_ = batch_reply(1, 5, 0, [b"late"]), batch_reply(2, 5, 0, [b"right"])
        bookie.sendall(late + late + batch_reply(9, 5, 0, [b"never asked"]) + reply_ + reply_)
        assert list(channel.result(wanted)) == [b"right"]
        bookie.sendall(reply(0, 5, 7, b"entry"))
        assert channel.read_entry(5, 7) == b"entry"


def test_bytes_that_are_no_reply_are_an_error_that_names_the_bookie(bookie):
    channel = BlockingChannel("bookie", 3181)
    token = channel.start_read(5, 0)
    bookie.sendall(b"\0\0\0\x18" + b"?" * 24)
    with pytest.raises(ProtocolViolation, match="bookie bookie:3181: malformed reply"):
        channel.result(token)
    assert channel.closed
    with pytest.raises(BookieUnavailable, match="make another"):
        channel.flush()


def test_a_connection_that_ends_is_an_error_that_names_the_bookie(bookie):
    channel = BlockingChannel("bookie", 3181)
    token = channel.start_read(5, 0)
    bookie.close()
    with pytest.raises(BookieUnavailable, match="bookie:3181"):
        channel.result(token)
    assert channel.closed


def test_no_answer_in_time_closes_the_channel(bookie):
    channel = BlockingChannel("bookie", 3181)
    with pytest.raises(RequestTimedOut, match="bookie:3181"):
        channel.result(channel.start_read(5, 0), timeout_s=0)
    assert channel.closed


def test_a_bookie_that_sends_all_the_while_does_not_hold_a_request_for_ever(bookie, monkeypatch):
    seconds = count(1)
    monkeypatch.setattr(blocking, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    monkeypatch.setattr(blocking, "RECEIVE_SIZE", len(reply(0, 5, 99)))
    bookie.sendall(reply(0, 5, 99) * 1000)
    channel = BlockingChannel("bookie", 3181, ClientConfig(read_timeout_s=5))
    with pytest.raises(RequestTimedOut, match="bookie:3181"):
        channel.read_entry(5, 0)
    assert channel.closed
    assert next(seconds) < 200


def test_requests_go_while_replies_come(bookie):
    """More bytes than the socket takes: the rest is sent while the first replies are read."""
    bookie.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    total = 20_000
    channel = BlockingChannel("bookie", 3181, ClientConfig(read_timeout_s=60))
    token = channel.start_range_read(5, 0, total - 1)

    def answer() -> None:
        size, taken = len(request_of(0)), 0
        while taken < total * size:
            data = bookie.recv(1 << 16)
            done, taken = taken // size, taken + len(data)
            bookie.sendall(b"".join(reply(0, 5, each, b"%d" % each) for each in range(done, taken // size)))

    thread = threading.Thread(target=answer)
    thread.start()
    run = channel.result(token)
    thread.join()
    assert list(run) == [b"%d" % each for each in range(total)]
    channel.close()


def request_of(entry_id: int) -> bytes:
    return b"\0\0\0\x14" + bytes.fromhex(READ_HEADER) + (5).to_bytes(8, "big") + entry_id.to_bytes(8, "big")


def test_ledgers_of_scopes_take_v3(bookie):
    scoped = join(1, 2)
    with BlockingChannel("bookie", 3181) as channel, pytest.raises(IllegalOperation, match="V2 cannot say"):
        channel.read_entry(scoped, 0)


def test_v3_is_spoken_if_the_configuration_says_so(bookie):
    with BlockingChannel("bookie", 3181, ClientConfig(protocol=WireProtocol.V3)) as channel:
        token = channel.start_read(join(1, 2), 3)
        channel.flush()
        request = v3_pb2.Request()
        request.ParseFromString(bookie.recv(1 << 16)[4:])
        assert (request.read_request.entry_id, request.header.txn_id) == (3, 1)
        header = v3_pb2.PacketHeader(version=v3.VERSION, operation=request.header.operation, txn_id=1)
        read = v3_pb2.ReadResponse(status=0, ledger_id=2, ledger_scope_id=1, entry_id=3, body=b"entry")
        answer = v3_pb2.Response(header=header, status=0, read_response=read)
        body = answer.SerializeToString()
        bookie.sendall(len(body).to_bytes(4, "big") + body)
        assert channel.result(token) == b"entry"
