import os
from contextlib import closing
from pathlib import Path

import pytest

from bookkeeper_tx.bookie import sync_group
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.sync_group import PENDING_MAX, SyncGroup, for_each, syncs_whole

MANY = PENDING_MAX + 1


class Bytes:
    """A file that counts."""

    def __init__(self, error: OSError | None = None) -> None:
        self.error = error
        self.synced = 0
        self.closed = 0

    def sync(self) -> None:
        assert not self.closed
        if self.error is not None:
            raise self.error
        self.synced += 1

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the syncs of whole file systems."""
    descriptors: list[int] = []
    monkeypatch.setattr(sync_group, "sync_file_system", descriptors.append)
    return descriptors


def group_of(directory: Path | str, names: list[str], whole: bool, files: list[Bytes]) -> SyncGroup:
    group = SyncGroup(str(directory), names.append, whole)
    for file in files:
        group.add(file)
    return group


@pytest.mark.parametrize("of_whole", [False, True])
@pytest.mark.parametrize("count", [0, 1, PENDING_MAX])
def test_few_files_are_synced_one_by_one(tmp_path: Path, whole: list[int], of_whole: bool, count: int) -> None:
    files = [Bytes() for _ in range(count)]
    names: list[str] = []
    with closing(group_of(tmp_path, names, of_whole, files)) as group:
        group.sync()
        assert [(file.synced, file.closed) for file in files] == [(1, 1)] * count
        group.sync_directories([str(at) for at in range(count)])
    assert sorted(names) == sorted(str(at) for at in range(count))
    assert whole == []


def test_many_files_are_synced_with_their_file_system(tmp_path: Path, whole: list[int]) -> None:
    files = [Bytes() for _ in range(3 * MANY)]
    names: list[str] = []
    with closing(group_of(tmp_path, names, True, files)) as group:
        assert sum(not file.closed for file in files) <= PENDING_MAX
        assert len(whole) == 0
        group.sync()
        assert [(file.synced, file.closed) for file in files] == [(0, 1)] * 3 * MANY
        assert len(whole) == 1
        group.sync_directories(["a"] * MANY)
        assert (len(whole), names) == (2, [])
        group.add(last := Bytes())
        group.sync()
        assert (len(whole), last.synced) == (2, 1)


def test_without_a_sync_of_the_file_system_many_files_are_synced_and_few_held(whole: list[int]) -> None:
    files = [Bytes() for _ in range(3 * MANY)]
    names: list[str] = []
    with closing(group_of("/nowhere", names, False, files)) as group:
        assert sum(not file.closed for file in files) <= PENDING_MAX
        group.sync()
        assert [(file.synced, file.closed) for file in files] == [(1, 1)] * 3 * MANY
        group.sync_directories([str(at) for at in range(MANY)])
    assert (len(names), len(set(names)), whole) == (MANY, MANY, [])


@pytest.mark.parametrize("count", [1, 10])
def test_a_sync_that_fails_is_an_error_and_all_files_are_closed(count: int) -> None:
    files = [Bytes() for _ in range(count)]
    files[-1].error = OSError("bad disk")
    group = group_of("/nowhere", [], False, files)
    with pytest.raises(OSError, match="bad disk"):
        group.sync()
    assert [file.closed for file in files] == [1] * count


def test_an_error_of_the_file_system_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError("bad disk")

    monkeypatch.setattr(sync_group, "sync_file_system", fail)
    with closing(group_of(tmp_path, [], True, [Bytes() for _ in range(MANY)])) as group:
        with pytest.raises(OSError, match="bad disk"):
            group.sync()
        with pytest.raises(OSError, match="bad disk"):
            group.sync_directories(["a"] * MANY)


def test_a_group_that_is_given_up_holds_nothing(tmp_path: Path) -> None:
    files = [Bytes(), Bytes()]
    before = os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []
    group_of(tmp_path, [], True, files).close()
    assert [file.closed for file in files] == [1, 1]
    assert (os.listdir("/proc/self/fd") if before else []) == before


@pytest.mark.parametrize("threads_max", [1, 3])
def test_of_several_calls_the_first_error_is_raised(threads_max: int) -> None:
    done: list[int] = []

    def work(item: int) -> None:
        done.append(item)
        if item >= 5:
            raise OSError(str(item))

    with pytest.raises(OSError, match=r"\d"):
        for_each(work, range(100), threads_max)
    assert set(range(5)) < set(done) < set(range(5 + threads_max + 1))


@pytest.mark.parametrize(
    ("release", "kind", "whole"),
    [
        ("6.1.0-18-amd64", "ext4", True),
        ("5.17.0", "xfs", True),
        ("5.16.20-generic", "ext4", False),
        ("4.18.0-553.el8", "ext4", False),
        ("odd", "ext4", False),
        ("6.1.0", "overlay", False),
        ("6.1.0", "nfs4", False),
    ],
)
def test_only_file_systems_that_report_all_errors_are_synced_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, kind: str, whole: bool
) -> None:
    device = tmp_path.stat().st_dev
    other = f"30 1 {os.major(device)}:{os.minor(device) + 1} / /x rw - ext4 /dev/x rw\n"
    ours = f"27 1 {os.major(device)}:{os.minor(device)} / {tmp_path} rw,relatime shared:1 - {kind} /dev/y rw\n"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(other + ours)
    monkeypatch.setattr(sync_group, "MOUNTS", str(mounts))
    monkeypatch.setattr(sync_group.sys, "platform", "linux")
    monkeypatch.setattr(sync_group, "_libc", lambda: type("Libc", (), {"syncfs": None}))
    monkeypatch.setattr(sync_group.os, "uname", lambda: type("Uname", (), {"release": release}))
    assert syncs_whole(str(tmp_path)) is whole
    mounts.write_text(other)
    assert not syncs_whole(str(tmp_path))
    mounts.unlink()
    assert not syncs_whole(str(tmp_path))


@pytest.mark.skipif(not hasattr(sync_group._libc(), "syncfs"), reason="this system syncs no file systems")
def test_the_system_says_why_it_failed() -> None:
    with pytest.raises(OSError, match="Bad file"):
        sync_group.sync_file_system(-1)


def test_a_group_of_the_real_disk(tmp_path: Path) -> None:
    disk = Disk()
    with closing(disk.sync_group(str(tmp_path))) as group:
        for at in range(MANY):
            file = disk.create(str(tmp_path / str(at)))
            file.write(b"x", 0)
            group.add(file)
        group.sync()
        group.sync_directories([str(tmp_path)] * MANY)
    assert {(tmp_path / str(at)).read_bytes() for at in range(MANY)} == {b"x"}
