"""The replies of a bookie are still true after every power failure."""

from functools import partial
from typing import Any

import pytest

from tests.simulation.bookie_history import BookieHistory
from tests.simulation.histories import count_failing, run_all
from tests.simulation.lazy_histories import UnjournaledHistory, UnsyncedHistory
from tests.simulation.several_journals import SeveralJournalsHistory

pytestmark = pytest.mark.crash

HISTORIES, LAZY_HISTORIES = 250, 100


def test_what_clients_were_told_is_true_after_every_crash() -> None:
    check(BookieHistory)


def test_so_it_is_with_several_journals() -> None:
    check(SeveralJournalsHistory)


def check(make: type[BookieHistory]) -> None:
    histories = run_all(make, HISTORIES)
    assert sum(history.crashes for history in histories) >= 1000
    assert sum(history.acknowledged_count for history in histories) > 20_000
    assert sum(history.fence_count for history in histories) > 300
    assert sum(history.forced_count for history in histories) > 1000


@pytest.mark.parametrize("make", [UnsyncedHistory, UnjournaledHistory])
def test_what_the_configuration_lets_a_crash_lose_is_lost_and_nothing_else(
    make: type[UnsyncedHistory] | type[UnjournaledHistory],
) -> None:
    histories = run_all(make, LAZY_HISTORIES)
    assert sum(history.acknowledged_count for history in histories) > 8000
    assert sum(history.fence_count for history in histories) > 100
    assert sum(history.lost_count for history in histories) > 500


@pytest.mark.parametrize("settings", [UnsyncedHistory.settings, UnjournaledHistory.settings])
def test_a_model_that_allows_no_loss_notices_it(settings: Any) -> None:
    class Strict(BookieHistory):
        pass

    Strict.settings = settings
    assert count_failing(Strict, 40, (AssertionError,)) > 20


@pytest.mark.parametrize("make", [BookieHistory, SeveralJournalsHistory, UnsyncedHistory, UnjournaledHistory])
def test_the_model_notices_a_sync_that_does_nothing(make: type[BookieHistory]) -> None:
    assert count_failing(partial(make, syncs_lie=True), 40, (Exception,)) > 10
