"""The data directories of a bookie: the layout, which is Java's, the refusals, and the lock against a second bookie.

``<journal directory>/current`` holds journal files, ``<ledger directory>/current`` entry logs and the marks, ``<index
directory>/current`` indexes; one directory may be of all kinds.
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.cookie_plan import CookiePlan, plan_cookie
from bookkeeper_tx.bookie.disk import Directory, Disk, File
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import LocalError, RefusedToStart, StorageFailed
from protocol_specs.disk.cookie import DIRECTORY as CURRENT
from protocol_specs.disk.cookie import FILE_NAME as COOKIE_NAME
from protocol_specs.disk.db_index import LEDGERS, LOCATIONS
from protocol_specs.disk.last_mark import FILE_NAME as MARK_NAME
from protocol_specs.disk.last_mark import file_name as mark_name
from protocol_specs.disk.ledger_index import INDEX_SUFFIX

LOCK_NAME: Final = "bookie.lock"
"""The kernel holds a lock on it while our bookie runs, or a command reads or changes its files.

A Java bookie does not look at it, and does not take it.
"""

CONVERSION_NAME: Final = "CONVERTING"
"""It is there while the indexes are converted to another class of storage: what is there of either may be half."""

OLD_LAYOUT: Final = (".txn", ".idx", ".log")
"""Endings of the names of files that were beside ``current`` in layouts before version 3 (Java's ``BookieImpl``)."""

MARK: Final = re.compile(re.escape(MARK_NAME) + r"(\.\d+)?")
"""The name of a file with the mark of a journal."""

_LEVEL = re.compile("[0-9a-f]{1,2}|[0-9a-f]{8}")
"""The name of a directory with index files, or with more of these directories."""


class DirectoryLost(StorageFailed):
    """A directory of the running bookie was removed, or another one has its name."""


class DirectoryInUse(LocalError):
    """A bookie runs on the directory, or another command works there."""


@contextlib.contextmanager
def unused(disk: Disk, directories: Iterable[str], writing: bool = False) -> Iterator[None]:
    """Keep a bookie from running on ``directories``, as they are configured, during the block.

    Commands that only read may be there together, and leave nothing behind; one that is ``writing`` is alone.  Raises
    DirectoryInUse.
    """
    with contextlib.ExitStack() as locks:
        for directory in dict.fromkeys(directories):
            path = os.path.join(directory, LOCK_NAME)
            try:
                locks.enter_context(contextlib.closing(disk.lock(path, existing=not writing, shared=not writing)))
            except BlockingIOError:
                raise DirectoryInUse(
                    f"a bookie, or a command that changes its files, is running on {directory}: stop it first"
                    if not writing
                    else f"a bookie, or another command on its files, is running on {directory}: stop it first"
                ) from None
            except FileNotFoundError:
                pass  # no bookie of ours has ever run there
        yield


class Directories:
    """The directories of one bookie.  Calls block.

    ``more_journals`` and ``more_ledgers`` are those behind the first of their kind; ``indexes`` is empty if the indexes
    are in the ledger directories; ``expands`` says whether new, empty ones of ledgers and indexes are taken.
    """

    def __init__(
        self,
        disk: Disk,
        journal: str,
        ledger: str,
        ledger_storage_class: str = "SortedLedgerStorage",
        more_journals: Sequence[str] = (),
        more_ledgers: Sequence[str] = (),
        indexes: Sequence[str] = (),
        expands: bool = False,
    ) -> None:
        self._disk = disk
        self._ledger_storage_class = ledger_storage_class
        self._expands = expands
        ledgers = (ledger, *more_ledgers)
        self._configured = list(dict.fromkeys((journal, *more_journals, *ledgers, *indexes)))
        self._journal_count = 1 + len(more_journals)
        self._locks: list[File] = []
        self._opened: dict[str, Directory] = {}
        """The ``current`` ones.  While they are open, no other directory can have their identity."""
        self._cookie: bytes | None = None
        self.journal = os.path.join(journal, CURRENT)
        """The directory of the journal files, of the first journal if there are several."""
        self.more_journals = [os.path.join(directory, CURRENT) for directory in more_journals]
        """The directories of the others."""
        self.ledgers = [os.path.join(directory, CURRENT) for directory in ledgers]
        """The directories of entry logs and the marks."""
        self.indexes = [os.path.join(directory, CURRENT) for directory in indexes or ledgers]
        """The directories of the indexes."""
        self.read_only = False
        """Whether one of them was on a read-only file system when it was opened."""

    @classmethod
    def of(cls, disk: Disk, config: BookieConfig) -> "Directories":
        """Return those of a configuration."""
        return cls(
            disk,
            config.journal_directory,
            config.ledger_directory,
            config.ledger_storage_class,
            config.more_journal_directories,
            config.more_ledger_directories,
            config.index_directories,
            config.storage_expansion_allowed,
        )

    def open(self) -> None:
        """Check, make and lock the directories.  Raises RefusedToStart; then none is locked."""
        directory = ""
        try:
            for directory in self._configured:
                self._check(directory)
            for directory in self._configured:
                self._disk.make_directories(os.path.join(directory, CURRENT))
                self._lock(directory)
                if not self.read_only:
                    # A killed process may have made ``current``, and not synced this.
                    self._disk.sync_directory(directory)
            for directory in self._currents:
                self._opened[directory] = self._disk.open_directory(directory)
        except OSError as error:
            self.close()
            raise RefusedToStart(f"directory {directory} cannot be used: {error}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the locks."""
        while self._opened:
            self._opened.popitem()[1].close()
        while self._locks:
            self._locks.pop().close()

    def plan_cookie(self, expected: Cookie, stored: bytes | None) -> CookiePlan:
        """Compare the cookies here and in the store with ``expected``; return those to write; raises RefusedToStart."""
        filled = {
            os.path.join(current, COOKIE_NAME)
            for current in self._currents
            if any(not name.startswith(COOKIE_NAME) for name in self._disk.list_directory(current))
        }
        homes = self._ledger_storage_class == "DbLedgerStorage"
        return plan_cookie(expected, stored, self.read_cookies(), filled, self._expands, homes)

    def read_cookies(self) -> dict[str, bytes | None]:
        """Return the content of each cookie by its path, None for one that is missing.  Raises OSError."""
        files: dict[str, bytes | None] = {}
        for current in self._currents:
            path = os.path.join(current, COOKIE_NAME)
            files[path] = None
            with contextlib.suppress(FileNotFoundError):
                files[path] = self._disk.read(path)
        return files

    def read_left_out(self, named: Iterable[str]) -> dict[str, bytes]:
        """Return the cookies, by path, in directories of ``named`` that are not configured.  Raises OSError."""
        configured = set(map(os.path.normpath, self._configured))
        files: dict[str, bytes] = {}
        for directory in sorted(named):
            if os.path.normpath(directory) not in configured:
                path = os.path.join(directory, CURRENT, COOKIE_NAME)
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    files[path] = self._disk.read(path)
        return files

    @property
    def former_id(self) -> str | None:
        """The bookie id in the first cookie that is here, None if there is none; raises RefusedToStart."""
        for current in self._currents:
            path = os.path.join(current, COOKIE_NAME)
            if self._disk.exists(path):
                return Cookie.decode(self._disk.read(path), path).bookie_id
        return None

    def write_cookies(self, plan: CookiePlan) -> None:
        """Write the plan's files, durably; the caller writes to the store afterwards."""
        for path in plan.files:
            self._disk.replace(path, plan.data)
        self._cookie = plan.data

    def check(self) -> None:
        """Raise DirectoryLost if a path leads to another directory than at the start, or its cookie to another bookie.

        That is so after an unmount, or when somebody has removed or replaced the directory.  Raises OSError if a disk
        does not tell, after the others have.
        """
        failed: OSError | None = None
        for current, opened in self._opened.items():
            try:
                with contextlib.closing(self._disk.open_directory(current)) as found:
                    is_ours = found.identity == opened.identity
                if is_ours and self._cookie is not None:
                    is_ours = self._disk.read(os.path.join(current, COOKIE_NAME)) == self._cookie
            except (FileNotFoundError, NotADirectoryError) as error:
                raise DirectoryLost(f"{current} has lost the files of this bookie: {error}; bring them back") from None
            except OSError as error:
                failed = error
                continue
            if not is_ours:
                raise DirectoryLost(f"{current} is not the directory of this bookie any more: bring that back")
        if failed is not None:
            raise failed

    @property
    def _currents(self) -> list[str]:
        return [os.path.join(directory, CURRENT) for directory in self._configured]

    def _lock(self, directory: str) -> None:
        path = os.path.join(directory, LOCK_NAME)
        try:
            try:
                self._locks.append(self._disk.lock(path))
            except OSError as error:
                if error.errno != errno.EROFS:
                    raise
                self.read_only = True
                with contextlib.suppress(FileNotFoundError):  # then nobody of ours has it, and nobody can write here
                    self._locks.append(self._disk.lock(path, existing=True))
        except BlockingIOError:
            raise RefusedToStart(
                f"a bookie, or a command on its files, is already running on {directory}: stop it first"
            ) from None

    def _check(self, directory: str) -> None:
        """Raise RefusedToStart if ``directory`` holds data that would be served as missing."""
        if not self._disk.exists(directory):
            return
        names = self._disk.list_directory(directory)
        if CURRENT not in names:
            stray = [name for name in names if name.endswith(OLD_LAYOUT) or name == COOKIE_NAME]
            if stray:
                raise RefusedToStart(
                    f"{os.path.join(directory, stray[0])} is of a layout older than version 3: "
                    "upgrade the directory with the tools of the release that wrote it"
                )
            return
        current = os.path.join(directory, CURRENT)
        names = self._disk.list_directory(current)
        if CONVERSION_NAME in names:
            raise RefusedToStart(
                f"{os.path.join(current, CONVERSION_NAME)}: a conversion of the indexes is not finished; begin it again"
            )
        self._check_storage_class(current, names)
        self._check_marks(current, names)

    def _check_marks(self, current: str, names: Sequence[str]) -> None:
        """Raise RefusedToStart if there were more journals once, or only one."""
        count = self._journal_count
        marks = {name for name in names if MARK.fullmatch(name)} - {mark_name(index, count) for index in range(count)}
        if marks:
            raise RefusedToStart(
                f"{os.path.join(current, min(marks))} was written by a bookie with another number of journal "
                f"directories than {count}: name all of them, in the same order"
            )

    def _check_storage_class(self, current: str, names: list[str]) -> None:
        """Raise RefusedToStart if another class of storage has written the indexes here."""
        databases = [name for name in (LEDGERS, LOCATIONS) if name in names]
        if self._ledger_storage_class == "DbLedgerStorage":
            databases = [name for name in databases if self._disk.has_key_values(os.path.join(current, name))]
            if databases and current not in self.indexes:
                raise RefusedToStart(
                    f"{os.path.join(current, databases[0])} was written by a bookie that has its indexes there, such "
                    "as Java's before 4.16, which ignores indexDirectories: leave out that key"
                )
            file = None if databases else self._index_file_below(current)
            if file is not None:
                raise RefusedToStart(
                    f"{file} was written by another storage than DbLedgerStorage: convert the directory, or leave out "
                    "ledgerStorageClass, or give an empty directory"
                )
        elif databases:
            raise RefusedToStart(
                f"{os.path.join(current, databases[0])} was written by DbLedgerStorage: set ledgerStorageClass to it, "
                "or convert the directory, or give an empty one"
            )

    def _index_file_below(self, directory: str) -> str | None:
        """Return the path of an index file, None if there is none."""
        for name in self._disk.list_directory(directory):
            path = os.path.join(directory, name)
            if name.endswith(INDEX_SUFFIX):
                return path
            if _LEVEL.fullmatch(name):
                with contextlib.suppress(NotADirectoryError):
                    file = self._index_file_below(path)
                    if file is not None:
                        return file
        return None
