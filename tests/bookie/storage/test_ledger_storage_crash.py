"""Power cuts at every step of a flush."""

from collections.abc import Sequence

import pytest

from tests.bookie.storage.storages import explicit_lac
from tests.bookie.storage.test_ledger_storage_model import LEDGERS, Bookie
from tests.sampling import one_in

pytestmark = pytest.mark.usefixtures("ledger_storage_class")

SCOPES = {"scope 0": LEDGERS[:3], "mixed": [LEDGERS[3], LEDGERS[0], LEDGERS[4]]}


def _flushed_once(seed: int, ledgers: Sequence[int] = LEDGERS) -> Bookie:
    bookie = Bookie(seed)
    for ledger_id in ledgers[:2]:
        bookie.add(ledger_id, 0, [100] * 20)
    assert bookie.flush()
    return bookie


def _changes(bookie: Bookie, ledgers: Sequence[int] = LEDGERS) -> None:
    bookie.add(ledgers[0], 20, [150] * 30)
    bookie.fence(ledgers[1])
    bookie.set_explicit_lac(ledgers[1], explicit_lac(ledgers[1], 3, 20))
    bookie.fence(ledgers[2])


def _flush_steps(ledgers: Sequence[int]) -> int:
    bookie = _flushed_once(0, ledgers)
    _changes(bookie, ledgers)
    bookie.disk.crash_at = 10_000
    assert bookie.flush()
    return 10_000 - bookie.disk.crash_at


def survive_a_cut(bookie: Bookie, step: int, ledger_id: int) -> None:
    """Cut the power in a flush, and again after the next one, of an entry of one more ledger."""
    bookie.disk.crash_at = step
    bookie.flush()
    for _ in range(2):
        bookie.disk.restart()
        bookie.restart()
        bookie.check()
    bookie.add(ledger_id, 0, [50])
    assert bookie.flush()
    bookie.disk.crash()
    bookie.disk.restart()
    bookie.restart()
    bookie.check()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scopes", "step"),
    one_in(3, [(scopes, step) for scopes in SCOPES for step in range(_flush_steps(SCOPES[scopes]) + 1)]),
)
def test_a_power_cut_in_a_flush_loses_nothing(scopes: str, step: int) -> None:
    ledgers = SCOPES[scopes]
    for seed in range(25):
        bookie = _flushed_once(seed, ledgers)
        _changes(bookie, ledgers)
        survive_a_cut(bookie, step, ledgers[2])


def test_without_syncs_something_gets_lost() -> None:
    def loses(seed: int) -> bool:
        bookie = _flushed_once(seed)
        bookie.disk.syncs_lie = True
        _changes(bookie)
        assert bookie.flush()
        bookie.disk.crash()
        bookie.disk.restart()
        try:
            bookie.restart()
            bookie.check()
        except Exception:  # an AssertionError of the check, or an error of the storage
            return True
        return False

    assert any(loses(seed) for seed in range(20))
