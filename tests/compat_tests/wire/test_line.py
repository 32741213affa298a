"""The outcomes that a line makes of the bytes, ends and silences of a target."""

import time

import pytest

from compat_tests.judge.case import V2, V3
from compat_tests.judge.recording import Recording
from compat_tests.judge.verdict import Interrupted, Mismatch
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.line import Line, with_length
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import ENOENTRY, ENOLEDGER, EOK
from tests.compat_tests.fake_socket import FakeSocket

READ = v2_requests.read(7, 3)
NO_LEDGER = bytes.fromhex("02020000 00000001 0000000000000007 0000000000000003")


def line(*pieces: object, deadline_s: float = 60, stopped: bool = False) -> Line:
    fake = FakeSocket(*pieces)
    return Line("main", fake, Recording(), time.monotonic() + deadline_s, lambda: stopped)


def response(txn_id: int, entry_id: int, status: int = EOK.v3, operation: int = 1) -> bytes:
    message = v3_pb2.Response(status=status)
    message.header.version, message.header.operation, message.header.txn_id = 3, operation, txn_id
    message.read_response.status, message.read_response.ledger_id = status, 7
    message.read_response.entry_id = entry_id
    return message.SerializeToString()


@pytest.mark.parametrize("size", [1, 3, 4, 7, 100])
def test_a_reply_in_pieces_of_any_size(size):
    data = with_length(NO_LEDGER)
    talk = line(*[data[at : at + size] for at in range(0, len(data), size)])
    reply = talk.ask(READ)
    assert isinstance(reply, Reply)
    assert (reply.dialect, reply.status, reply.ledger_id, reply.entry_id, reply.raw) == (V2, ENOLEDGER, 7, 3, NO_LEDGER)
    assert talk.socket.sent == with_length(READ)


def test_two_replies_in_one_piece():
    second = NO_LEDGER[:-1] + b"\4"
    talk = line(with_length(NO_LEDGER) + with_length(second))
    assert talk.ask(READ).entry_id == 3
    assert talk.receive().entry_id == 4


def test_the_reply_to_another_request_is_told():
    for other, name in (
        (NO_LEDGER[:-1] + b"\4", "entry_id"),
        (NO_LEDGER[:8] + bytes(8) + NO_LEDGER[16:], "ledger_id"),
        (b"\1" + NO_LEDGER[1:], "version"),
        (b"\2\1" + NO_LEDGER[2:], "operation"),
        (b"\2\2\0\1" + NO_LEDGER[4:], "flags"),
    ):
        with pytest.raises(Mismatch, match=name):
            line(with_length(other)).ask(READ)


def test_v3_replies_in_another_order():
    first, second = (v3_requests.read(7, entry_id, txn_id=100 + entry_id) for entry_id in (1, 2))
    talk = line(with_length(response(102, 2, ENOENTRY.v3)) + with_length(response(101, 1)))
    talk.send(first, second)
    assert talk.receive_for(first).status is EOK
    reply = talk.receive_for(second)
    assert (reply.dialect, reply.status, reply.request_id) == (V3, ENOENTRY, 102)


def test_the_transaction_of_another_request_is_told():
    with pytest.raises(Mismatch, match="transaction id"):
        line(with_length(response(102, 2))).ask(v3_requests.read(7, 2, txn_id=101))


def test_a_reply_of_the_other_dialect_is_told():
    with pytest.raises(Mismatch, match="dialect"):
        line(with_length(NO_LEDGER)).ask(v3_requests.read(7, 2))


@pytest.mark.parametrize(
    ("piece", "outcome"),
    [
        ("end", ConnectionClosed()),
        (ConnectionResetError, ConnectionClosed("reset")),
        (ConnectionAbortedError, ConnectionClosed()),
    ],
)
def test_the_end_of_a_connection_is_told_once_and_for_all(piece, outcome):
    talk = line(with_length(NO_LEDGER)[:9], piece)
    assert talk.ask(READ) == outcome
    assert talk.receive() == outcome
    assert "9 bytes of a frame" in talk.recording.events[-1].text


def test_silence():
    assert isinstance(line().receive(0.01), Silence)


def test_what_cannot_be_sent_shows_as_the_end():
    talk = line("end")
    talk.socket.broken = True
    assert talk.ask(READ) == ConnectionClosed()


@pytest.mark.parametrize(
    "garbage",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        with_length(b"\2\x55\0\0" + bytes(20)),
        with_length(b"\2\2\0\0\0"),
        with_length(b""),
    ],
    ids=["http", "unknown operation", "short", "empty"],
)
def test_what_is_no_reply_is_told(garbage):
    with pytest.raises(Mismatch, match=r"reply"):
        line(garbage).ask(READ)


def test_nothing_waits_longer_than_the_case():
    with pytest.raises(Mismatch, match="limit"):
        line(deadline_s=-1).receive()


def test_nothing_goes_on_when_the_run_is_stopped():
    with pytest.raises(Interrupted):
        line(stopped=True).receive()


def test_everything_is_recorded():
    talk = line(with_length(NO_LEDGER), "end")
    talk.ask(READ)
    talk.receive()
    sent, received, note = talk.recording.events
    assert (sent.sender, sent.data) == ("suite", with_length(READ))
    assert (received.sender, received.data) == ("target", with_length(NO_LEDGER))
    assert (note.sender, note.text) == ("note", "closed by the target")


def test_connecting_takes_no_longer_than_the_case(monkeypatch):
    given = []

    def connect(address: object, timeout: float) -> None:
        given.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr("socket.create_connection", connect)
    for left_s in (1.0, -1.0):
        with pytest.raises(Mismatch, match="connecting"):
            Line.to(("127.0.0.1", 1), "main", Recording(), time.monotonic() + left_s)
    assert 0 < given[1] < given[0] <= 1.0
