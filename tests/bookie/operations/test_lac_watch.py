"""bookkeeper_tx.bookie.operations.lac_watch: every wait ends once, and nothing is left of it."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from tests.bookie.seams import LEDGER, Client, StoredLedger, watch_of

KEY = b""


class Bench:
    def __init__(self, **limits: Any) -> None:
        self.clock = Clock()
        self.clock.advance(1000)
        self.watch = watch_of(self.clock, **limits)
        self.client: Any = Client()
        self.ended: list[Any] = []

    def wait(self, previous: int = 5, timeout_ms: int = 1000, ledger_id: int = LEDGER) -> bool:
        return self.watch.wait(ledger_id, previous, timeout_ms, self.client, self.ended.append)

    def advance_to(self, last_add_confirmed: int) -> None:
        self.watch.advanced(StoredLedger(LEDGER, KEY, last_add_confirmed=last_add_confirmed))  # type: ignore[arg-type]

    def fence(self, last_add_confirmed: int = 0) -> None:
        self.watch.fenced(StoredLedger(LEDGER, KEY, last_add_confirmed=last_add_confirmed))  # type: ignore[arg-type]


def test_a_wait_ends_when_its_time_is_over() -> None:
    bench = Bench()
    assert bench.wait(timeout_ms=1500)
    bench.clock.advance(1.4)
    assert bench.ended == []
    bench.clock.advance(0.1)
    assert (bench.ended, bench.watch.count) == ([None], 0)


def test_no_wait_is_longer_than_the_bookie_allows() -> None:
    bench = Bench(timeout_max_s=2.0)
    bench.wait(timeout_ms=2**62)
    bench.clock.advance(2)
    assert bench.ended == [None]


def test_a_wait_that_was_ended_by_an_add_says_when() -> None:
    bench = Bench()
    bench.wait(previous=5)
    bench.wait(previous=6)
    bench.clock.advance(0.25)
    bench.advance_to(6)
    assert bench.ended == [1000250]
    bench.clock.advance(1)
    assert bench.ended == [1000250, None]


class CountedNumber(int):
    """Counts how often it is compared."""

    compared = 0

    def __lt__(self, other: Any) -> bool:
        CountedNumber.compared += 1
        return int(self) < int(other)

    def __eq__(self, other: Any) -> bool:
        CountedNumber.compared += 1
        return int(self) == int(other)

    def __gt__(self, other: Any) -> bool:
        CountedNumber.compared += 1
        return int(self) > int(other)

    __hash__ = int.__hash__


def test_polls_that_are_not_passed_cost_the_writer_nothing() -> None:
    bench = Bench(per_connection_max=2000)
    for previous in range(1000):
        bench.wait(previous=1_000_000 + previous)
    bench.wait(previous=0)
    CountedNumber.compared = 0
    bench.advance_to(CountedNumber(1))
    assert len(bench.ended) == 1
    assert CountedNumber.compared < 50


def test_a_fence_ends_all_waits_of_its_ledger() -> None:
    bench = Bench()
    bench.wait(previous=0)
    bench.wait(previous=5)
    bench.wait(ledger_id=LEDGER + 1)
    bench.fence(last_add_confirmed=3)
    assert bench.ended == [1000000, None]
    bench.fence()
    assert bench.watch.count == 1


def test_a_client_has_only_so_many_and_each_that_ends_makes_room() -> None:
    bench = Bench(per_connection_max=2)
    assert [bench.wait(previous=previous) for previous in (1, 2, 3)] == [True, True, False]
    bench.advance_to(2)
    assert [bench.wait(), bench.wait()] == [True, False]
    bench.client = Client()
    assert bench.wait()


def test_all_clients_have_only_so_many() -> None:
    bench = Bench(total_max=2)
    first = bench.client
    assert [bench.wait(), bench.wait(), bench.wait()] == [True, True, False]
    bench.client = Client()
    assert not bench.wait()
    first.lose()
    assert bench.wait()


def test_nothing_is_left_when_the_client_goes() -> None:
    bench = Bench()
    bench.wait()
    bench.wait(ledger_id=LEDGER + 1)
    bench.client.lose()
    assert (bench.watch.count, bench.clock.getDelayedCalls()) == (0, [])
    bench.clock.advance(10)
    assert bench.ended == []


class GoneClient(Client):
    """A client's connection that was lost."""

    def call_when_lost(self, function: Callable[[], None]) -> None:
        function()


def test_a_client_that_has_gone_waits_for_nothing() -> None:
    bench = Bench()
    bench.client = GoneClient()
    assert bench.wait()
    assert (bench.watch.count, bench.clock.getDelayedCalls()) == (0, [])


CLIENTS = 2
PER_CLIENT = 3
LEDGERS = st.integers(1, 2)


class Waits(RuleBasedStateMachine):
    """Waits, adds, time and clients that go, in any order: each wait ends at most once, and in time."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.watch = LacWatch(self.clock, 5.0, PER_CLIENT, CLIENTS * PER_CLIENT)
        self.clients: list[Any] = [Client() for _ in range(CLIENTS)]
        self.open: dict[int, tuple[Any, int, int, float]] = {}
        self.started = 0
        self.confirmed = {1: -1, 2: -1}

    @rule(
        client=st.integers(0, CLIENTS - 1),
        ledger_id=LEDGERS,
        ahead=st.integers(0, 3),
        ms=st.integers(1, 9000),
    )
    def wait(self, client: int, ledger_id: int, ahead: int, ms: int) -> None:
        number, who = self.started, self.clients[client]
        self.started += 1
        previous = self.confirmed[ledger_id] + ahead
        of_client = sum(each[0] is who for each in self.open.values())
        took = self.watch.wait(ledger_id, previous, ms, who, lambda at: self.end(number, at))
        assert took == (of_client < PER_CLIENT)
        if took:
            self.open[number] = (who, ledger_id, previous, self.clock.seconds() + min(ms / 1000, 5.0))

    def end(self, number: int, updated_at_ms: int | None) -> None:
        _, ledger_id, previous, _ = self.open.pop(number)
        assert (updated_at_ms is not None) == (self.confirmed[ledger_id] > previous)

    def ledger(self, ledger_id: int) -> Any:
        return StoredLedger(ledger_id, KEY, last_add_confirmed=self.confirmed[ledger_id])

    @rule(ledger_id=LEDGERS, by=st.integers(0, 3))
    def add(self, ledger_id: int, by: int) -> None:
        self.confirmed[ledger_id] += by
        if ledger_id in self.watch.ledgers:
            self.watch.advanced(self.ledger(ledger_id))
        assert not any(each[1] == ledger_id and each[2] < self.confirmed[ledger_id] for each in self.open.values())

    @rule(ledger_id=LEDGERS)
    def fence(self, ledger_id: int) -> None:
        self.watch.fenced(self.ledger(ledger_id))
        assert not any(each[1] == ledger_id for each in self.open.values())

    @rule(seconds=st.floats(0, 3))
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        assert all(each[3] > self.clock.seconds() for each in self.open.values())

    @rule(client=st.integers(0, CLIENTS - 1))
    def lose(self, client: int) -> None:
        who, self.clients[client] = self.clients[client], Client()
        self.open = {number: each for number, each in self.open.items() if each[0] is not who}
        who.lose()

    @invariant()
    def nothing_is_kept_of_what_has_ended(self) -> None:
        assert self.watch.count == len(self.open) == len(self.clock.getDelayedCalls())
        assert set(self.watch.ledgers) == {each[1] for each in self.open.values()}


TestWaits = Waits.TestCase
