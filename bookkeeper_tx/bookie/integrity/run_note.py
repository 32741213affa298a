"""The note that a bookie runs on a ledger directory, by Java's name: it is left behind when the bookie is killed.

Without entries in the journal (``journalWriteData=false``) a kill has lost those that were not flushed.
"""

import os
from typing import Final

from bookkeeper_tx.bookie.disk import Disk

NAME: Final = "DIRTY"


class RunNote:
    """The note in ``directory``, the ``current`` of a ledger directory.  Calls block; all raise OSError."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._path = os.path.join(directory, NAME)

    def is_left(self) -> bool:
        """Tell whether the bookie before was killed, as long as :meth:`write` was not called."""
        return self._disk.exists(self._path)

    def write(self) -> None:
        """Note, durably, that the bookie runs."""
        if not self.is_left():
            self._disk.replace(self._path, b"")

    def remove(self) -> None:
        """Note that it has stopped with all its entries on the disk."""
        if self.is_left():
            self._disk.remove(self._path)
            self._disk.sync_directory(os.path.dirname(self._path))
