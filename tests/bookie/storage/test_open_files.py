import errno
from collections.abc import Callable

import pytest

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.open_files import OpenFiles
from tests.bookie.crashing_disk import CrashingDisk


class Counted(CrashingDisk):
    """Tells which files are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open_now: list[str] = []
        self.opened = 0

    def open(self, path: str, writable: bool = False) -> File:
        file = super().open(path, writable)
        self.open_now.append(path)
        self.opened += 1

        def close() -> None:
            self.open_now.remove(path)

        file.close = close  # type: ignore[method-assign]
        return file


@pytest.fixture
def disk() -> Counted:
    disk = Counted()
    for name in "abc":
        disk.create(f"/{name}")
    return disk


def use(files: OpenFiles, path: str) -> None:
    with files.borrow(path) as file:
        assert file.path == path


def test_the_files_used_last_stay_open(disk: Counted) -> None:
    files = OpenFiles(disk, 2)
    for path in ("/a", "/b", "/a", "/c", "/a"):
        use(files, path)
    assert disk.opened == 3
    assert sorted(disk.open_now) == ["/a", "/c"]


def test_a_borrowed_file_is_closed_only_when_it_comes_back(disk: Counted) -> None:
    files = OpenFiles(disk, 1)
    with files.borrow("/a"), files.borrow("/a"):
        use(files, "/b")
        assert sorted(disk.open_now) == ["/a", "/b"]
    assert disk.open_now == ["/b"]


def test_a_forgotten_file_is_opened_anew(disk: Counted) -> None:
    files = OpenFiles(disk, 2)
    with files.borrow("/a"):
        files.forget("/a")
        use(files, "/a")
        assert disk.opened == 2
    assert disk.open_now == ["/a"]
    files.forget("/b")


def test_close_closes_all(disk: Counted) -> None:
    files = OpenFiles(disk, 2)
    use(files, "/a")
    with files.borrow("/b"):
        files.close()
        assert disk.open_now == ["/b"]
    assert disk.open_now == []


def test_a_missing_file_is_an_error_each_time(disk: Counted) -> None:
    files = OpenFiles(disk, 2)
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            use(files, "/missing")


def test_it_works_on_the_real_disk(tmp_path: object) -> None:
    path = f"{tmp_path}/a"
    file = Disk().create(path)
    file.write(b"abc", 0)
    file.close()
    files = OpenFiles(Disk(), 1)
    with files.borrow(path) as file:
        assert file.read(3, 0) == b"abc"
    files.close()


def test_open_files_make_room_when_the_process_has_too_many(disk: Counted) -> None:
    files = OpenFiles(disk, 3)
    use(files, "/a")
    really_open = disk.open

    def open_one_at_most(path: str, writable: bool = False) -> File:
        if disk.open_now:
            raise OSError(errno.EMFILE, "Too many open files", path)
        return really_open(path, writable)

    disk.open = open_one_at_most  # type: ignore[method-assign]
    use(files, "/b")
    assert disk.open_now == ["/b"]
    with files.borrow("/b"), pytest.raises(OSError, match="Too many"), files.borrow("/c"):
        pass


def test_an_open_file_is_lent_at_once(disk: Counted) -> None:
    files = OpenFiles(disk, 1)
    with files.borrow_open("/a") as file:
        assert file is None
    use(files, "/a")
    with files.borrow_open("/a") as file:
        assert file is not None
        assert file.path == "/a"
        use(files, "/b")
        assert sorted(disk.open_now) == ["/a", "/b"]
    assert disk.open_now == ["/b"]


def while_opening(disk: Counted, path: str, then: Callable[[], None]) -> None:
    """Have ``then`` happen once, while the file of this path is being opened."""
    really_open = disk.open

    def slowly_open(opened: str, writable: bool = False) -> File:
        file = really_open(opened, writable)
        if opened == path:
            disk.open = really_open  # type: ignore[method-assign]
            then()
        return file

    disk.open = slowly_open  # type: ignore[method-assign]


def test_a_file_that_is_open_is_lent_while_another_is_being_opened(disk: Counted) -> None:
    files = OpenFiles(disk, 2)
    use(files, "/a")
    lent = []

    def borrow() -> None:
        with files.borrow_open("/a") as file:
            lent.append(file is not None)

    while_opening(disk, "/b", borrow)
    use(files, "/b")
    assert lent == [True]


def test_who_cannot_wait_gets_no_file_while_another_takes_one(disk: Counted) -> None:
    files = OpenFiles(disk, 2)
    use(files, "/a")
    with files._lock, files.borrow_open("/a") as file:
        assert file is None


def test_of_two_that_open_a_file_at_once_one_keeps_it(disk: Counted) -> None:
    files = OpenFiles(disk, 2)
    while_opening(disk, "/a", lambda: use(files, "/a"))
    use(files, "/a")
    assert (disk.opened, disk.open_now) == (2, ["/a"])


@pytest.mark.parametrize("forget", [lambda files: files.forget("/a"), OpenFiles.close])
def test_a_file_that_was_forgotten_while_it_was_opened_is_not_kept(
    disk: Counted, forget: Callable[[OpenFiles], None]
) -> None:
    files = OpenFiles(disk, 2)
    while_opening(disk, "/a", lambda: forget(files))
    use(files, "/a")
    assert disk.open_now == []
