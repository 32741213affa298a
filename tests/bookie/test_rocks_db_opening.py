"""Opening RocksDB: what is not ours to open, and what is read only, for as long as nothing can be written."""

import errno
import os
import tempfile
from pathlib import Path

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.key_values import DAMAGED
from bookkeeper_tx.bookie.rocks_db import RocksDb
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.database_path import KEYS
from tests.bookie.database_path import path as path
from tests.bookie.test_key_values import CONFIG, END

rocksdict = pytest.importorskip("rocksdict")


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


def test_damage_is_told_with_the_path_of_the_file_and_not_of_the_link_by_which_it_is_read(path: Path) -> None:
    (table,) = path.glob("*.sst")
    data = table.read_bytes()
    table.write_bytes(bytes(each ^ 0x5A for each in data[:2000]) + data[2000:])
    db = RocksDb(str(path), CONFIG, reading_only=True)
    for read in (
        lambda: db.get(KEYS[0]),
        lambda: db.next_key(KEYS[0], END),
        lambda: db.items(KEYS[0], END, len(KEYS) + 1),
        lambda: list(db.keys()),
    ):
        with pytest.raises(OSError, match="checksum mismatch") as caught:
            read()
        assert f" in {table} offset 0 " in str(caught.value)
    db.close()


def test_a_file_that_is_missing_is_told_with_its_path_and_not_that_of_a_link(path: Path) -> None:
    (table,) = path.glob("*.sst")
    table.unlink()
    with pytest.raises(RefusedToStart, match=f"the RocksDB in {path} cannot be opened: .*No such file") as caught:
        RocksDb(str(path), CONFIG, reading_only=True)
    assert f" {table}: " in str(caught.value)
    assert "bktx-rocksdb-" not in str(caught.value)


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
