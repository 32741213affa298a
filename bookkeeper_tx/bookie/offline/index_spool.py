"""New index files while they are made: locations of many ledgers come in any order, and memory has a bound."""

import contextlib
import os
import re
from array import array
from typing import Final

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.offline.log_locations import LocatedRun
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes, pack_locations
from protocol_specs.disk import ledger_index as spec

REBUILT_SUFFIX: Final = ".rebuilt"
"""Suffix to the name of an index file until it takes the place of the old one.

No bookie looks at such a file; one that a killed rebuild left is removed by the next.
"""

HELD_BYTES_MAX: Final = 64 * 1024 * 1024
"""Memory for locations before they are written to the new files."""

_LEVEL: Final = re.compile("[0-9a-f]{1,2}|[0-9a-f]{8}")
"""The name of a directory with index files, or with more of these directories."""

_RUN_SIZE: Final = 300
"""Memory that a run takes beside its locations."""


class IndexSpool:
    """The new files of one index directory."""

    def __init__(self, disk: Disk, indexes: LedgerIndexes, held_bytes_max: int = HELD_BYTES_MAX) -> None:
        self._disk = disk
        self._indexes = indexes
        self._held_bytes_max = held_bytes_max
        self._held: dict[int, list[LocatedRun]] = {}
        self._held_bytes = 0
        self._made: set[int] = set()
        """The ledgers that have a new file."""

    def path(self, ledger_id: int) -> str:
        """Return the path of the new file of a ledger."""
        return self._indexes.path(ledger_id) + REBUILT_SUFFIX

    def add(self, run: LocatedRun) -> None:
        """Take the places of some entries; for an entry that comes again the later place counts."""
        self._held.setdefault(run.ledger_id, []).append(run)
        self._held_bytes += _RUN_SIZE + len(run.locations) * spec.LOCATION_SIZE
        if self._held_bytes >= self._held_bytes_max:
            self.write()

    def write(self) -> None:
        """Write what is held to the new files; raises OSError."""
        for ledger_id, runs in self._held.items():
            with contextlib.closing(self.open(ledger_id)) as file:
                for run in runs:
                    at = spec.HEADER_SIZE + run.first_entry_id * spec.LOCATION_SIZE
                    file.write(pack_locations(array("Q", run.locations)), at)
        self._held, self._held_bytes = {}, 0

    def open(self, ledger_id: int) -> File:
        """Open the new file of a ledger for writing; the first time it is made, in place of one left behind."""
        path = self.path(ledger_id)
        if ledger_id in self._made:
            return self._disk.open(path, writable=True)
        self._disk.make_directories(os.path.dirname(path), durable=False)
        with contextlib.suppress(FileNotFoundError):
            self._disk.remove(path)
        file = self._disk.create(path)
        self._made.add(ledger_id)
        return file

    def remove_left_behind(self) -> None:
        """Remove the new files of a rebuild that was killed; raises OSError."""
        self._remove_below(self._indexes.directory)

    def _remove_below(self, directory: str) -> None:
        for name in self._disk.list_directory(directory):
            path = os.path.join(directory, name)
            if name.endswith(spec.INDEX_SUFFIX + REBUILT_SUFFIX):
                self._disk.remove(path)
            elif _LEVEL.fullmatch(name):
                with contextlib.suppress(NotADirectoryError):
                    self._remove_below(path)

    def taken(self, ledger_id: int) -> None:
        """Take notice that the new file of a ledger has another name now."""
        self._made.discard(ledger_id)

    def discard(self) -> None:
        """Remove the new files that did not become index files."""
        for ledger_id in self._made:
            with contextlib.suppress(FileNotFoundError):
                self._disk.remove(self.path(ledger_id))
        self._made.clear()
