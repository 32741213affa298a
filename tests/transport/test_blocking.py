"""The blocking channel, over one end of a socket pair; the other end holds the bookie's answer already."""

import socket

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookieUnavailable, IllegalOperation, Unauthorized
from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.transport.blocking import BlockingChannel
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


def test_neither_tls_nor_authentication_is_left_out_in_silence() -> None:
    for config in (ClientConfig(tls=TlsConfig(trust_path="t")), ClientConfig(auth=SaslClient("a", "b"))):
        with pytest.raises(IllegalOperation, match="blocking"):
            BlockingChannel("127.0.0.1", 1, config)
