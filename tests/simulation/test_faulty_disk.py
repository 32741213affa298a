"""The disk of the simulated world: what its faults take away comes back."""

import errno
from collections.abc import Callable

import pytest

from tests.bookie.crashing_disk import Crashed
from tests.bookie.test_key_values import CONFIG
from tests.simulation.world.disk import FaultyDisk


def test_a_disk_that_is_read_only_can_be_read() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/data")
    file = disk.create("/data/file")
    file.write(b"abc", 0)
    disk.read_only = True
    assert disk.open("/data/file").read(3, 0) == b"abc"
    for write in (
        lambda: file.write(b"x", 0),
        lambda: disk.create("/data/other"),
        lambda: disk.open("/data/file", writable=True),
        lambda: disk.remove("/data/file"),
        lambda: disk.rename("/data/file", "/data/new"),
    ):
        with pytest.raises(OSError, match="Read-only") as refused:
            write()
        assert refused.value.errno == errno.EROFS


def test_an_unmounted_disk_has_its_files_when_it_is_mounted_again() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/data")
    file = disk.create("/data/file")
    disk.unmount()
    with pytest.raises(FileNotFoundError):
        disk.open("/data/file")
    with pytest.raises(FileNotFoundError):
        disk.create("/data/other")
    file.write(b"abc", 0)
    disk.mount()
    assert disk.open("/data/file").read(3, 0) == b"abc"


def test_a_power_failure_ends_an_unmount() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/data")
    disk.create("/data/file").sync()
    disk.sync_directory("/data")
    disk.unmount()
    disk.crash()
    disk.restart()
    assert disk.paths() == ["/data/file"]


@pytest.mark.parametrize(
    ("lose", "lost", "kept"),
    [
        (lambda disk: disk.unmount("/ledgers"), "/ledgers/1.idx", "/journal/1.txn"),
        (lambda disk: disk.move_indexes_away(), "/ledgers/1.idx", "/ledgers/0.log"),
    ],
    ids=["one file system", "index files"],
)
def test_what_is_gone_comes_back_and_the_rest_stays(lose: Callable[[FaultyDisk], None], lost: str, kept: str) -> None:
    disk = FaultyDisk(1)
    for directory, name in (("/ledgers", "1.idx"), ("/ledgers", "0.log"), ("/journal", "1.txn")):
        disk.make_directories(directory)
        disk.create(f"{directory}/{name}")
    before = sorted(disk.paths())
    lose(disk)
    assert not disk.exists(lost)
    assert disk.exists(kept)
    assert disk.exists("/ledgers")
    disk.mount()
    assert sorted(disk.paths()) == before


def test_what_is_made_where_nothing_is_mounted_is_not_seen_later() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/ledgers")
    disk.unmount("/ledgers")
    disk.create("/ledgers/other")
    disk.mount()
    assert not disk.exists("/ledgers/other")


def test_an_index_that_is_made_while_others_are_away_stays() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/ledgers")
    disk.create("/ledgers/1.idx")
    disk.move_indexes_away()
    disk.create("/ledgers/2.idx")
    disk.mount()
    assert sorted(disk.paths()) == ["/ledgers/1.idx", "/ledgers/2.idx"]


def test_reads_that_fail_do_so_for_a_while_and_nothing_is_in_memory() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/ledgers")
    file = disk.create("/ledgers/0.log")
    file.write(b"abc", 0)
    database = disk.open_key_values("/ledgers/locations", CONFIG)
    database.put([b"a"], [b"1"])
    disk.fail_reads(7)
    assert disk.is_whole
    assert file.read_cached(3, 0) is None
    for ask in (
        lambda: file.read(3, 0),
        lambda: disk.read("/ledgers/0.log"),
        lambda: database.get(b"a"),
        lambda: database.values(b"a", b"b", 1),
        lambda: database.next_key(b"a", b"b"),
        lambda: database.last_item(b"a", b"b"),
        database.keys,
    ):
        with pytest.raises(OSError, match="Input/output"):
            ask()
    assert (file.read(3, 0), file.read_cached(3, 0), database.get(b"a")) == (b"abc", b"abc", b"1")
    assert not disk.is_whole


@pytest.mark.parametrize("lose", [lambda disk: disk.unmount("/ledgers"), FaultyDisk.move_indexes_away])
def test_a_database_that_is_gone_gives_no_answer_until_it_comes_back(lose: Callable[[FaultyDisk], None]) -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/ledgers")
    database = disk.open_key_values("/ledgers/locations", CONFIG)
    database.put([b"a"], [b"1"])
    lose(disk)
    assert not disk.exists("/ledgers/locations")
    for ask in (lambda: database.get(b"a"), lambda: database.put([b"b"], [b"2"]), database.sync):
        with pytest.raises(OSError, match="Input/output"):
            ask()
    disk.mount()
    assert (database.get(b"a"), database.get(b"b")) == (b"1", None)


def test_a_killed_process_leaves_what_it_has_put_into_a_database() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/ledgers")
    before = disk.open_key_values("/ledgers/locations", CONFIG)
    before.put([b"a"], [b"1"])
    disk.process_ended()
    with pytest.raises(Crashed):
        before.get(b"a")
    assert disk.open_key_values("/ledgers/locations", CONFIG).get(b"a") == b"1"


def test_one_of_two_file_systems_is_rolled_back_with_its_databases() -> None:
    disk = FaultyDisk(1)
    for directory in ("/ledgers/current", "/journal/current"):
        disk.make_directories(directory)
    before = disk.create("/ledgers/current/0.log")
    before.write(b"old", 0)
    journal = disk.create("/journal/current/1.txn")
    database = disk.open_key_values("/ledgers/current/locations", CONFIG)
    database.put([b"a"], [b"1"])
    snapshot = disk.snapshot("/ledgers")
    before.write(b"new", 0)
    disk.create("/ledgers/current/1.log")
    journal.write(b"new", 0)
    database.put([b"b"], [b"2"])
    disk.open_key_values("/ledgers/current/states", CONFIG)
    disk.process_ended()
    for _ in range(2):
        disk.roll_back("/ledgers", snapshot)
        assert sorted(disk.paths()) == ["/journal/current/1.txn", "/ledgers/current/0.log"]
        assert (disk.content("/ledgers/current/0.log"), disk.content("/journal/current/1.txn")) == (b"old", b"new")
        assert list(disk.open_key_values("/ledgers/current/locations", CONFIG).keys()) == [b"a"]
        assert not disk.exists("/ledgers/current/states")
        disk.create("/ledgers/current/2.log").write(b"x", 0)
    disk.roll_back("/ledgers", snapshot)
    disk.crash()
    disk.restart()
    assert disk.content("/ledgers/current/0.log") == b"old"


def test_nothing_is_in_a_snapshot_of_what_is_not_mounted() -> None:
    disk = FaultyDisk(1)
    disk.make_directories("/ledgers")
    disk.create("/ledgers/0.log")
    assert disk.snapshot("/ledgers")[0]
    disk.unmount("/ledgers")
    assert not disk.snapshot("/ledgers")[0]
