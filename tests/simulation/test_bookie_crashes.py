"""The replies of a bookie are still true after every power failure."""

from functools import partial

import pytest

from tests.simulation.bookie_history import BookieHistory
from tests.simulation.histories import count_failing, run_all

pytestmark = pytest.mark.crash

HISTORIES = 250


def test_what_clients_were_told_is_true_after_every_crash() -> None:
    histories = run_all(BookieHistory, HISTORIES)
    assert sum(history.crashes for history in histories) >= 1000
    assert sum(history.acknowledged_count for history in histories) > 20_000
    assert sum(history.fence_count for history in histories) > 300
    assert sum(history.forced_count for history in histories) > 1000


def test_the_model_notices_a_sync_that_does_nothing() -> None:
    assert count_failing(partial(BookieHistory, syncs_lie=True), 40, (Exception,)) > 10
