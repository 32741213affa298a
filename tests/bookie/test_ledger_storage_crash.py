"""Power cuts at every step of a flush."""

import pytest

from tests.bookie.test_ledger_storage_model import LEDGERS, Bookie, explicit_lac


def _flushed_once(seed: int) -> Bookie:
    bookie = Bookie(seed)
    for ledger_id in LEDGERS[:2]:
        bookie.add(ledger_id, 0, [100] * 20)
    assert bookie.flush()
    return bookie


def _changes(bookie: Bookie) -> None:
    bookie.add(LEDGERS[0], 20, [150] * 30)
    bookie.fence(LEDGERS[1])
    bookie.set_explicit_lac(LEDGERS[1], explicit_lac(LEDGERS[1], 3, 20))
    bookie.fence(LEDGERS[2])


def _flush_steps() -> int:
    bookie = _flushed_once(0)
    _changes(bookie)
    bookie.disk.crash_at = 10_000
    assert bookie.flush()
    return 10_000 - bookie.disk.crash_at


@pytest.mark.parametrize("step", range(_flush_steps() + 1))
def test_a_power_cut_in_a_flush_loses_nothing(step: int) -> None:
    for seed in range(25):
        bookie = _flushed_once(seed)
        _changes(bookie)
        bookie.disk.crash_at = step
        bookie.flush()
        for _ in range(2):
            bookie.disk.restart()
            bookie.restart()
            bookie.check()
        bookie.add(LEDGERS[2], 0, [50])
        assert bookie.flush()
        bookie.disk.crash()
        bookie.disk.restart()
        bookie.restart()
        bookie.check()


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
        except Exception:  # An AssertionError of the check, or the storage's own word.
            return True
        return False

    assert any(loses(seed) for seed in range(20))
