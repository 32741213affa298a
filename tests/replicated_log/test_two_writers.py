"""Two writers of one log, and any interleaving of all messages: one order, and nothing acknowledged is lost."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.replicated_log import LogRecord, LogWriter
from tests.client.puppet_network import AtOnce
from tests.client.puppet_store import AnswerLost
from tests.replicated_log.logs import LOG, Logs, collected
from tests.replicated_log.one_order import Acknowledged, check
from tests.sampling import examples


class Service:
    """A program that opens the log again and again, and writes numbered records."""

    def __init__(self, name: str, logs: Logs, acknowledged: Acknowledged) -> None:
        self.name = name
        self._logs = logs
        self._acknowledged = acknowledged
        self._namespace = logs.logs(logs.client())
        self._opening = False
        self.writer: LogWriter | None = None
        self.sent: list[list[bytes]] = []
        """The payloads that each of its writers was given, in order."""

    def open(self) -> None:
        if not self._opening:
            self._opening, self.writer = True, None
            opened = self._namespace.open_log_writer(LOG, roll_size_bytes=40)
            opened.addCallbacks(self._opened, lambda failure: failure.trap(BookKeeperError))
            opened.addBoth(lambda _: setattr(self, "_opening", False))

    def write(self) -> None:
        if self.writer is not None:
            sent = self.sent[-1]
            payload = b"%s %d %d" % (self.name.encode(), len(self.sent), len(sent))
            sent.append(payload)
            self._acknowledged.begin(payload)
            written = self.writer.write(payload)
            written.addCallback(lambda position: self._acknowledged.end(payload, position))
            written.addErrback(lambda failure: failure.trap(BookKeeperError))

    def roll(self) -> None:
        if self.writer is not None:
            self.writer.roll().addErrback(lambda failure: failure.trap(BookKeeperError))

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close().addErrback(lambda failure: failure.trap(BookKeeperError))
            self.writer = None

    def _opened(self, writer: LogWriter) -> None:
        self.writer = writer
        self.sent.append([])


def interleave(
    random: Random, lossy: bool, store_answers_at_once: bool = False
) -> tuple[Logs, Acknowledged, list[Service]]:
    logs, acknowledged = Logs(ensemble_size=2), Acknowledged()
    if store_answers_at_once:
        logs.cluster.store_network = AtOnce()
    services = [Service(name, logs, acknowledged) for name in ("one", "two")]
    network = logs.cluster.network
    actions: list[Any] = [
        *(service.open for service in services),
        *(service.write for service in services for _ in range(6)),
        *(service.roll for service in services),
        *(service.close for service in services),
    ]
    for service in services:
        service.open()
    for _ in range(random.randint(50, 900)):
        if random.random() < 0.15:
            random.choice(actions)()
        if random.random() < 0.2:
            logs.cluster.clock.advance(5 if random.random() < 0.05 else 0)
        if network.messages:
            index = random.randrange(len(network.messages)) if random.random() < 0.5 else 0
            if lossy and random.random() < 0.02:
                network.lose(index, random.choice([None, AnswerLost()]))
            else:
                network.deliver(index)
    network.run()
    return logs, acknowledged, services


def read_after_fencing(logs: Logs) -> list[LogRecord]:
    """Let a third writer take the log: then nothing is left that was made and is not in the list."""
    logs.result(logs.open(logs.client()).close())
    assert sorted(logs.cluster.state.ledgers) == logs.ledger_ids
    assert logs.noted == []
    return collected(logs)


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 2**32))
def test_of_two_writers_there_is_one_order(seed: int) -> None:
    logs, acknowledged, services = interleave(Random(seed), lossy=False)
    check(read_after_fencing(logs), acknowledged, [each for service in services for each in service.sent])


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32))
def test_messages_that_are_lost_change_nothing_of_that(seed: int) -> None:
    logs, acknowledged, services = interleave(Random(seed), lossy=True)
    logs.cluster.clock.advance(600)
    logs.cluster.network.run()
    check(read_after_fencing(logs), acknowledged, [each for service in services for each in service.sent])


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_a_store_that_answers_at_once_changes_nothing_of_that(seed: int) -> None:
    logs, acknowledged, services = interleave(Random(seed), lossy=True, store_answers_at_once=True)
    logs.cluster.clock.advance(600)
    logs.cluster.network.run()
    check(read_after_fencing(logs), acknowledged, [each for service in services for each in service.sent])


def test_the_interleavings_reach_what_matters() -> None:
    """Many runs have writers that are fenced, ledgers that are rolled, and records that are acknowledged."""
    rolled = written = taken = 0
    for seed in range(20):
        logs, acknowledged, services = interleave(Random(seed), lossy=False)
        rolled += sum(each.next_sequence_no for each in [logs.segments])
        written += len(acknowledged.positions)
        taken += sum(len(each.sent) for each in services)
    assert rolled > taken > 40
    assert written > 100
