"""bookkeeper_tx.metadata.etcd.looks: one look at a time, and what waits for it; on a thread in the test's hand."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd.looks import EtcdLooks
from tests.conftest import failure_of, result_of

TIMEOUT_S = 10.0


class World:
    """Looks that end when the test says so."""

    hosts = "fake:2379"

    def __init__(self) -> None:
        self.clock: Any = Clock()
        self.looks: list[tuple[set[Any], Deferred[Any]]] = []
        self.unwatched: list[Any] = []
        self.called: list[Any] = []
        self.client = self.watches = self
        records: Any = self
        self.etcd = EtcdLooks(records, self.clock, TIMEOUT_S, self.run)

    def stamps(self) -> None:
        raise AssertionError("it is run by the thread")

    def unwatch(self, key: Any) -> None:
        self.unwatched.append(key)

    def run(self, function: Callable[..., Any], keys: Any) -> Deferred[Any]:
        assert function == self.stamps
        self.looks.append((set(keys), Deferred()))
        return self.looks[-1][1]

    def watch(self, key: Any) -> Callable[[], None]:
        return self.etcd.watch(key, lambda: self.called.append(key))

    def see(self, stamp: int) -> set[Any]:
        """End the look that is under way; return its keys."""
        keys, done = self.looks.pop(0)
        done.callback(dict.fromkeys(keys, stamp))
        return keys


@pytest.fixture
def world() -> World:
    return World()


def test_what_is_asked_for_during_a_look_is_in_the_next_one(world: World) -> None:
    for key in (1, 2, 3):
        world.watch(key)
    world.etcd.told(1)
    assert len(world.looks) == 1
    assert world.see(7) == {1}
    assert world.see(8) == {1, 2, 3}
    assert not world.looks
    assert world.called == [1]
    world.etcd.told(None)
    assert world.see(9) == {1, 2, 3}
    assert sorted(world.called) == [1, 1, 2, 3]


def test_an_operation_waits_for_the_looks_that_were_asked_for_before_it(world: World) -> None:
    result_of(world.etcd.after_first_looks())
    world.watch(1)
    world.watch(2)
    waiting = world.etcd.after_first_looks()
    world.see(7)
    assert not waiting.called
    world.see(7)
    result_of(waiting)
    world.etcd.told(1)
    result_of(world.etcd.after_first_looks())
    assert not world.clock.getDelayedCalls()


def test_an_operation_waits_for_looks_no_longer_than_it_may_take(world: World) -> None:
    for key in range(10):
        world.watch(key)
    waiting = world.etcd.after_first_looks()
    world.clock.advance(TIMEOUT_S)
    assert "fake:2379 did not answer within 10 s" in str(failure_of(waiting, MetadataUnavailable))
    world.see(7)
    world.see(7)


def test_a_look_that_has_failed_is_repeated_and_tells_of_what_it_may_have_missed(world: World) -> None:
    world.watch(1)
    world.looks.pop(0)[1].errback(MetadataUnavailable("away"))
    result_of(world.etcd.after_first_looks())
    world.clock.advance(1.0)
    assert world.see(7) == {1}
    assert world.called == [1]


def test_what_nobody_watches_any_more_is_forgotten(world: World) -> None:
    ends = [world.watch(1), world.watch(1), world.watch(2)]
    world.see(7)
    world.see(7)
    ends[0]()
    assert world.unwatched == []
    ends[1]()
    assert world.unwatched == [1]
    world.etcd.told(2)
    ends[2]()  # while it is looked at, which may watch it again
    world.see(8)
    assert world.unwatched == [1, 2, 2]
    assert world.called == []


def test_after_a_stop_nobody_is_called_and_nothing_is_looked_at(world: World) -> None:
    world.watch(1)
    world.watch(2)
    world.etcd.stop()
    world.see(7)
    world.etcd.told(None)
    assert not world.looks
    assert world.called == []
