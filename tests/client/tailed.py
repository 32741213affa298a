"""A ledger that is being written, and a reader that follows it."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.model import Entry
from tests.client.puppets import Cluster


class Tailed:
    """A cluster, a writer that has appended some entries, and a reader of them; the messages run by themselves."""

    def __init__(self, sizes: tuple[int, int, int] = (3, 3, 2), entries: int = 3, protocol: str = "v2") -> None:
        self.cluster = Cluster()
        self.writer: LedgerWriter = self.cluster.result(self.cluster.client().create_ledger(*sizes))
        self.append(entries)
        client = self.cluster.client(ClientConfig(protocol=protocol))
        self.reader: LedgerReader = self.cluster.result(client.open_ledger_no_recovery(self.writer.ledger_id))
        for bookie in self.cluster.bookies.values():
            bookie.requests.clear()

    def append(self, count: int) -> None:
        for _ in range(count):
            number = self.writer._queue._next_entry_id
            self.cluster.result(self.writer.append(b"entry %d" % number))
            self.cluster.network.run()

    def publish(self) -> None:
        self.cluster.result(self.writer.write_last_add_confirmed())
        self.cluster.network.run()

    def outcome(self, deferred: "Deferred[Any]") -> list[Any]:
        """A list that gets the result, or the error."""
        found: list[Any] = []
        deferred.addCallbacks(found.append, lambda failure: found.append(failure.value))
        self.cluster.network.run()
        return found

    def wait(self, timeout_s: float = 100, **arguments: Any) -> list[Any]:
        return self.outcome(self.reader.wait_last_add_confirmed(timeout_s=timeout_s, **arguments))

    def advance(self, seconds: float, step: float = 0.5) -> None:
        """Let time pass, and the messages with it."""
        for _ in range(round(seconds / step)):
            self.cluster.clock.advance(step)
            self.cluster.network.run()

    def run_except(self, text: str) -> None:
        """Deliver all messages but those with ``text`` in them."""
        messages = self.cluster.network.messages
        while ahead := [at for at, each in enumerate(messages) if text not in each.text]:
            self.cluster.network.deliver(ahead[0])

    def polls(self) -> list[str]:
        requests = [(each, bookie.requests) for each, bookie in sorted(self.cluster.bookies.items())]
        return [each for each, asked in requests for request in asked if " poll " in request]

    def assert_nothing_is_left(self) -> None:
        assert self.cluster.clock.getDelayedCalls() == []
        assert not any(bookie.watchers for bookie in self.cluster.bookies.values())
        assert self.reader._listeners == []


@pytest.fixture
def tailed() -> Tailed:
    return Tailed()


def entry(number: int, length: int) -> Entry:
    return Entry(0, number, b"entry %d" % number, number - 1, length)
