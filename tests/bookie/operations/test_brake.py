"""bookkeeper_tx.bookie.operations.brake: held requests are bounded, keep their order, and are served in the end."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bookkeeper_tx.bookie.operations.brake import WAITER_BYTES, Brake
from tests.bookie.seams import Client, SlowClient
from tests.sampling import examples

SIZE = 100
HELD = SIZE + WAITER_BYTES


class GoneClient(Client):
    """A client that was lost before."""

    def call_when_lost(self, function: Callable[[], None]) -> None:
        function()


class Bench:
    """A brake, on while ``overloaded``, and the requests that were served."""

    def __init__(self, client_count_max: int = 3, total_count_max: int = 100) -> None:
        self.overloaded = False
        self.brake = Brake(lambda braking: self.overloaded, client_count_max * HELD, total_count_max * HELD)
        self.served: list[tuple[Client, int]] = []

    def ask(self, client: Any, number: int) -> None:
        if self.brake.holds(client):
            self.brake.hold(client, SIZE, partial(self.served.append, (client, number)))
        else:
            self.served.append((client, number))

    def release(self) -> None:
        self.overloaded = False
        self.brake.look_again()


def test_a_client_of_which_much_is_held_is_not_read_from_until_half_is_served() -> None:
    bench, client = Bench(client_count_max=4), Client()
    bench.overloaded = True
    stops = []
    for number in range(5):
        bench.ask(client, number)
        stops.append(client.reading_stops)
    assert stops == [0, 0, 0, 1, 1]
    bench.release()
    assert ([number for _, number in bench.served], client.reading_stops) == ([0, 1, 2, 3, 4], 0)


def test_when_much_is_held_of_all_a_client_is_not_read_from_after_its_first_held_request() -> None:
    bench, clients = Bench(client_count_max=10, total_count_max=3), [Client() for _ in range(4)]
    bench.overloaded = True
    for client in clients:
        bench.ask(client, 0)
    assert [client.reading_stops for client in clients] == [0, 0, 1, 1]
    bench.release()
    assert ([client.reading_stops for client in clients], bench.brake.held_bytes) == ([0, 0, 0, 0], 0)


def test_what_is_held_of_a_lost_client_is_forgotten() -> None:
    bench, client = Bench(), Client()
    bench.overloaded = True
    bench.ask(client, 0)
    client.lose()
    assert bench.brake.held_bytes == 0
    bench.release()
    assert bench.served == []


def test_nothing_is_held_of_a_client_that_has_gone() -> None:
    bench, client = Bench(), GoneClient()
    bench.overloaded = True
    bench.ask(client, 0)
    assert bench.brake.held_bytes == 0


def test_a_slow_client_is_served_when_it_takes_its_replies_and_keeps_nobody_waiting() -> None:
    bench, slow, other = Bench(), SlowClient(), Client()
    bench.overloaded = True
    for number in range(2):
        bench.ask(slow, number)
        bench.ask(other, number)
    bench.release()
    bench.brake.look_again()
    assert (bench.served, len(slow.next)) == ([(other, 0), (other, 1)], 1)
    bench.ask(slow, 2)
    slow.take_replies()
    assert bench.served[2:] == [(slow, 0), (slow, 1), (slow, 2)]


def test_a_load_that_comes_back_holds_the_rest() -> None:
    bench, client = Bench(), Client()
    bench.overloaded = True
    served = []

    def serve(number: int) -> None:
        served.append(number)
        bench.overloaded = True

    for number in range(3):
        assert bench.brake.holds(client)  # type: ignore[arg-type]
        bench.brake.hold(client, SIZE, partial(serve, number))  # type: ignore[arg-type]
    for expected in ([0], [0, 1], [0, 1, 2]):
        bench.release()
        assert served == expected


class AnyLoad(RuleBasedStateMachine):
    """Whatever the load: each client's requests are served in order, and all of them when the load is low."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(client_count_max=2, total_count_max=4)
        self.clients = [Client() for _ in range(3)]
        self.asked = [0] * 3

    @rule(which=st.integers(0, 2))
    def ask(self, which: int) -> None:
        self.bench.ask(self.clients[which], self.asked[which])
        self.asked[which] += 1

    @rule(overloaded=st.booleans())
    def change(self, overloaded: bool) -> None:
        self.bench.overloaded = overloaded
        self.bench.brake.look_again()

    @invariant()
    def order_is_kept(self) -> None:
        for which, client in enumerate(self.clients):
            served = [number for served_client, number in self.bench.served if served_client is client]
            assert served == list(range(len(served)))
            if not self.bench.overloaded:
                assert (len(served), client.reading_stops) == (self.asked[which], 0)

    @invariant()
    def bytes_are_counted(self) -> None:
        assert self.bench.brake.held_bytes == (sum(self.asked) - len(self.bench.served)) * HELD


TestAnyLoad = AnyLoad.TestCase
TestAnyLoad.settings = settings(max_examples=examples(50), stateful_step_count=30, deadline=None)
