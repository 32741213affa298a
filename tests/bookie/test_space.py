"""bookkeeper_tx.bookie.space: when disks are full, what may be written then, and when they are not any more."""

from typing import Any

import pytest

from bookkeeper_tx.bookie.space import LedgerDisks, Space
from bookkeeper_tx.config import MIB, BookieConfig
from bookkeeper_tx.errors import InvalidConfig

SIZE = 1000
A, B = "/a/current", "/b/current"


def config_of(**settings: Any) -> BookieConfig:
    return BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **settings)


def space_of(**settings: Any) -> Space:
    return Space(config_of(**settings))


def looks(space: Space, *used: int) -> list[tuple[bool, bool]]:
    seen = []
    for each in used:
        space.look(SIZE, SIZE - each)
        seen.append((space.short, space.full))
    return seen


class Disks:
    """Disks of ``SIZE`` bytes, of which as many are used as the test says."""

    def __init__(self) -> None:
        self.used: dict[str, int] = {}

    def total_bytes(self, path: str) -> int:
        return SIZE

    def free_bytes(self, path: str) -> int:
        return SIZE - self.used[path]


class Bench:
    def __init__(self, *directories: str, apart: bool = False, **settings: Any) -> None:
        reserves = {
            "entry_log_free_bytes_min": 20,
            "index_file_free_bytes_min": 10,
            "high_priority_free_bytes_min": 15,
        }
        self.disk: Any = Disks()
        self.disks = LedgerDisks(self.disk, directories, config_of(**reserves | settings), apart)

    def use(self, *used: int) -> LedgerDisks:
        self.disk.used = dict(zip(self.disks.spaces, used, strict=True))
        self.disks.look()
        return self.disks


def test_a_disk_is_short_then_full() -> None:
    assert looks(space_of(), 900, 901, 950, 951, 980, 950) == [
        (False, False),
        (True, False),
        (True, False),
        (True, True),
        (True, True),
        (True, False),
    ]


def test_a_full_disk_is_full_down_to_the_low_water_mark() -> None:
    assert [full for _, full in looks(space_of(disk_usage_low_water=0.8), 951, 801, 800, 949)] == [
        True,
        True,
        False,
        False,
    ]


def test_a_threshold_of_1_is_never_passed() -> None:
    assert looks(space_of(disk_usage_threshold=1), SIZE) == [(True, False)]


def test_a_low_water_mark_above_the_threshold_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="diskUsageLwmThreshold"):
        space_of(disk_usage_low_water=0.96)


@pytest.mark.parametrize(
    ("any_full", "read_only"), [(True, [False, True, True, False]), (False, [False, False, True, False])]
)
def test_one_full_disk_makes_the_bookie_read_only_or_only_all_of_them(any_full: bool, read_only: list[bool]) -> None:
    bench = Bench(A, B, read_only_on_any_disk_full=any_full)
    uses = [(950, 0), (951, 0), (951, 951), (950, 950)]
    assert [bench.use(*used).read_only for used in uses] == read_only
    assert bench.use(951, 0).writable == [B]


def test_each_disk_has_its_own_low_water_mark() -> None:
    bench = Bench(A, B, disk_usage_low_water=0.8)
    assert bench.use(951, 951).writable == []
    assert bench.use(801, 800).writable == [B]
    assert bench.use(800, 801).writable == [A, B]


def test_while_a_disk_is_not_full_it_is_written_and_no_reserve() -> None:
    disks = Bench(A, B).use(999, 950)
    assert disks.for_entry_log() == disks.for_index_file() == [B]
    assert not disks.reserve_used


def test_the_reserves_of_full_disks() -> None:
    bench = Bench(A, B)
    seen = [
        (disks.for_entry_log(), disks.for_index_file(), disks.reserve_used)
        for used in (979, 980, 985, 990)
        for disks in [bench.use(used, 999)]
    ]
    assert seen == [([A], [A], False), ([], [A], False), ([], [A], True), ([], [], True)]


def test_without_a_setting_the_reserve_is_one_entry_log() -> None:
    config = config_of(entry_log_bytes_max=7 * MIB)
    assert config.entry_log_free_bytes_min == config.high_priority_free_bytes_min == 7 * MIB
    assert config_of(entry_log_free_bytes_min=5).high_priority_free_bytes_min == 5


def test_nearly_full_and_full_disks_are_told_of() -> None:
    bench = Bench(A, B)
    assert [bench.use(*used).full for used in ((950, 950), (0, 951), (951, 951))] == [False, True, True]


def test_entries_are_moved_while_one_disk_has_room_for_the_copies() -> None:
    bench = Bench(A, B)
    seen = [
        (disks.takes_copies(many=True), disks.takes_copies(many=False))
        for used in ((901, 900), (901, 901), (951, 950), (951, 951))
        for disks in [bench.use(*used)]
    ]
    assert seen == [(True, True), (False, True), (False, True), (False, False)]


def test_a_disk_that_does_not_tell_hides_no_other() -> None:
    bench = Bench(A, B)

    def free_bytes(path: str) -> int:
        if path == A:
            raise OSError(5, "broken", path)
        return 0

    bench.disk.free_bytes = free_bytes
    with pytest.raises(OSError, match="broken"):
        bench.disks.look()
    assert bench.disks.writable == []
    assert bench.disks.full_directories == {B}
    assert bench.disks.read_only
    bench.disk.free_bytes = lambda path: SIZE
    bench.disks.look()
    assert bench.disks.writable == [A, B]


def test_where_each_has_its_own_storage_one_full_disk_is_enough() -> None:
    bench = Bench("/a", "/b", apart=True, read_only_on_any_disk_full=False)
    assert not bench.use(0, 950).read_only
    disks = bench.use(0, 951)
    assert (disks.read_only, disks.reserve_used) == (True, False)
    assert bench.use(0, SIZE).reserve_used
    assert not Bench("/a", "/b", read_only_on_any_disk_full=False).use(0, SIZE).read_only


def test_those_of_one_directory_know_what_all_know() -> None:
    bench = Bench("/a", "/b", apart=True)
    first, second = (bench.disks.only(directory) for directory in ("/a", "/b"))
    bench.use(0, SIZE)
    assert (first.full, first.writable, first.for_entry_log()) == (False, ["/a"], ["/a"])
    assert (second.full, second.writable, second.for_entry_log(), second.takes_copies(False)) == (True, [], [], False)
    bench.use(SIZE, 0)
    assert (first.full, second.full) == (True, False)
