"""Only those bits are flipped in files without checksums that a bookie has to notice."""

from random import Random

import pytest

from bookkeeper_tx.bookie.journal.last_mark import LogMark, write_last_mark
from bookkeeper_tx.bookie.journal.records import file_start, seal_pad
from protocol_specs.disk import ledger_index as index
from protocol_specs.disk.last_mark import LAST_MARK
from tests.simulation.world import bit_flips
from tests.simulation.world.bookie_node import JOURNAL, LEDGERS
from tests.simulation.world.disk import FaultyDisk

SALT = b"saltsalt"
FILE = file_start(SALT) + bytes(500) + seal_pad(1024, 1524, 0, SALT)
"""Has groups that end at 1024 and 2048."""


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk(1)
    for directory in (f"{JOURNAL}/current", f"{LEDGERS}/current/0/0"):
        disk.make_directories(directory)
    return disk


def test_groups_end_behind_their_seals() -> None:
    assert bit_flips.ends_of_groups(FILE + bytes(1024)) == {1024, 2048}


@pytest.mark.parametrize(("content", "end"), [(FILE, 1024), (FILE[:1024], 1024), (b"", 1024)])
def test_the_last_group_of_a_journal_stays_as_it_is(disk: FaultyDisk, content: bytes, end: int) -> None:
    disk.create(f"{JOURNAL}/current/4.txn").write(content, 0)
    for seed in range(100):
        chosen = bit_flips.of_log(disk, Random(seed))
        assert chosen is not None
        assert chosen[1] < 8 * end


def test_without_a_log_nothing_is_chosen(disk: FaultyDisk) -> None:
    assert bit_flips.of_log(disk, Random(1)) is None


def test_a_mark_becomes_none_that_might_be(disk: FaultyDisk) -> None:
    for journal_id in (4, 5):
        disk.create(f"{JOURNAL}/current/{journal_id}.txn").write(FILE, 0)
    write_last_mark(disk, [f"{LEDGERS}/current"], LogMark(4, 1024))
    before = disk.content(bit_flips.MARK)
    for seed in range(300):
        chosen = bit_flips.of_mark(disk, Random(seed))
        assert chosen is not None
        disk.flip_bit(*chosen)
        found = LAST_MARK.parse(disk.content(bit_flips.MARK))
        assert (found.journal_id, found.offset) not in [(4, 1024), (5, 1024)]
        disk.flip_bit(*chosen)
        assert disk.content(bit_flips.MARK) == before


def test_a_location_does_not_become_zero(disk: FaultyDisk) -> None:
    path = f"{LEDGERS}/current/0/0/0{index.INDEX_SUFFIX}"
    locations = (1, 1 << 32 | 1024, 0)
    data = index.MAGIC.ljust(index.HEADER_SIZE, b"\1") + b"".join(each.to_bytes(8, "big") for each in locations)
    disk.create(path).write(data, 0)
    for seed in range(100):
        chosen = bit_flips.of_index(disk, Random(seed))
        assert chosen is not None
        disk.flip_bit(*chosen)
        assert disk.content(path)[4 : index.HEADER_SIZE + 8] == data[4 : index.HEADER_SIZE + 8]
        assert disk.content(path)[index.HEADER_SIZE + 16 :] == data[index.HEADER_SIZE + 16 :]
        assert disk.content(path)[index.HEADER_SIZE + 8 : index.HEADER_SIZE + 16] != bytes(8)
        disk.flip_bit(*chosen)


def test_where_there_is_nothing_no_bit_is_flipped(disk: FaultyDisk) -> None:
    assert (bit_flips.of_mark(disk, Random(1)), bit_flips.of_index(disk, Random(1))) == (None, None)


@pytest.mark.parametrize(("mark", "behind"), [((4, 2048), False), ((4, 2560), True), ((5, 1024), True)])
def test_a_mark_may_be_behind_a_journal(mark: tuple[int, int], behind: bool) -> None:
    data = LAST_MARK.build({"journal_id": mark[0], "offset": mark[1]})
    assert bit_flips.is_behind(data, {f"{JOURNAL}/current/4.txn": FILE + bytes(4096)}) is behind


def test_a_journal_may_go_on_behind_a_mark() -> None:
    files = {f"{JOURNAL}/current/4.txn": FILE, f"{JOURNAL}/current/5.txn": file_start(SALT)}
    marks = [LAST_MARK.build({"journal_id": 4, "offset": offset}) for offset in (1024, 2048)]
    assert [bit_flips.goes_on(mark, files) for mark in marks] == [True, False]
    files[f"{JOURNAL}/current/5.txn"] = FILE
    assert bit_flips.goes_on(marks[1], files)
