"""Notes that outlive a kill: that a bookie runs without entries in the journal, and that all ledgers are to be marked.

Without entries in the journal (``journalWriteData=false``) a kill has lost those that were not flushed.  Java notes a
run by the same name, in a file which is empty, whether entries are in the journal or not; so ours says that they are
not.
"""

import os
from collections.abc import Sequence
from typing import Final

from bookkeeper_tx.bookie.disk import Disk, remove_durably

NAME: Final = "DIRTY"
CONTENT: Final = b"journalWriteData=false\n"

LOSS_NAME: Final = "ledgersToMark"
"""An empty file: entries may be lost, whatever the configuration is, and not all ledgers are marked."""


class RunNote:
    """The notes in ``directories``, the ``current`` ones of ledgers and indexes.  Calls block; all raise OSError.

    They are looked for in all, since the order in a configuration may change; a run is noted in the first.
    ``journaled``: whether this run has entries in the journal.
    """

    def __init__(self, disk: Disk, directories: Sequence[str], journaled: bool) -> None:
        self._disk = disk
        self._path = os.path.join(directories[0], NAME)
        self._directories = list(dict.fromkeys(directories))
        self._journaled = journaled

    def tells_of_loss(self) -> bool:
        """Tell whether entries are lost: an earlier run was killed that had none in the journal, or noted a loss.

        To be asked before :meth:`write`.  A note that does not say how it was with that run counts if it is so with
        this one.
        """
        if self._found(LOSS_NAME):
            return True
        contents = [self._disk.read(path) for path in self._found(NAME)]
        return CONTENT in contents or (bool(contents) and not self._journaled)

    def write(self) -> None:
        """Note, durably, that the bookie runs, if it has no entries in the journal."""
        if self._journaled or (self._path in self._found(NAME) and self._disk.read(self._path) == CONTENT):
            return
        try:
            self._disk.replace(self._path, CONTENT)
        except OSError:
            # A full disk may have room for a name.  Not for this one: an empty note does not say what ours does.
            self._disk.replace(os.path.join(self._directories[0], LOSS_NAME), b"")

    def write_loss(self) -> None:
        """Note, durably, that entries may be lost: in all directories, for any of them may be another one's place."""
        for directory in self._directories:
            self._disk.replace(os.path.join(directory, LOSS_NAME), b"")

    def remove(self) -> None:
        """Note that no entries are lost any more, or that it is known elsewhere which may be."""
        if not self.tells_of_loss():
            return
        for path in (*self._found(NAME), *self._found(LOSS_NAME)):
            remove_durably(self._disk, path)

    def _found(self, name: str) -> list[str]:
        """Return the paths of the notes of a name.  Unlike a look at each path, a listing fails on a broken disk."""
        return [os.path.join(each, name) for each in self._directories if name in self._disk.list_directory(each)]
