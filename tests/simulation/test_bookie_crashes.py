"""The replies of a bookie are still true after every power failure."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from twisted.internet.defer import succeed

from bookkeeper_tx.bookie.bookie import Bookie
from bookkeeper_tx.bookie.garbage.absent_ledgers import AbsentLedgers
from bookkeeper_tx.bookie.storage.deleted_ledgers import DeletedLedgers
from bookkeeper_tx.bookie.storage.entry_mover import EntryMover, Moved
from compat_tests.targets.pytest_plugin import is_full
from tests.sampling import one_in, only
from tests.simulation.bookie_history import BookieHistory
from tests.simulation.db_history import DbHistory
from tests.simulation.histories import count_failing, run_all
from tests.simulation.lazy_histories import UnjournaledHistory, UnsyncedHistory
from tests.simulation.several_db_directories import SeveralDbDirectoriesHistory
from tests.simulation.several_directories import SeveralDirectoriesHistory
from tests.simulation.several_journals import SeveralJournalsHistory

pytestmark = pytest.mark.crash

HISTORIES, HISTORIES_OF_FULL = 30, 250
LAZY_HISTORIES = 60


@pytest.mark.parametrize(
    "make",
    [BookieHistory, DbHistory, SeveralJournalsHistory, SeveralDirectoriesHistory, SeveralDbDirectoriesHistory],
)
def test_what_clients_were_told_is_true_after_every_crash(
    make: type[BookieHistory], pytestconfig: pytest.Config
) -> None:
    count = HISTORIES_OF_FULL if is_full(pytestconfig) else HISTORIES
    histories = run_all(make, count)
    assert sum(history.crashes for history in histories) >= 4 * count
    assert sum(history.acknowledged_count for history in histories) > 80 * count
    assert sum(history.fence_count for history in histories) > count
    assert sum(history.forced_count for history in histories) > 4 * count
    assert sum(history.collected_count for history in histories) > count
    assert sum(history.counts.moved for history in histories) > 40 * count
    assert sum(history.counts.logs for history in histories) > 4 * count


@pytest.mark.parametrize("make", only(UnjournaledHistory, [UnsyncedHistory, UnjournaledHistory]))
def test_what_the_configuration_lets_a_crash_lose_is_lost_and_nothing_else(
    make: type[UnsyncedHistory] | type[UnjournaledHistory],
) -> None:
    histories = run_all(make, LAZY_HISTORIES)
    assert sum(history.acknowledged_count for history in histories) > 80 * LAZY_HISTORIES
    assert sum(history.fence_count for history in histories) > LAZY_HISTORIES
    assert sum(history.lost_count for history in histories) > 5 * LAZY_HISTORIES


@pytest.mark.parametrize("settings", [UnsyncedHistory.settings, UnjournaledHistory.settings])
def test_a_model_that_allows_no_loss_notices_it(settings: Any) -> None:
    class Strict(BookieHistory):
        pass

    Strict.settings = settings
    assert count_failing(Strict, 40, (AssertionError,)) > 20


@pytest.mark.parametrize(
    "make",
    [
        BookieHistory,
        DbHistory,
        SeveralJournalsHistory,
        SeveralDirectoriesHistory,
        SeveralDbDirectoriesHistory,
        UnsyncedHistory,
        UnjournaledHistory,
    ],
)
def test_the_model_notices_a_sync_that_does_nothing(make: type[BookieHistory]) -> None:
    assert count_failing(partial(make, syncs_lie=True), 40, (Exception,)) > 10


def _move_nothing(mover: EntryMover, found: Any, is_here: Any) -> Moved:
    return Moved(0, 0, (), ())


def _no_ledger(absent: AbsentLedgers, ledger_id: int) -> bool:
    return False


@pytest.mark.parametrize(
    ("where", "name", "instead"),
    one_in(
        4,
        [
            (Bookie, "_journal_deleted", lambda self, ledger_ids: succeed(True)),
            (EntryMover, "move", _move_nothing),
            (DeletedLedgers, "add", lambda self, ledger_ids: None),
            (AbsentLedgers, "is_here", _no_ledger),
        ],
        first=1,
    ),
    ids=["no record of a deletion", "no copies", "no file of fenced ledgers", "no ledger counts as alive"],
)
def test_the_model_notices_a_collection_without(
    monkeypatch: pytest.MonkeyPatch, where: type[Any], name: str, instead: Callable[..., Any]
) -> None:
    monkeypatch.setattr(where, name, instead)
    assert count_failing(BookieHistory, 60, (Exception,)) > 0
