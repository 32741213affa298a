"""RocksDB on real files: what Java can open, what is damaged, what is not ours to open."""

import errno
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.key_values import DAMAGED
from bookkeeper_tx.bookie.rocks_db import RocksDb
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.test_key_values import CONFIG, END

rocksdict = pytest.importorskip("rocksdict")

KEYS = [at.to_bytes(3, "big") for at in range(30_000)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database whose keys are all in table files."""
    path = tmp_path / "db"
    db = RocksDb(str(path), evolve(CONFIG, rocksdb_block_bytes=4096))
    db.put(KEYS, KEYS)
    db.sync()
    db.close()
    return path


def options_of(path: Path) -> str:
    return max(path.glob("OPTIONS-*")).read_text()


def test_table_files_have_the_format_that_all_releases_of_java_read(path: Path) -> None:
    for _ in range(2):
        options = options_of(path)
        assert "format_version=5" in options
        assert "checksum=kxxHash\n" in options
        assert "block_size=4096" in options
        assert "max_open_files=128" in options
        RocksDb(str(path), evolve(CONFIG, rocksdb_block_bytes=4096)).close()


def test_the_options_are_ours_whoever_has_made_the_files(path: Path) -> None:
    options = rocksdict.Options(raw_mode=True)
    table = rocksdict.BlockBasedOptions()
    table.set_format_version(6)
    options.set_block_based_table_factory(table)
    rocksdict.Rdict(str(path), options, {"default": options}).close()
    assert "format_version=6" in options_of(path)
    RocksDb(str(path), CONFIG).close()
    assert "format_version=5" in options_of(path)


def test_nobody_else_may_read_the_files(path: Path) -> None:
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6])
def test_what_is_damaged_is_not_taken_for_missing(path: Path, at: float) -> None:
    (table,) = path.glob("*.sst")
    data = bytearray(table.read_bytes())
    start = int(len(data) * at)
    data[start : start + 2000] = bytes(each ^ 0x5A for each in data[start : start + 2000])
    table.write_bytes(data)
    try:
        db = RocksDb(str(path), CONFIG)
    except RefusedToStart:
        return
    with pytest.raises(OSError, match="RocksDB") as caught:
        assert db.items(KEYS[0], END, len(KEYS) + 1) == "not read"
    assert caught.value.errno == DAMAGED
    with pytest.raises(OSError, match="RocksDB"):
        db.values(KEYS[0], END, len(KEYS))
    with pytest.raises(OSError, match="RocksDB"):
        list(db.keys())
    for ask in (
        lambda key: db.next_key(key, END),
        lambda key: (db.last_item(KEYS[0], key + b"\0") or b"?")[0],
        db.get,
    ):
        with pytest.raises(OSError, match="RocksDB"):
            assert [ask(key) for key in KEYS[::50]] == KEYS[::50]


def test_a_database_that_another_one_has_open_is_refused(path: Path) -> None:
    db = RocksDb(str(path), CONFIG)
    with pytest.raises(RefusedToStart, match="open in another process: stop the bookie"):
        RocksDb(str(path), CONFIG)
    db.close()


def test_a_database_that_cannot_be_opened_says_who_has_written_it_and_what_to_do(path: Path) -> None:
    (path / "CURRENT").write_text("MANIFEST-000099\n")
    options = max(path.glob("OPTIONS-*"))
    options.write_text(options.read_text().replace("rocksdb_version=", "rocksdb_version=99."))
    with pytest.raises(RefusedToStart) as caught:
        RocksDb(str(path), CONFIG)
    text = str(caught.value)
    assert text.startswith(f"the RocksDB in {path} cannot be opened: ")
    assert "RocksDB 99." in text
    assert "dbStorage_rocksDB_format_version=5" in text


def test_it_goes_on_after_a_write_that_failed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = RocksDb(str(path), CONFIG)

    class Failing:
        def __getattr__(self, name: str) -> object:
            raise Exception("IO error: No space left on device: while appending to file")

        def close(self) -> None:
            inner.close()

    inner, db._db = db._db, Failing()
    with pytest.raises(OSError, match="No space") as caught:
        db.put([b"a"], [b"1"])
    assert caught.value.errno == errno.ENOSPC
    db.put([b"a"], [b"1"])
    db.sync()
    assert db.get(b"a") == b"1"
    assert db.get(KEYS[77]) == KEYS[77]
    db.close()


class Mounted:
    """A file system that may take no writes, or have no room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flags, self.free_blocks = 0, 1 << 20
        real = os.statvfs

        def statvfs(path: str) -> os.statvfs_result:
            found = list(real(path))
            found[4], found[8] = self.free_blocks, self.flags
            return os.statvfs_result(found)

        monkeypatch.setattr(os, "statvfs", statvfs)


def refused_change(db: RocksDb) -> int | None:
    """Return the number of the error with which a change is refused."""
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number is looked at
        db.put([b"a"], [b"1"])
    return caught.value.errno


def test_where_nothing_can_be_written_it_is_read_and_it_is_written_once_it_can_be(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Mounted(monkeypatch)
    disk.flags = os.ST_RDONLY
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    db = RocksDb(str(path), CONFIG)
    for change in (db.sync, db.compact, lambda: db.put([b"a"], [b"1"])):
        with pytest.raises(OSError, match="Read-only file system"):
            change()
    assert db.get(KEYS[77]) == KEYS[77]
    assert {each.name: each.read_bytes() for each in path.iterdir()} == before
    disk.flags, disk.free_blocks = 0, 1
    assert refused_change(db) == errno.ENOSPC
    assert db.values(KEYS[0], END, len(KEYS)) == KEYS
    disk.free_blocks = 1 << 20
    db.put([b"a"], [b"1"])
    db.sync()
    assert (db.get(b"a"), db.get(KEYS[77])) == (b"1", KEYS[77])
    db.close()
    again = RocksDb(str(path), CONFIG)
    assert again.get(b"a") == b"1"
    again.close()


@pytest.mark.parametrize("error", ["No space left on device", "Read-only file system"])
def test_a_disk_that_takes_nothing_more_after_a_write_that_failed_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    class Binding:
        """Lets nothing be written."""

        def __getattr__(self, name: str) -> object:
            return getattr(rocksdict, name)

        def Rdict(self, path: str, *arguments: object) -> object:
            if len(arguments) < 3:
                raise Exception(f"IO error: {error}: While appending to file")
            return rocksdict.Rdict(path, *arguments)

    monkeypatch.setattr("bookkeeper_tx.bookie.rocks_db_opening.AGAIN_S", 0)
    db = RocksDb(str(path), CONFIG)
    db._opening.binding = Binding()

    class Failing:
        def write(self, *_: object) -> None:
            raise Exception(f"IO error: {error}: while appending to file")

        def close(self) -> None:
            inner.close()

    inner, db._db = db._db, Failing()
    number = {os.strerror(each): each for each in (errno.ENOSPC, errno.EROFS)}[error]
    for _ in range(2):
        assert refused_change(db) == number
        assert db.get(KEYS[77]) == KEYS[77]
    db._opening.binding = rocksdict
    db.put([b"a"], [b"1"])
    db.sync()
    assert db.get(b"a") == b"1"
    db.close()


def test_one_that_has_vanished_while_it_was_read_is_not_made_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disk = Mounted(monkeypatch)
    disk.flags = os.ST_RDONLY
    db = RocksDb(str(path), CONFIG)
    disk.flags = 0
    path.rename(tmp_path / "away")
    for _ in range(2):
        assert refused_change(db) == DAMAGED
        path.mkdir(exist_ok=True)
    assert not list(path.iterdir())
    path.rmdir()
    (tmp_path / "away").rename(path)
    db.put([b"a"], [b"1"])
    assert (db.get(b"a"), db.get(KEYS[77])) == (b"1", KEYS[77])
    db.close()


def test_without_room_for_temporary_files_it_is_read_by_links_in_shared_memory(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Mounted(monkeypatch).flags = os.ST_RDONLY
    memory = tmp_path / "shm"
    memory.mkdir()
    monkeypatch.setattr("bookkeeper_tx.bookie.rocks_db_opening.SHARED_MEMORY", str(memory))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "nowhere")])
    db = RocksDb(str(path), CONFIG)
    assert db.get(KEYS[77]) == KEYS[77]
    assert list(memory.iterdir())
    db.close()
    assert not list(memory.iterdir())


