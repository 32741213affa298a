"""The note that a bookie runs on a ledger directory, by Java's name: it is left behind when the bookie is killed.

Without entries in the journal (``journalWriteData=false``) a kill has lost those that were not flushed.  Java makes the
file, which is empty, whether they are in the journal or not; so ours says that they are not.
"""

import contextlib
import os
from typing import Final

from bookkeeper_tx.bookie.disk import Disk

NAME: Final = "DIRTY"
CONTENT: Final = b"journalWriteData=false\n"


class RunNote:
    """The note in ``directory``, the ``current`` of a ledger directory.  Calls block; all raise OSError.

    ``journaled``: whether this run has entries in the journal.
    """

    def __init__(self, disk: Disk, directory: str, journaled: bool) -> None:
        self._disk = disk
        self._path = os.path.join(directory, NAME)
        self._journaled = journaled

    def tells_of_loss(self) -> bool:
        """Tell whether an earlier run was killed that had no entries in the journal; :meth:`write` was not called.

        A note that does not say how it was with that run counts if it is so with this one.
        """
        content = self._content()
        return content is not None and (content == CONTENT or not self._journaled)

    def write(self) -> None:
        """Note, durably, that the bookie runs, if it has no entries in the journal."""
        if self._journaled or self._content() == CONTENT:
            return
        try:
            self._disk.replace(self._path, CONTENT)
        except OSError:
            self._disk.replace(self._path, b"")  # a full disk may have room for a name

    def remove(self) -> None:
        """Note that no entries are lost any more, or that it is known elsewhere which may be."""
        if self.tells_of_loss():
            self._disk.remove(self._path)
            self._disk.sync_directory(os.path.dirname(self._path))

    def _content(self) -> bytes | None:
        with contextlib.suppress(FileNotFoundError):
            return self._disk.read(self._path)
        return None
