"""Making many files durable together: few of them one by one, many by one sync of their file system, or by threads.

A sync of the whole file system (Linux's ``syncfs``) takes a fiftieth of the time that syncs of twenty thousand files
take.  It also writes what other processes have changed there, and fails if their bytes could not be written.
"""

import contextlib
import ctypes
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

PENDING_MAX: Final = 64
"""Files that are held open until their sync; up to so many are synced one by one."""

THREADS_MAX: Final = 16
"""Syncs under way at once; the kernel writes their journal together."""

THREADS_COUNT_MIN: Final = 4
"""For fewer syncs no threads are started."""

REPORTS_ERRORS: Final = frozenset({"ext4", "xfs"})
"""File systems whose ``syncfs`` is known to report every error; that of overlayfs does not, for one."""

LINUX_MIN: Final = (5, 17)
"""``syncfs`` reports bytes that could not be written since Linux 5.8, and a journal that could not be since 5.17."""

MOUNTS: Final = "/proc/self/mountinfo"

_Item = TypeVar("_Item")


class SyncedFile(Protocol):
    """The part of a file that a sync needs."""

    def sync(self) -> None: ...

    def close(self) -> None: ...


class SyncGroup:
    """Files below one directory that become durable together.  Calls block; one thread at a time.

    To be made before the first byte is written: it reports the errors since then.
    """

    def __init__(
        self, directory: str, sync_directory: Callable[[str], None], whole: bool, threads_max: int = THREADS_MAX
    ) -> None:
        """``whole``: :func:`syncs_whole` of the file system that holds ``directory``."""
        self._sync_directory = sync_directory
        self._threads_max = threads_max
        self._pending: list[SyncedFile] = []
        self._closed = False
        """Whether there are files without a sync that are closed already."""
        self._file_system = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if whole else -1

    def add(self, file: SyncedFile) -> None:
        """Take a file whose bytes are written; it is closed, now or with the sync.  Raises OSError."""
        self._pending.append(file)
        if len(self._pending) > PENDING_MAX:
            if self._file_system < 0:
                self._sync_pending()
            else:
                self._close_pending()
                self._closed = True

    def sync(self) -> None:
        """Return when the bytes of all files are on the disk; raises OSError.

        After an error the content of the disk is unknown, and a second sync that succeeds proves nothing.
        """
        if self._closed:
            self._close_pending()
            self._closed = False
            sync_file_system(self._file_system)
        else:
            self._sync_pending()

    def sync_directories(self, paths: Sequence[str]) -> None:
        """Return when the names in these directories are on the disk; raises OSError."""
        if self._file_system >= 0 and len(paths) > PENDING_MAX:
            sync_file_system(self._file_system)
        else:
            for_each(self._sync_directory, paths, self._threads_max)

    def close(self) -> None:
        """Give up what was not synced."""
        self._close_pending()
        if self._file_system >= 0:
            os.close(self._file_system)
            self._file_system = -1

    def _sync_pending(self) -> None:
        pending = list(self._pending)
        try:
            for_each(lambda file: file.sync(), pending, self._threads_max)
        finally:
            self._close_pending()

    def _close_pending(self) -> None:
        while self._pending:
            self._pending.pop().close()


def for_each(function: Callable[[_Item], None], items: Iterable[_Item], threads_max: int) -> None:
    """Call ``function`` with each item, on up to ``threads_max`` threads if there are many; raises the first error."""
    left = deque(items)
    errors: list[BaseException] = []

    def work() -> None:
        with contextlib.suppress(IndexError):
            while not errors:
                item = left.popleft()
                try:
                    function(item)
                except BaseException as error:
                    errors.append(error)

    if threads_max == 1 or len(left) < THREADS_COUNT_MIN:
        work()
    else:
        # Daemons: a sync that is stuck in a dying disk must not keep the process alive.
        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(threads_max, len(left)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def sync_file_system(descriptor: int) -> None:
    """Return when all of the file system that holds an open file is on the disk.

    Raises OSError, also for bytes that could not be written since the file was opened.
    """
    if _libc().syncfs(descriptor) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def syncs_whole(directory: str) -> bool:
    """Tell whether :func:`sync_file_system` is there, and reports all errors of the file system of ``directory``."""
    if not sys.platform.startswith("linux") or _linux_version(os.uname().release) < LINUX_MIN:
        return False
    try:
        device = os.stat(directory).st_dev
        with open(MOUNTS, encoding="utf-8", errors="replace") as mounts:
            kind = _file_system_of(f"{os.major(device)}:{os.minor(device)}", mounts)
        return kind in REPORTS_ERRORS and hasattr(_libc(), "syncfs")
    except OSError:
        return False


def _linux_version(release: str) -> tuple[int, ...]:
    """Return the first two numbers of a release such as ``6.1.0-18-amd64``."""
    parts = release.split("-")[0].split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else (0,)


def _file_system_of(device: str, mounts: Iterable[str]) -> str:
    """Return the type of the file system on ``device``, from lines as proc(5) gives them for ``mountinfo``."""
    for line in mounts:
        mount, _, file_system = line.partition(" - ")
        if mount.split()[2:3] == [device]:
            return file_system.split()[0]
    return ""


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