def test_one_that_was_closed_while_it_was_read_stays_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Mounted(monkeypatch)
    disk.flags = os.ST_RDONLY
    db = RocksDb(str(path), CONFIG)
    disk.flags = 0
    db.close()
    for _ in range(2):
        with pytest.raises(OSError, match="closed"):
            db.put([b"a"], [b"1"])
        with pytest.raises(OSError, match="closed"):
            db.get(KEYS[77])


def test_a_path_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "install, closed, lock"
    db = RocksDb(str(path), CONFIG)
    db.close()

    class Full:
        def write(self, *_: object) -> None:
            raise Exception(f"IO error: No space left on device: While appending to file: {path}/000004.log")

        def close(self) -> None:
            pass

    db = RocksDb(str(path), CONFIG)
    inner, db._db = db._db, Full()
    assert refused_change(db) == errno.ENOSPC
    inner.close()
    table = path / "CURRENT"
    table.write_bytes(b"x")
    with pytest.raises(RefusedToStart) as caught:
        RocksDb(str(path), CONFIG)
    assert "open in another process" not in str(caught.value)


def test_one_that_cannot_be_made_says_that_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Mounted(monkeypatch).flags = os.ST_RDONLY
    (tmp_path / "db").mkdir()
    with pytest.raises(RefusedToStart, match=r"Read-only file system.*: it needs room, and files that can be written"):
        RocksDb(str(tmp_path / "db"), CONFIG)


def test_what_was_opened_for_reading_only_is_never_written(path: Path) -> None:
    db = RocksDb(str(path), CONFIG, reading_only=True)
    assert refused_change(db) == errno.EROFS
    assert db.get(KEYS[77]) == KEYS[77]
    db.close()


