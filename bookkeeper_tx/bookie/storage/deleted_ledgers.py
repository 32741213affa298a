"""Fenced ledgers that were deleted here, for some days: a writer that was fenced off must not begin them anew.

The file has a line for each time that ledgers were deleted: a CRC-32C of what follows it, the day as a number since
1970, and the ids, all in hexadecimal but for the day.  There may be one in each ledger directory: while the disk of one
is full or broken, the next ledgers are written into that of another.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import crc32c

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds

FILE_NAME: Final = "deletedLedgers"
"""Beside the entry logs; a Java bookie does not look at it."""

DAYS_KEPT: Final = 7
"""How long ordinary adds stay refused, and up to a day more."""

SECONDS_PER_DAY: Final = 86_400


class DeletedLedgers:
    """The ledgers in the files in ``directories``; new ones go to the first that has one, or else can have one.

    ``time_s`` gives the time of day in seconds since 1970.
    """

    def __init__(self, disk: Disk, directories: Sequence[str], time_s: Callable[[], float]) -> None:
        self._files = [_File(disk, os.path.join(directory, FILE_NAME)) for directory in directories]
        self._written = self._files[0]
        """The one to which the last ledgers went."""
        self._time_s = time_s

    def load(self) -> None:
        """Read the files; blocks.  Raises OSError."""
        for file in self._files:
            file.load()
        # New directories may have been put before the others.
        self._written = next((file for file in self._files if file.exists), self._files[0])

    def add(self, ledger_ids: Sequence[int]) -> None:
        """Write ledgers durably, before they are deleted; :meth:`added` is next.  Blocks.

        Raises OSError if they cannot be written into any of the directories.
        """
        failures: list[OSError] = []
        for file in sorted(self._files, key=lambda each: each is not self._written):
            try:
                file.append(self._today, ledger_ids)
            except OSError as error:
                failures.append(error)
            else:
                self._written = file
                return
        raise failures[0]

    def added(self, ledger_ids: Sequence[int]) -> None:
        """Know ledgers that were written."""
        self._written.keep(self._today, ledger_ids)

    def expire(self) -> None:
        """Write the files anew without the days that have passed, if there are any; blocks.

        Raises OSError if one cannot be written, after the others.
        """
        failed: OSError | None = None
        for file in self._files:
            try:
                file.expire(self._oldest)
            except OSError as error:
                failed = error
        if failed is not None:
            raise failed

    def __contains__(self, ledger_id: int) -> bool:
        return any(file.has(ledger_id, self._oldest) for file in self._files if file.days)

    @property
    def _today(self) -> int:
        return int(self._time_s() // SECONDS_PER_DAY)

    @property
    def _oldest(self) -> int:
        return self._today - DAYS_KEPT


def share_deleted(disk: Disk, directories: Sequence[str]) -> None:
    """Write what the files in these directories say into that of each, durably.  Raises OSError."""
    lines: dict[bytes, None] = {}
    found: dict[str, bytes] = {}
    for directory in directories:
        path = os.path.join(directory, FILE_NAME)
        found[path] = disk.read(path) if disk.exists(path) else b""
        lines.update(dict.fromkeys(_whole_lines(found[path])))
    data = b"".join(lines)
    for path, before in found.items():
        if before != data:
            disk.replace(path, data)


class _File:
    """The file at ``path``, and the ledgers in it by day."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self.days: dict[int, LedgerIds] = {}
        self._end = 0
        """Bytes of the file that are whole lines."""
        self._named = False
        """Whether its name is known to be on the disk."""

    @property
    def exists(self) -> bool:
        return self._disk.exists(self._path)

    def load(self) -> None:
        """Read it.  A line that a crash has torn ends it: its ledgers were not deleted, or are in another file."""
        self.days, self._end = {}, 0
        data = b""
        with contextlib.suppress(FileNotFoundError):
            data = self._disk.read(self._path)
        for line in _whole_lines(data):
            _, day, *ids = line.split()
            self.keep(int(day), (int(each, 16) for each in ids))
            self._end += len(line)

    def append(self, day: int, ledger_ids: Sequence[int]) -> None:
        if not self.exists:
            self._disk.create(self._path).close()
            self._named = False
        line = _line(day, ledger_ids)
        file = self._disk.open(self._path, writable=True)
        try:
            file.truncate(self._end)
            file.write(line, self._end)
            file.sync()
        finally:
            file.close()
        if not self._named:
            self._disk.sync_directory(os.path.dirname(self._path))
            self._named = True
        self._end += len(line)

    def keep(self, day: int, ledger_ids: Iterable[int]) -> None:
        kept = self.days.setdefault(day, LedgerIds())
        for ledger_id in ledger_ids:
            kept.add(ledger_id)

    def expire(self, oldest: int) -> None:
        if not any(day < oldest for day in self.days):
            return
        kept = {day: ids for day, ids in sorted(self.days.items()) if day >= oldest}
        data = b"".join(_line(day, list(ids.ascending())) for day, ids in kept.items())
        self._disk.replace(self._path, data)
        self.days, self._end = kept, len(data)

    def has(self, ledger_id: int, oldest: int) -> bool:
        return any(ledger_id in ids for day, ids in self.days.items() if day >= oldest)


def _whole_lines(data: bytes) -> Iterator[bytes]:
    for line in data.splitlines(keepends=True):
        checksum, _, rest = line.partition(b" ")
        if not line.endswith(b"\n") or checksum != _checksum(rest):
            return
        yield line


def _line(day: int, ledger_ids: Sequence[int]) -> bytes:
    rest = f"{day} {' '.join(f'{each:x}' for each in ledger_ids)}\n".encode("ascii")
    return _checksum(rest) + b" " + rest


def _checksum(rest: bytes) -> bytes:
    return b"%08x" % crc32c.crc32c(rest)
