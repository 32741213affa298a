"""bookkeeper_tx.bookie.http.reply, large_object: answers that take much memory until they were sent."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.http import read_ledger as reading
from bookkeeper_tx.bookie.http.administered import LARGE_MAX
from bookkeeper_tx.bookie.http.server import REQUEST_TIMEOUT_S
from bookkeeper_tx.model import DigestType, Entry, Fragment, LedgerMetadata
from tests.bookie.http.asked import Asked, FakeClient, reply_in
from tests.bookie.workers import SteppedWorker
from tests.conftest import result_of

LEDGER = "/api/v1/ledger"
READ = f"GET {LEDGER}/read?ledger_id=3 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
GONE = Failure(ConnectionDone())


def make(asked: Asked) -> None:
    result_of(asked.store.create_ledger(3, LedgerMetadata(1, 1, 1, [Fragment(0, ("a:1",))], DigestType.CRC32C, b"")))


class Opened(FakeClient):
    """A client of a ledger with one entry."""

    last_add_confirmed = 0

    def __init__(self, payload: bytes) -> None:
        super().__init__(self)
        self.payload = payload

    async def open_ledger_no_recovery(self, *arguments: Any) -> Any:
        return self

    async def __aenter__(self) -> "Opened":
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def entries(self, first: int, last: int) -> AsyncGenerator[list[Entry], None]:
        yield [Entry(3, 0, self.payload, -1, 0)]


class Taking:
    """Connections that ask for a ledger of one entry of ``size`` bytes, and take little of the answer at once."""

    def __init__(self, asked: Asked, size: int = 300_000) -> None:
        make(asked)
        asked.bookie.client = Opened(b"a" * size)  # type: ignore[assignment]
        self.asked = asked
        self.protocols: list[Any] = []
        self.transports: list[Any] = []

    def begin(self) -> None:
        protocol, transport = self.asked.connect()
        written = transport.write

        def write(data: bytes) -> None:
            written(data)
            if len(transport.value()) > 1000:
                transport.producer.pauseProducing()

        transport.write = write  # type: ignore[method-assign]
        self.protocols.append(protocol)
        self.transports.append(transport)
        protocol.dataReceived(READ)

    def take(self, index: int) -> bytes:
        """Take the whole answer of a connection."""
        transport, taken = self.transports[index], b""
        while transport.value():
            taken += transport.value()
            transport.clear()
            transport.producer.resumeProducing()
        return taken

    def close(self, index: int) -> None:
        self.protocols[index].connectionLost(GONE)


@pytest.mark.parametrize("payload", [bytes(100), b"\xff" * 200, b'"' * 300], ids=["zeros", "not ASCII", "quotes"])
def test_bytes_are_counted_that_are_sent(asked: Asked, monkeypatch: pytest.MonkeyPatch, payload: bytes) -> None:
    monkeypatch.setattr(reading, "ANSWER_BYTES_MAX", 500)
    make(asked)
    asked.bookie.client = Opened(payload)  # type: ignore[assignment]
    assert asked.ask(f"{LEDGER}/read?ledger_id=3").status == 400


def test_large_answers_are_made_on_a_thread(asked: Asked) -> None:
    make(asked)
    worker = SteppedWorker()
    asked.bookie.client, asked.bookie.threads = Opened(b"a" * 100), worker  # type: ignore[assignment]
    protocol, transport = asked.connect()
    protocol.dataReceived(READ)
    assert transport.value() == b""
    worker.run_all()
    assert reply_in(transport.value()).json == {"0": "a" * 100}
    protocol.connectionLost(GONE)


@pytest.mark.parametrize("end", [Taking.take, Taking.close])
def test_no_more_answers_are_in_memory_than_may_be(asked: Asked, end: Callable[[Taking, int], Any]) -> None:
    """Whether they are taken at last, or the client goes."""
    taking = Taking(asked)
    for _ in range(LARGE_MAX + 1):
        taking.begin()
    assert [bool(each.value()) for each in taking.transports] == [True] * LARGE_MAX + [False]
    assert len(taking.transports[0].value()) < 150_000
    end(taking, 0)
    assert reply_in(taking.take(LARGE_MAX)).json == {"0": "a" * 300_000}
    for index in range(1, LARGE_MAX):
        assert reply_in(taking.take(index)).json == {"0": "a" * 300_000}
    assert asked.ask(f"{LEDGER}/list").status == 200


def test_a_client_that_takes_too_long_makes_room_for_others(asked: Asked) -> None:
    taking = Taking(asked)
    for _ in range(LARGE_MAX):
        taking.begin()
    asked.clock.advance(REQUEST_TIMEOUT_S)
    assert all(each.disconnected for each in taking.transports)


def test_after_a_large_answer_a_client_may_ask_again(asked: Asked) -> None:
    taking = Taking(asked)
    taking.begin()
    first = taking.take(0)
    taking.protocols[0].dataReceived(READ)
    assert taking.take(0).partition(b"\r\n\r\n")[2] == first.partition(b"\r\n\r\n")[2]
    taking.close(0)
    assert not asked.clock.getDelayedCalls()