def test_a_write_that_would_be_held_up_is_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookkeeper_tx.bookie.rocks_db.STALL_S", 0)
    db = RocksDb(str(path), CONFIG)
    stalls = 3

    class Stalling:
        def write(self, batch: object, options: object) -> None:
            nonlocal stalls
            if stalls:
                stalls -= 1
                raise Exception("Result incomplete: Write stall")
            inner.write(batch, options)

        def __getattr__(self, name: str) -> object:
            return getattr(inner, name)

    inner, db._db = db._db, Stalling()
    db.put([b"a", b"b"], [b"1", b"2"])
    assert (stalls, db.get(b"a"), db.get(b"b")) == (0, b"1", b"2")
    db.close()


def test_the_binding_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rocksdict", None)
    with pytest.raises(RefusedToStart, match=r"pip install 'bookkeeper_tx\[rocksdb\]'"):
        RocksDb(str(tmp_path), CONFIG)


def size_of(path: Path) -> int:
    return sum(each.stat().st_size for each in path.glob("*.sst"))


def test_a_compaction_leaves_no_bytes_of_what_was_deleted(path: Path) -> None:
    db = RocksDb(str(path), CONFIG)
    before = size_of(path)
    db.delete_ranges([(KEYS[0], KEYS[-1])])
    db.compact()
    assert list(db.keys()) == KEYS[-1:]
    db.close()
    assert size_of(path) < before / 10


def test_a_compaction_without_room_for_it_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = RocksDb(str(path), CONFIG)
    room = (size_of(path) - 1) // 512
    full = os.statvfs_result((4096, 512, 1000, 1000, room, 0, 0, 0, 0, 255))
    with monkeypatch.context() as patched:
        patched.setattr(os, "statvfs", lambda _: full)
        with pytest.raises(OSError, match="a compaction may need") as caught:
            db.compact()
    assert caught.value.errno == errno.ENOSPC
    db.compact()
    db.close()


def test_a_database_that_is_being_compacted_can_be_closed(path: Path) -> None:
    db = RocksDb(str(path), evolve(CONFIG, rocksdb_write_buffer_bytes=65536))
    for at in range(0, len(KEYS), 3000):
        db.put(KEYS[at : at + 3000], [os.urandom(100) for _ in range(3000)])
    compaction = threading.Thread(target=db.compact)
    compaction.start()
    db.close()
    compaction.join()
    db = RocksDb(str(path), CONFIG)
    assert list(db.keys()) == KEYS
    db.close()


def test_a_close_ends_what_another_thread_does(path: Path) -> None:
    db = RocksDb(str(path), CONFIG)
    inner = db._db
    calls: list[object] = []

    class Borrowed:
        """The binding while a compaction runs in it."""

        def close(self) -> None:
            calls.append("close")
            if len(calls) < 4:
                raise RuntimeError("Already borrowed")
            inner.cancel_all_background(False)
            inner.close()

        def cancel_all_background(self, wait: bool) -> None:
            calls.append(wait)

    db._db = Borrowed()
    db.close()
    assert calls == ["close", False, "close", False, "close"]
    RocksDb(str(path), CONFIG).close()


def test_a_database_whose_files_are_away_is_not_made_anew(tmp_path: Path) -> None:
    mounted, away = tmp_path / "mounted", tmp_path / "away"
    mounted.mkdir()
    db = RocksDb(str(mounted / "db"), evolve(CONFIG, rocksdb_write_buffer_bytes=65536))
    db.put([b"a"], [b"1"])
    db.sync()
    mounted.rename(away)
    with pytest.raises(OSError, match="No such file"):  # as soon as it begins another file
        db.put(KEYS, [bytes(100)] * len(KEYS))
    assert not mounted.exists()
    for _ in range(2):
        with pytest.raises(OSError, match="closed"):
            db.get(b"a")
        with pytest.raises(OSError, match="closed"):
            db.put([b"b"], [b"2"])
    away.rename(mounted)
    with pytest.raises(OSError, match="closed"):
        db.put([b"b"], [b"2"])
    db.put([b"b"], [b"2"])
    db.sync()
    assert (db.get(b"a"), db.get(b"b")) == (b"1", b"2")
    db.close()


WITHOUT_DESCRIPTORS = """
import os, resource, sys
from attrs import evolve
from bookkeeper_tx.bookie.disk import out_of_descriptors
from bookkeeper_tx.bookie.rocks_db import RocksDb
from bookkeeper_tx.config import BookieConfig

config = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="")
small = {"rocksdb_write_buffer_bytes": 65536, "rocksdb_table_bytes": 16384, "open_index_files_max": 4}
db = RocksDb(sys.argv[1], evolve(config, **small))
keys = [at.to_bytes(3, "big") for at in range(20_000)]
for at in range(0, len(keys), 1000):
    db.put(keys[at : at + 1000], [os.urandom(100) for _ in range(1000)])
db.compact()
lowest = os.open("/", os.O_RDONLY)
os.close(lowest)
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
try:
    for key in keys[::20]:
        db.get(key)
except OSError as error:
    print(out_of_descriptors(error), error)
"""


@pytest.mark.full
def test_too_many_open_files_are_told_as_such(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_DESCRIPTORS, str(tmp_path / "db")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("True "), ended.stdout
