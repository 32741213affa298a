"""Fenced ledgers that were deleted here, for some days: a writer that was fenced off must not begin them anew.

The file has a line for each time that ledgers were deleted: a CRC-32C of what follows it, the day as a number since
1970, and the ids, all in hexadecimal but for the day.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
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
    """The ledgers in the file, which is in one of ``directories``: in the first one, unless another has it.

    ``time_s`` gives the time of day in seconds since 1970.
    """

    def __init__(self, disk: Disk, directories: Sequence[str], time_s: Callable[[], float]) -> None:
        self._disk = disk
        self._paths = [os.path.join(directory, FILE_NAME) for directory in directories]
        self._path = self._paths[0]
        self._time_s = time_s
        self._days: dict[int, LedgerIds] = {}
        self._end = 0
        """Bytes of the file that are whole lines."""

    def load(self) -> None:
        """Read the file; blocks.  Raises OSError.

        A line that a crash has torn ends it: its ledgers were not deleted.
        """
        self._days, self._end = {}, 0
        # New directories may have been put before the others.
        self._path = next(filter(self._disk.exists, self._paths), self._paths[0])
        data = b""
        with contextlib.suppress(FileNotFoundError):
            data = self._disk.read(self._path)
        for line in data.splitlines(keepends=True):
            checksum, _, rest = line.partition(b" ")
            if not line.endswith(b"\n") or checksum != _checksum(rest):
                break
            day, *ids = rest.split()
            self._keep(int(day), (int(each, 16) for each in ids))
            self._end += len(line)

    def add(self, ledger_ids: Sequence[int]) -> None:
        """Write ledgers durably, before they are deleted; :meth:`added` is next.  Blocks; raises OSError."""
        if not self._disk.exists(self._path):
            self._disk.create(self._path).close()
            self._disk.sync_directory(os.path.dirname(self._path))
        line = self._line(self._today, ledger_ids)
        file = self._disk.open(self._path, writable=True)
        try:
            file.truncate(self._end)
            file.write(line, self._end)
            file.sync()
        finally:
            file.close()
        self._end += len(line)

    def added(self, ledger_ids: Sequence[int]) -> None:
        """Know ledgers that were written."""
        self._keep(self._today, ledger_ids)

    def expire(self) -> None:
        """Write the file anew without the days that have passed, if there are any; blocks.  Raises OSError."""
        oldest = self._today - DAYS_KEPT
        if not any(day < oldest for day in self._days):
            return
        kept = {day: ids for day, ids in sorted(self._days.items()) if day >= oldest}
        data = b"".join(self._line(day, list(ids.ascending())) for day, ids in kept.items())
        self._disk.replace(self._path, data)
        self._days, self._end = kept, len(data)

    def __contains__(self, ledger_id: int) -> bool:
        oldest = self._today - DAYS_KEPT if self._days else 0
        return any(ledger_id in ids for day, ids in self._days.items() if day >= oldest)

    @property
    def _today(self) -> int:
        return int(self._time_s() // SECONDS_PER_DAY)

    def _keep(self, day: int, ledger_ids: Iterable[int]) -> None:
        kept = self._days.setdefault(day, LedgerIds())
        for ledger_id in ledger_ids:
            kept.add(ledger_id)

    @staticmethod
    def _line(day: int, ledger_ids: Sequence[int]) -> bytes:
        rest = f"{day} {' '.join(f'{each:x}' for each in ledger_ids)}\n".encode("ascii")
        return _checksum(rest) + b" " + rest


def _checksum(rest: bytes) -> bytes:
    return b"%08x" % crc32c.crc32c(rest)
