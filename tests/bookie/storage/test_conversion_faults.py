"""bookkeeper_tx.bookie.storage.conversion on disks that fail: killed, without power, full, broken, at any step.

Afterwards a bookie with the one class of storage has all that there was, or the conversion is to be begun again and no
bookie starts until it has ended.
"""

import errno
from collections.abc import Iterator
from random import Random

import pytest

from bookkeeper_tx.bookie.storage import conversion
from bookkeeper_tx.bookie.storage.conversion import INDEX_FILES, ROCKSDB
from bookkeeper_tx.errors import RefusedToStart, StorageFailed
from tests.bookie.crashing_disk import Crashed, CrashingDisk
from tests.bookie.storage.converted_bookie import LAYOUTS, ConvertedBookie
from tests.sampling import one_in, stride

FAILURES = (OSError, StorageFailed, RefusedToStart)
FOREVER = 10**6
APART = 2
"""So many times as far apart as elsewhere are the steps of the plain run: each takes two conversions or three."""

CASES = {f"{layout.name} to {to}": (layout, to) for layout in LAYOUTS for to in (ROCKSDB, INDEX_FILES)}


@pytest.fixture(scope="module", params=one_in(3, CASES, first=1))
def bookie(request: pytest.FixtureRequest) -> ConvertedBookie:
    return ConvertedBookie(*CASES[request.param])


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "BATCH_PAGES", 3)


def steps(bookie: ConvertedBookie, first: int) -> Iterator[int]:
    """Return the steps of a conversion, from the ``first`` on in the plain run; it may have more at another time."""
    disk = bookie.disk(0)
    disk.crash_at = FOREVER
    bookie.convert(disk)
    count = FOREVER - disk.crash_at
    assert count > 40
    apart = stride() if stride() == 1 else stride() * APART
    yield from range(first % apart, count, apart)


def attempt(bookie: ConvertedBookie, disk: CrashingDisk) -> bool:
    """Convert until something fails, which ends the process; return whether to go on when all is mended."""
    try:
        bookie.convert(disk)
    except Crashed:
        pass
    except FAILURES:
        disk.kill()
    if disk.crashed:
        disk.restart()
    disk.crash_at = None
    disk.fail_from(0, 0)
    return bookie.check_after_fault(disk)


@pytest.mark.parametrize("cuts_power", [True, False])
def test_an_interrupted_one_goes_on_also_when_that_is_interrupted(bookie: ConvertedBookie, cuts_power: bool) -> None:
    for step in steps(bookie, 3 + 10 * cuts_power):
        disk, random = bookie.disk(step), Random(step)
        disk.crash_at, disk.cuts_power = step, cuts_power
        if attempt(bookie, disk):
            disk.crash_at, disk.cuts_power = random.randrange(100), not cuts_power or random.random() < 0.5
            if attempt(bookie, disk):
                bookie.convert(disk)
        bookie.check_end(disk)


@pytest.mark.parametrize(
    ("error", "count"), one_in(2, [(errno.EIO, 1), (errno.EIO, FOREVER), (errno.ENOSPC, 1), (errno.ENOSPC, FOREVER)])
)
def test_an_error_ends_it_and_it_goes_on_without(bookie: ConvertedBookie, error: int, count: int) -> None:
    for step in steps(bookie, 7 * error):
        disk = bookie.disk(step)
        disk.fail_from(step, count, error)
        if attempt(bookie, disk):
            bookie.convert(disk)
        bookie.check_end(disk)


def test_on_a_full_disk_it_ends_and_goes_on_when_there_is_room(bookie: ConvertedBookie) -> None:
    disk = bookie.disk(0)
    disk.capacity = before = 2**39
    bookie.convert(disk)
    used = before - disk.capacity
    for capacity in range(0, max(used, 2000), 23 * stride() * stride()):
        disk = bookie.disk(capacity)
        disk.capacity = capacity
        try:
            bookie.convert(disk)
        except FAILURES:
            disk.kill()
            disk.restart()
        disk.capacity = None
        if bookie.check_after_fault(disk):
            bookie.convert(disk)
        bookie.check_end(disk)
