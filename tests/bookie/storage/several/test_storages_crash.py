"""Power cuts at every step of a flush of two storages, each in a directory of its own."""

import pytest

from tests.bookie.storage.storages import explicit_lac
from tests.bookie.storage.test_ledger_storage_crash import survive_a_cut
from tests.bookie.storage.test_ledger_storage_model import LEDGERS, Bookie

EVEN, ODD, SCOPED = LEDGERS[0], LEDGERS[1], LEDGERS[3]
SEEDS = 10


def _flushed_once(seed: int) -> Bookie:
    bookie = Bookie(seed, apart=True)
    for ledger_id in (EVEN, ODD):
        bookie.add(ledger_id, 0, [100] * 20)
    assert bookie.flush()
    bookie.add(EVEN, 20, [150] * 30)
    bookie.fence(ODD)
    bookie.set_explicit_lac(ODD, explicit_lac(ODD, 3, 20))
    bookie.add(SCOPED, 0, [150] * 30)
    return bookie


def _flush_steps() -> int:
    bookie = _flushed_once(0)
    bookie.disk.crash_at = 10_000
    assert bookie.flush()
    return 10_000 - bookie.disk.crash_at


@pytest.mark.slow
@pytest.mark.parametrize("step", range(_flush_steps() + 1))
def test_a_power_cut_in_a_flush_loses_nothing(step: int) -> None:
    for seed in range(SEEDS):
        bookie = _flushed_once(seed)
        survive_a_cut(bookie, step, LEDGERS[2])
