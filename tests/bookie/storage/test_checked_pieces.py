from array import array

import pytest

from bookkeeper_tx.bookie.storage.checked_pieces import (
    PIECE_COUNT_MIN,
    PIECE_SIZE_MAX,
    CheckedPieces,
    Piece,
    PieceMaker,
    checksum_of,
)
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, entry, run_of
from tests.bookie.storage.storages import add, flush, new_storage, read
from tests.conftest import result_of

BASE = (3 << 32) + 1028


def pieces_of(*placed: PlacedRun) -> list[Piece]:
    maker = PieceMaker()
    for each in placed:
        maker.add(each, 0, locations_of(each))
    return maker.take()


def locations_of(placed: PlacedRun) -> "array[int]":
    return array("Q", [placed.base + offset for offset in placed.run.offsets[:-1]])


def test_runs_that_lie_together_are_one_piece() -> None:
    first = PlacedRun(run_of(10, *[50] * 40), BASE)
    second = PlacedRun(run_of(50, *[60] * 40), BASE + first.run.size)
    (piece,) = pieces_of(first, second)
    records = first.run.buffer + second.run.buffer
    assert piece == Piece(
        BASE, 80, len(records), checksum_of(records, array("Q", [*locations_of(first), *locations_of(second)]))
    )


@pytest.mark.parametrize(("first_id", "shift"), [(51, 0), (50, 4)], ids=["ids missing", "something between"])
def test_what_does_not_lie_together_is_two(first_id: int, shift: int) -> None:
    first = PlacedRun(run_of(10, *[50] * 64), BASE)
    second = PlacedRun(run_of(first_id + 24 if shift else 75, *[60] * 64), BASE + first.run.size + shift)
    assert [piece.entry_count for piece in pieces_of(first, second)] == [64, 64]


def test_small_and_large_pieces_are_left_out() -> None:
    assert pieces_of(PlacedRun(run_of(0, *[50] * (PIECE_COUNT_MIN - 1)), BASE)) == []
    assert pieces_of(PlacedRun(run_of(0, *[PIECE_SIZE_MAX // 60] * 64), BASE)) == []
    single = [PlacedRun(run_of(at, 50), BASE + 54 * at) for at in range(200)]
    assert pieces_of(*single) == []


def test_the_pieces_flushed_last_are_kept() -> None:
    pieces = CheckedPieces(2)
    pieces.add(Piece(location, 64, 1, 1) for location in (5, 6, 7))
    assert [pieces.get(location) is not None for location in (5, 6, 7)] == [False, True, True]


SIZES = pytest.mark.parametrize(
    "sizes", [[100] * 200, [100 + at % 9 for at in range(200)]], ids=["one size", "many sizes"]
)


def storage_with(disk: CrashingDisk, run: EntryRun) -> LedgerStorage:
    """Return a storage that has flushed ``run``, for a reader that reads much at once from entry 0 on."""
    disk.make_directories(DIRECTORY)
    storage = new_storage(disk, DIRECTORY)
    ledger, _ = storage.open_for(7, KEY)
    add(storage, run)
    flush(storage)
    ledger.next_read_id, ledger.read_ahead_bytes = 0, PIECE_SIZE_MAX
    return storage


@SIZES
def test_a_piece_is_read_whole(sizes: list[int]) -> None:
    run = run_of(0, *sizes)
    found = result_of(storage_with(CrashingDisk(), run).load_run(7, 0))
    assert list(found) == list(run)
    assert isinstance(found.offsets, range) == (len(set(sizes)) == 1)


@SIZES
@pytest.mark.parametrize("at", range(0, 4000, 77))
def test_damage_ends_the_run(sizes: list[int], at: int) -> None:
    disk = CrashingDisk()
    run = run_of(0, *sizes)
    storage = storage_with(disk, run)
    log = disk.open(f"{DIRECTORY}/0.log", writable=True)
    log.write(bytes([log.read(1, 1024 + at)[0] ^ 1]), 1024 + at)
    wrong = next(index for index, end in enumerate(run.offsets[1:]) if end > at)
    for entry_id in range(wrong):
        assert read(storage, 7, entry_id) == entry(entry_id, sizes[entry_id])
    if at - run.offsets[wrong] in range(4, 20):
        with pytest.raises(StorageFailed):
            read(storage, 7, wrong)
