"""bookkeeper_tx.transport.client_budget: clients have a bound together, and none waits for ever."""

from typing import Any

import pytest
from attrs import define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from twisted.internet.task import Clock

from bookkeeper_tx.transport.client_budget import (
    FRAME_BYTES_PER_S,
    NOT_COMPLETE,
    TAKES_NOTHING,
    TOO_MUCH_UNSENT,
    ClientBudget,
    ClientLimits,
)
from bookkeeper_tx.transport.receive_size import RECEIVE_SIZE, RECEIVE_SIZE_MIN, RECEIVED_BYTES_MAX, receive_size
from tests.sampling import examples

LONG = 2 * RECEIVE_SIZE
TIMEOUT_S = 40


@define(eq=False)
class FakeClient:
    """A connection without one."""

    sent_bytes: int = 0
    untaken_bytes: int = 0
    is_reading: bool = True
    frame: tuple[int, int, int] = (0, 0, 0)
    reading_stops: int = 0
    closed: str = ""

    def stop_reading(self) -> None:
        self.reading_stops += 1

    def read_on(self) -> None:
        self.reading_stops -= 1

    def give_up(self, why: str) -> None:
        self.closed = why


class Bench:
    def __init__(self, count: int = 3, **limits: Any) -> None:
        self.clock = Clock()
        self.budget = ClientBudget(ClientLimits(timeout_s=TIMEOUT_S, **limits), self.clock)
        self.budget.start()
        self.clients = [FakeClient() for _ in range(count)]
        self.accounts = [self.budget.open(client) for client in self.clients]

    def pass_time(self, seconds: float) -> None:
        for _ in range(int(seconds)):
            self.clock.advance(1)

    @property
    def stopped(self) -> list[int]:
        return [client.reading_stops for client in self.clients]

    @property
    def closed(self) -> list[str]:
        return [client.closed for client in self.clients]


# Connections ---------------------------------------------------------------------------------------------------------


def test_connections_have_a_maximum_in_total_and_by_address() -> None:
    budget = ClientBudget(ClientLimits(connections_max=3, connections_per_address_max=2))
    assert [budget.admit(host) for host in "aaabb"] == [True, True, False, True, False]
    assert (budget.connections, budget.refused) == (3, 2)
    budget.left("a")
    assert [budget.admit(host) for host in "bb"] == [True, False]


class Transport:
    bufferSize = 0


