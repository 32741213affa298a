from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.db import keys
from bookkeeper_tx.bookie.storage.db.indexes import PUT_COUNT, DbIndexes
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart, StorageFailed
from protocol_specs.fields import NO_ENTRY
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, SCOPED
from tests.bookie.storage.storages import placed

HEADER = IndexHeader(KEY)
CONFIG = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="")


def opened(disk: Disk, directory: str = DIRECTORY) -> DbIndexes:
    indexes = DbIndexes(disk, directory, CONFIG)
    indexes.open()
    return indexes


@pytest.fixture(params=["RocksDB", "its double"])
def indexes(request: pytest.FixtureRequest, disk: CrashingDisk, tmp_path: Path) -> Iterator[DbIndexes]:
    if request.param == "RocksDB":
        pytest.importorskip("rocksdict")
        made = opened(Disk(), str(tmp_path))
    else:
        made = opened(disk)
    yield made
    made.close()


def test_the_locations_of_many_ledgers(indexes: DbIndexes) -> None:
    ledgers = [5, 0, SCOPED, 0x12345]
    written = indexes.write([IndexChange(each, HEADER, [placed(0, 3), placed(5, 2, 9000)], True) for each in ledgers])
    assert [[part[:2] for part in each.parts] for each in written] == [[(0, 0), (0, 5)]] * 4
    assert sorted(indexes.ledger_ids()) == sorted(ledgers)
    for each in ledgers:
        assert indexes.read_header(each) == HEADER
        assert list(indexes.read_page(each, 0, 8)) == [1028, 1062, 1096, 0, 0, 9000, 9034, 0]
        assert list(indexes.read_page(each, 0, 3, 2)) == [1096, 0, 0]
        assert indexes.ranges(each, 0, 9) == [range(3), range(5, 7)]
        assert indexes.last_entry(each) == (6, 9034)
        assert indexes.read_page_at_once(each, 0, 8) is None


def test_the_locations_are_counted(indexes: DbIndexes) -> None:
    assert indexes.estimated_entry_count() == 0
    indexes.write([IndexChange(each, HEADER, [placed(0, 3), placed(5, 2, 9000)], True) for each in (5, SCOPED)])
    assert indexes.estimated_entry_count() == 10


