import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.garbage.pace import Pace, Stopped
from tests.conftest import failure_of, result_of


def test_what_was_done_takes_its_time() -> None:
    clock = Clock()
    pace = Pace(clock, 100)
    for _ in range(3):
        spent = pace.spend(50)
        clock.advance(0.49)
        assert not spent.called
        clock.advance(0.01)
        result_of(spent)


def test_time_that_was_not_used_is_gone() -> None:
    clock = Clock()
    pace = Pace(clock, 100)
    clock.advance(1000)
    spent = pace.spend(200)
    clock.advance(1.9)
    assert not spent.called
    clock.advance(0.1)
    result_of(spent)


def test_little_things_add_up_to_a_wait() -> None:
    clock = Clock()
    pace = Pace(clock, 10_000)
    spent = [pace.spend(4) for _ in range(3)]
    assert [each.called for each in spent] == [True, True, False]
    clock.advance(0.002)
    result_of(spent[-1])


@pytest.mark.parametrize("waiting", [True, False])
def test_a_stop_ends_the_wait_and_every_later_one(waiting: bool) -> None:
    clock = Clock()
    pace = Pace(clock, 1)
    spent = pace.spend(5) if waiting else None
    pace.stop()
    if spent is not None:
        failure_of(spent, Stopped)
    failure_of(pace.spend(0), Stopped)
    assert not clock.getDelayedCalls()
