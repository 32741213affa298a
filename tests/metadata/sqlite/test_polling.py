"""bookkeeper_tx.metadata.sqlite.polling: often while there are changes, seldom after a while."""

from itertools import pairwise

from twisted.internet.task import Clock

from bookkeeper_tx.metadata.sqlite.polling import INTERVAL_S, QUIET_INTERVAL_S, QUIET_LOOKS, Polling

STEP_S = 1 / 64


class Looks:
    """Looks that find ``changed``, and when they came."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.times: list[float] = []
        self.changed = False
        self.polling = Polling(self.clock, self._look)

    def _look(self) -> None:
        self.times.append(self.clock.seconds())
        self.polling.found(self.changed)

    def gaps(self, seconds: float) -> list[float]:
        """Return the times from now to the first look of the next ``seconds``, and from each to the next."""
        times = self.times = [self.clock.seconds()]
        self.clock.pump([STEP_S] * round(seconds / STEP_S))
        return [round(after - before, 1) for before, after in pairwise(times)]

    def until_quiet(self) -> None:
        self.polling.start()
        self.clock.pump([INTERVAL_S] * (QUIET_LOOKS + 1))


def test_it_gets_seldom_when_nothing_changes() -> None:
    looks = Looks()
    looks.polling.start()
    gaps = looks.gaps(QUIET_LOOKS * (INTERVAL_S + STEP_S) + 4 * QUIET_INTERVAL_S)
    assert gaps[:QUIET_LOOKS] == [INTERVAL_S] * QUIET_LOOKS
    assert gaps[QUIET_LOOKS + 1 :] == [QUIET_INTERVAL_S] * (len(gaps) - QUIET_LOOKS - 1)
    assert len(gaps) >= QUIET_LOOKS + 3


def test_a_change_makes_it_often_again() -> None:
    looks = Looks()
    looks.until_quiet()
    looks.changed = True
    gaps = looks.gaps(3 * QUIET_INTERVAL_S)
    assert gaps[1:] == [INTERVAL_S] * (len(gaps) - 1)
    assert len(gaps) > 5


def test_who_begins_to_watch_makes_it_often_as_well() -> None:
    looks = Looks()
    looks.until_quiet()
    looks.polling.start()
    gaps = looks.gaps(2 * QUIET_INTERVAL_S)
    assert gaps == [INTERVAL_S] * len(gaps)
    assert len(gaps) > 5
    assert len(looks.clock.getDelayedCalls()) == 1


def test_after_the_stop_nobody_looks() -> None:
    looks = Looks()
    looks.polling.stop()
    looks.polling.start()
    looks.polling.stop()
    looks.polling.stop()
    assert not looks.clock.getDelayedCalls()
    looks.polling.start()
    looks.clock.advance(INTERVAL_S)
    assert looks.times == [INTERVAL_S]