def test_nobody_counts_the_locations_of_databases_that_are_closed(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    indexes = opened(Disk(), str(tmp_path))
    indexes.close()
    assert indexes.estimated_entry_count() is None


def test_a_ledger_may_come_twice(indexes: DbIndexes) -> None:
    parts = [IndexChange(5, HEADER, [placed(0, 3)], True), IndexChange(5, None, [placed(7, 2, 9000)])]
    written = indexes.write(parts)
    assert [[part[:2] for part in each.parts] for each in written] == [[(0, 0)], [(0, 7)]]
    assert indexes.ranges(5, 0, 1) == [range(3), range(7, 9)]


def test_a_run_over_many_pages_and_more_than_one_call(indexes: DbIndexes) -> None:
    count = PUT_COUNT + 3000
    indexes.write([IndexChange(5, HEADER, [placed(1000, count)], True)])
    assert indexes.ranges(5, 0, 20) == [range(1000, 1000 + count)]
    assert indexes.ranges(5, 3, 2) == [range(3 * 1024, 5 * 1024)]
    assert [indexes.next_page(5, page) for page in (0, 1, 7, 11, 12)] == [0, 1, 7, 11, None]
    assert indexes.last_entry(5) == (1000 + count - 1, 1028 + (count - 1) * 34)
    assert list(indexes.read_page(5, 0)) == [0] * 1000 + [1028 + at * 34 for at in range(24)]
    assert list(indexes.read_page(5, 1, 2, 3)) == [1028 + at * 34 for at in (27, 28)]


def test_sparse_pages_are_passed_over(indexes: DbIndexes) -> None:
    indexes.write([IndexChange(5, HEADER, [placed(3, 1), placed(10**9, 1)], True)])
    assert indexes.next_page(5, 1) == 10**9 // 1024
    assert indexes.ranges(5, 1, 1) == []


def test_neighbours_have_nothing_of_a_ledger(indexes: DbIndexes) -> None:
    indexes.write([IndexChange(each, HEADER, [placed(7, 1)], True) for each in (4, 6)])
    assert indexes.read_header(5) is None
    assert indexes.last_entry(5) == (NO_ENTRY, 0)
    assert (indexes.next_page(5, 0), indexes.ranges(5, 0, 99)) == (None, [])
    assert list(indexes.read_page(5, 0, 9)) == [0] * 9


def test_a_state_alone_changes_no_location(indexes: DbIndexes) -> None:
    indexes.write([IndexChange(5, HEADER, [placed(0, 3)], True)])
    fenced = IndexHeader(KEY, True, bytes(15) + b"\x07")
    indexes.write([IndexChange(5, fenced, ())])
    indexes.write([IndexChange(5, None, [placed(1, 1, 77)])])
    assert indexes.read_header(5) == fenced
    assert list(indexes.read_page(5, 0, 3)) == [1028, 77, 1096]


def test_a_ledger_that_is_deleted_has_nothing(indexes: DbIndexes) -> None:
    ledgers = [4, 5, 6, SCOPED, SCOPED + 1]
    indexes.write([IndexChange(each, HEADER, [placed(0, 2000)], True) for each in ledgers])
    indexes.delete([5, SCOPED, 99])
    assert sorted(indexes.ledger_ids()) == [4, 6, SCOPED + 1]
    for each in (5, SCOPED):
        assert indexes.read_header(each) is None
        assert indexes.last_entry(each) == (NO_ENTRY, 0)
    for each in (4, 6, SCOPED + 1):
        assert indexes.ranges(each, 0, 9) == [range(2000)]


def test_what_is_written_is_durable(disk: CrashingDisk) -> None:
    opened(disk).write([IndexChange(each, HEADER, [placed(0, 3)], True) for each in (5, SCOPED)])
    disk.crash()
    disk.restart()
    again = opened(disk)
    assert [again.last_entry(each)[0] for each in (5, SCOPED)] == [2, 2]
    assert [again.read_header(each) for each in (5, SCOPED)] == [HEADER] * 2
    again.delete([5, SCOPED])
    disk.crash()
    disk.restart()
    assert list(opened(disk).ledger_ids()) == []


def test_the_databases_of_other_scopes_are_made_with_their_first_ledger(disk: CrashingDisk) -> None:
    indexes = opened(disk)
    indexes.write([IndexChange(5, HEADER, [placed(0, 3)], True)])
    assert sorted(disk.list_directory(DIRECTORY)) == ["ledgers", "locations"]
    assert indexes.read_header(SCOPED) is None
    indexes.write([IndexChange(SCOPED, HEADER, [placed(0, 3)], True)])
    assert "scopedLocations" in disk.list_directory(DIRECTORY)
    assert sorted(opened(disk).ledger_ids()) == [5, SCOPED]


@pytest.mark.parametrize("missing", ["ledgers", "locations", "scopedLedgers", "scopedLocations"])
@pytest.mark.parametrize("emptied", [False, True])
def test_one_database_without_the_other_is_refused(tmp_path: Path, missing: str, emptied: bool) -> None:
    """It would serve entries as missing.  Each start that is tried is refused, for none makes the missing one."""
    pytest.importorskip("rocksdict")
    indexes = opened(Disk(), str(tmp_path))
    indexes.write([IndexChange(each, HEADER, [placed(0, 3)], True) for each in (5, SCOPED)])
    indexes.close()
    (tmp_path / missing).rename(tmp_path / "aside")
    if emptied:
        (tmp_path / missing).mkdir()
    for _ in range(2):
        with pytest.raises(RefusedToStart, match=f"no database .*/{missing} beside .*: bring it back, or rebuild it"):
            opened(Disk(), str(tmp_path))
    if emptied:
        (tmp_path / missing).rmdir()
    (tmp_path / "aside").rename(tmp_path / missing)
    assert list(opened(Disk(), str(tmp_path)).ledger_ids()) == [5, SCOPED]


def test_the_note_that_a_check_is_needed_is_that_of_java(disk: CrashingDisk) -> None:
    indexes = opened(disk)
    states = disk.open_key_values(f"{DIRECTORY}/ledgers", CONFIG)
    states.put([keys.STORAGE_STATE_KEY], [bytes(8)])
    assert not indexes.needs_integrity_check
    states.put([keys.STORAGE_STATE_KEY], [bytes(7) + b"\3"])
    assert indexes.needs_integrity_check
    indexes.set_needs_integrity_check(False)
    assert states.get(keys.STORAGE_STATE_KEY) == bytes(7) + b"\2"
    indexes.set_needs_integrity_check(True)
    assert states.get(keys.STORAGE_STATE_KEY) == bytes(7) + b"\3"
    assert list(indexes.ledger_ids()) == []


def test_a_database_that_cannot_be_read_has_no_missing_ledgers(disk: CrashingDisk) -> None:
    indexes = opened(disk)
    indexes.write([IndexChange(5, HEADER, [placed(0, 3)], True)])

    class Broken:
        def __getattr__(self, name: str) -> object:
            def fail(*_: object) -> object:
                raise OSError("broken")

            return fail

    object.__setattr__(indexes._plain, "ledgers", Broken())
    object.__setattr__(indexes._plain, "locations", Broken())
    for ask in (
        lambda: indexes.read_header(5),
        lambda: indexes.read_page(5, 0),
        lambda: indexes.ranges(5, 0, 1),
        lambda: indexes.next_page(5, 0),
        lambda: indexes.last_entry(5),
    ):
        with pytest.raises(StorageFailed, match=r"cannot read the .* of ledger 5: broken"):
            ask()


def test_pages_that_are_written_again_are_durable_as_they_are_read(disk: CrashingDisk) -> None:
    indexes = opened(disk)
    indexes.write([IndexChange(5, HEADER, (), True)])
    disk.fail_syncs(1)
    with pytest.raises(OSError, match="Input/output"):
        indexes.write([IndexChange(5, None, [placed(0, 3), placed(1030, 2)])])
    indexes.write_again([(5, 0), (5, 1)])
    disk.crash()
    disk.restart()
    assert opened(disk).ranges(5, 0, 3) == [range(3), range(1030, 1032)]
