import contextlib
import os
from pathlib import Path

import pytest

from bookkeeper_tx.bookie import disk as disks
from bookkeeper_tx.bookie.disk import Disk, File


@pytest.fixture
def disk() -> Disk:
    return Disk()


def _short_writes(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Let every write take ``most`` bytes at a time, as a kernel may."""
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: pwrite(fd, memoryview(data)[:most], offset))
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, offset: pwrite(fd, b"".join(buffers)[:most], offset))


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_a_write_writes_all(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    _short_writes(monkeypatch, most)
    file = disk.create(str(tmp_path / "a"))
    file.write(b"0123456789", 2)
    assert disk.read(file.path) == b"\0\0" + b"0123456789"


@pytest.mark.parametrize("most", [7, 10**9])
@pytest.mark.parametrize("joined_size_max", [0, 10**6])
def test_many_buffers_land_back_to_back(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joined_size_max: int, most: int
) -> None:
    _short_writes(monkeypatch, most)
    monkeypatch.setattr(disks, "JOINED_SIZE_MAX", joined_size_max)
    monkeypatch.setattr(disks, "VECTOR_LENGTH_MAX", 3)
    buffers = [bytes([index]) * (index + 1) for index in range(10)]
    file = disk.create(str(tmp_path / "a"))
    file.write_many([memoryview(buffer) for buffer in buffers], 4)
    assert disk.read(file.path)[4:] == b"".join(buffers)


def test_a_read_is_short_only_at_the_end(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: pread(fd, min(size, 3), offset))
    file = disk.open(str(tmp_path / "a"))
    assert (file.read(5, 1), file.read(9, 8), file.read(4, 10)) == (b"12345", b"89", b"")
    file.close()
    file.close()


def test_a_read_that_fails_says_of_which_file(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    file = File(path, os.open(path, os.O_CREAT | os.O_WRONLY))
    with contextlib.closing(file), pytest.raises(OSError, match=path):
        file.read(1, 0)


def test_create_and_open_say_what_is_wrong(disk: Disk, tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        disk.open(path)
    disk.create(path).close()
    with pytest.raises(FileExistsError):
        disk.create(path)
    with pytest.raises(OSError, match="Bad file"):
        disk.open(path).write(b"x", 0)


def test_names(disk: Disk, tmp_path: Path) -> None:
    directory = str(tmp_path / "x" / "y")
    disk.make_directories(directory)
    disk.make_directories(directory)
    disk.create(os.path.join(directory, "b")).close()
    disk.rename(os.path.join(directory, "b"), os.path.join(directory, "a"))
    disk.create(os.path.join(directory, "c")).close()
    disk.sync_directory(directory)
    assert disk.list_directory(directory) == ["a", "c"]
    disk.remove(os.path.join(directory, "a"))
    assert not disk.exists(os.path.join(directory, "a"))
    assert 0 < disk.free_bytes(directory) < disk.total_bytes(directory)


def test_what_the_disk_does_not_tell_is_not_taken_for_missing(tmp_path: Path) -> None:
    disk, loop = Disk(), tmp_path / "loop"
    (tmp_path / "file").touch()
    loop.symlink_to(loop)
    assert not disk.exists(str(tmp_path / "file" / "below"))
    for look in disk.exists, disk.remove_key_values, disk.has_key_values:
        with pytest.raises(OSError, match="symbolic links"):
            look(str(loop / "below"))


def test_size_and_truncate(disk: Disk, tmp_path: Path) -> None:
    file = disk.create(str(tmp_path / "a"))
    file.write(b"12345", 0)
    file.truncate(2)
    file.sync()
    assert (file.size(), disk.read(file.path)) == (2, b"12")


def test_replace_keeps_the_file_in_place_if_its_size_stays(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "mark"
    disk.replace(str(path), b"1" * 16)
    node = path.stat().st_ino
    disk.replace(str(path), b"2" * 16)
    assert (path.read_bytes(), path.stat().st_ino) == (b"2" * 16, node)
    disk.replace(str(path), b"longer" * 16)
    assert path.read_bytes() == b"longer" * 16
    assert os.listdir(tmp_path) == ["mark"]


def test_replace_passes_over_what_a_crash_left(disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "mark.new").write_bytes(b"half")
    disk.replace(str(tmp_path / "mark"), b"whole")
    assert (tmp_path / "mark").read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["mark"]


def test_a_lock_is_held_until_closed(disk: Disk, tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    held: File = disk.lock(path)
    with pytest.raises(BlockingIOError):
        disk.lock(path)
    held.close()
    disk.lock(path).close()


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="Linux alone reads only what is in memory")
def test_what_was_just_written_is_read_without_waiting(disk: Disk, tmp_path: Path) -> None:
    with contextlib.closing(disk.create(f"{tmp_path}/a")) as file:
        file.write(b"0123456789", 0)
        if file.read_cached(1, 0) is None:
            pytest.skip("this file system cannot tell what is in memory")
        assert file.read_cached(4, 3) == b"3456"
        assert file.read_cached(100, 8) == b"89", "short only at the end"
        assert file.read_cached(disks.READ_CACHED_SIZE_MAX + 1, 0) is None


def test_a_cached_read_may_always_give_nothing(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.create(f"{tmp_path}/a")
    file.write(b"0123456789", 0)
    monkeypatch.setattr(disks, "_READ_CACHED", None)
    assert file.read_cached(4, 3) is None
    file.close()
    monkeypatch.setattr(disks, "_READ_CACHED", 0)
    assert file.read_cached(4, 3) is None


def test_files_are_for_the_user_of_the_bookie_only(tmp_path: Path) -> None:
    disk = Disk()
    disk.create(str(tmp_path / "made")).close()
    disk.lock(str(tmp_path / "lock")).close()
    disk.replace(str(tmp_path / "replaced"), b"data")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_shared_lock_is_shared(disk: Disk, tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    held = [disk.lock(path, shared=True), disk.lock(path, existing=True, shared=True)]
    with pytest.raises(BlockingIOError):
        disk.lock(path)
    for each in held:
        each.close()
    disk.lock(path).close()
