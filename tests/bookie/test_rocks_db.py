"""RocksDB on real files: what Java can open, what is damaged, what is removed."""

import errno
import os
import re
import subprocess
import sys
import threading
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


def test_a_read_takes_no_filter_of_a_whole_table_from_the_disk(tmp_path: Path) -> None:
    config = evolve(CONFIG, rocksdb_block_bytes=4096, rocksdb_block_cache_bytes=200_000)
    keys = [at.to_bytes(8, "big") for at in range(200_000)]  # their filter has 250,000 bytes
    db = RocksDb(str(tmp_path / "db"), config)
    db.put(keys, keys)
    db.sync()
    db.close()
    db = RocksDb(str(tmp_path / "db"), config)
    before, chosen = bytes_read(), keys[::2000]
    assert [db.get(each) for each in chosen] == chosen
    assert bytes_read() - before < len(chosen) * 50_000
    db.close()


def bytes_read() -> int:
    """Return how many bytes this process has asked files for."""
    (count,) = re.findall(r"rchar: (\d+)", Path("/proc/self/io").read_text())
    return int(count)


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