def test_the_more_connections_the_less_is_asked_of_each() -> None:
    bench, transports = Bench(), [Transport(), Transport()]
    bench.accounts[0].opened(transports[0])
    for _ in range(1000):
        bench.budget.admit("a")
    bench.accounts[1].opened(transports[1])
    assert [each.bufferSize for each in transports] == [RECEIVE_SIZE, RECEIVED_BYTES_MAX // 1000]
    bench.pass_time(TIMEOUT_S)
    assert transports[0].bufferSize == transports[1].bufferSize
    bench.accounts[0].wants(RECEIVED_BYTES_MAX // 1000 + 1)
    assert bench.budget.frames_bytes == RECEIVED_BYTES_MAX // 1000 + 1
    assert receive_size(10**6) == RECEIVE_SIZE_MIN


# Frames --------------------------------------------------------------------------------------------------------------


def test_a_long_frame_without_room_waits_until_another_is_complete() -> None:
    bench = Bench(frames_bytes_max=2 * LONG)
    for account in bench.accounts:
        account.wants(LONG)
    assert (bench.stopped, bench.budget.frames_bytes) == ([0, 0, 1], 2 * LONG)
    bench.accounts[0].wants(0)
    assert (bench.stopped, bench.budget.frames_bytes) == ([0, 0, 0], 2 * LONG)


def test_those_that_wait_have_their_turns_also_after_short_frames() -> None:
    bench = Bench(count=4, frames_bytes_max=2 * LONG)
    for account, size in zip(bench.accounts, (2 * LONG, 2 * LONG, LONG, RECEIVE_SIZE), strict=True):
        account.wants(size)
    assert bench.stopped == [0, 1, 1, 0]
    bench.accounts[0].wants(0)
    assert bench.stopped == [0, 0, 1, 0], "the smaller one came later"
    bench.accounts[1].close()
    assert bench.stopped == [0, 0, 0, 0]


def test_a_frame_that_is_longer_than_all_may_have_is_read_alone() -> None:
    bench = Bench(frames_bytes_max=LONG)
    bench.accounts[0].wants(2 * LONG)
    bench.accounts[1].wants(LONG)
    assert bench.stopped == [0, 1, 0]
    bench.accounts[0].wants(0)
    assert bench.stopped == [0, 0, 0]


def test_a_client_that_goes_while_it_waits_leaves_nothing() -> None:
    bench = Bench(frames_bytes_max=LONG)
    bench.accounts[0].wants(LONG)
    bench.accounts[1].wants(LONG)
    bench.accounts[1].close()
    bench.accounts[0].close()
    assert (bench.stopped, bench.budget.frames_bytes) == ([0, 0, 0], 0)


@pytest.mark.parametrize("size", [10, 20 * FRAME_BYTES_PER_S])
def test_a_frame_has_to_be_complete_in_time_and_has_more_the_more_has_come(size: int) -> None:
    bench = Bench()
    bench.clients[0].frame = (1, 10**9, size)
    bench.clients[1].frame = (0, 0, size)
    limit = TIMEOUT_S + size / FRAME_BYTES_PER_S
    bench.pass_time(limit - 1)
    assert bench.closed == ["", "", ""]
    bench.pass_time(TIMEOUT_S / 2 + 1)
    assert bench.closed == [NOT_COMPLETE, "", ""]
    assert bench.budget.closed[NOT_COMPLETE] > 0


def test_frame_after_frame_there_is_time_anew() -> None:
    bench = Bench()
    for number in range(1, 20):
        bench.clients[0].frame = (number, 10, 1)
        bench.pass_time(TIMEOUT_S * 0.7)
    assert bench.closed == ["", "", ""]


def test_no_time_runs_for_a_frame_that_waits_for_room() -> None:
    bench = Bench(frames_bytes_max=LONG)
    for account, client in zip(bench.accounts, bench.clients, strict=True):
        client.frame = (1, LONG, 1)
        account.wants(LONG)
    bench.clients[0].frame = (0, 0, 0)
    bench.pass_time(3 * TIMEOUT_S)
    assert bench.closed == ["", "", ""]


# Replies -------------------------------------------------------------------------------------------------------------


def test_a_client_that_takes_nothing_is_closed_in_time() -> None:
    bench = Bench()
    idle, taking, quiet = bench.clients
    idle.sent_bytes = idle.untaken_bytes = 1000
    taking.sent_bytes = taking.untaken_bytes = 10**6
    quiet.sent_bytes = 1000
    for _ in range(int(TIMEOUT_S * 0.9)):
        taking.untaken_bytes -= 1
        bench.pass_time(1)
    assert bench.closed == ["", "", ""]
    for _ in range(TIMEOUT_S // 2):
        taking.untaken_bytes -= 1
        bench.pass_time(1)
    assert bench.closed == [TAKES_NOTHING, "", ""]


def test_when_too_much_waits_for_all_the_client_goes_that_has_taken_nothing_for_longest() -> None:
    bench = Bench(replies_bytes_max=100)
    old = bench.clients[0]
    old.sent_bytes = old.untaken_bytes = 10
    bench.accounts[0].has_unsent(10)
    bench.pass_time(TIMEOUT_S / 2)
    bench.accounts[1].has_unsent(80)
    assert bench.closed == ["", "", ""]
    bench.accounts[2].has_unsent(20)
    assert (bench.closed, bench.budget.replies_bytes) == ([TOO_MUCH_UNSENT, "", ""], 100)
    bench.accounts[2].has_unsent(21)
    assert (bench.closed, bench.budget.replies_bytes) == ([TOO_MUCH_UNSENT, TOO_MUCH_UNSENT, ""], 21)
    bench.accounts[2].has_unsent(0)
    assert bench.budget.replies_bytes == 0


def test_of_clients_that_are_gone_nothing_is_counted_and_no_call_is_left() -> None:
    bench = Bench()
    bench.accounts[0].has_unsent(10)
    bench.accounts[0].close()
    assert bench.budget.replies_bytes == 0
    bench.clients[0].untaken_bytes = 10
    bench.pass_time(3 * TIMEOUT_S)
    assert bench.closed == ["", "", ""]
    bench.budget.stop()
    assert bench.clock.getDelayedCalls() == []


class AnyFrames(RuleBasedStateMachine):
    """Whatever frames come and go: their bytes are counted, within the bound, and a client that waits has a reason."""

    SIZES = (0, LONG, 3 * LONG, 9 * LONG)

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(count=4, frames_bytes_max=8 * LONG)

    @rule(which=st.integers(0, 3), size=st.sampled_from(SIZES))
    def want(self, which: int, size: int) -> None:
        self.bench.accounts[which].wants(size)

    @invariant()
    def counted(self) -> None:
        budget = self.bench.budget
        taken = [each.wanted for each in self.bench.accounts if not each.is_waiting]
        assert budget.frames_bytes == sum(taken)
        assert sum(taken) <= 8 * LONG or len([each for each in taken if each]) == 1
        assert self.bench.stopped == [int(each.is_waiting) for each in self.bench.accounts]
        assert sum(taken) > 0 or not any(self.bench.stopped)


TestAnyFrames = AnyFrames.TestCase
TestAnyFrames.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
