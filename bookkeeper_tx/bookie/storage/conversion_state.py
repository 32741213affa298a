"""The file that says how far a conversion of indexes has come, so that an interrupted one goes on."""

import os
from collections.abc import Sequence
from typing import Final

from bookkeeper_tx.bookie.directories import CONVERSION_NAME
from bookkeeper_tx.bookie.disk import Disk, remove_durably
from bookkeeper_tx.errors import RefusedToStart

COPYING: Final = "copying"
RENUMBERING: Final = "renumbering"
REMOVING: Final = "removing"


class ConversionState:
    """The state of a conversion of ``directories`` to the class ``to``: a file in the first of them.  Calls block.

    ``indexes`` are the directories of the indexes, which may be the same.
    """

    def __init__(self, disk: Disk, directories: Sequence[str], indexes: Sequence[str], to: str) -> None:
        self.stride = 0
        """How far apart the numbers of the logs of two directories will be; 0 if they stay."""
        self._disk = disk
        self._directories = list(directories)
        self._named = [] if len(directories) == 1 else self._directories
        if list(indexes) != self._directories:
            self._named = [*directories, *indexes]
        self._to = to
        self._path = os.path.join(directories[0], CONVERSION_NAME)

    def read(self) -> str | None:
        """Return the state, None if no conversion is under way.

        It is durable then: a process that was killed may have given the file its name in memory only.

        Raises OSError, RefusedToStart if another one is, or one of other directories.
        """
        paths = [os.path.join(directory, CONVERSION_NAME) for directory in self._directories]
        found = next(filter(self._disk.exists, paths), None)
        if found is None:
            return None
        first, *directories = self._disk.read(found).decode(errors="replace").splitlines() or [""]
        to, _, rest = first.partition(" ")
        state, _, stride = rest.partition(" ")
        if to != self._to or state not in (COPYING, RENUMBERING, REMOVING):
            raise RefusedToStart(f"{found} says that a conversion to {to} is under way: finish that first")
        if directories != self._named:
            raise RefusedToStart(
                f"{found} is of a conversion of {', '.join(directories) or 'one directory'}: name these, in this order"
            )
        self._disk.sync_directory(os.path.dirname(found))
        self.stride = int(stride or 0)
        return state

    def write(self, state: str) -> str:
        """Note the state, durably, and return it.  Raises OSError."""
        lines = [f"{self._to} {state}"]
        if self._named:
            lines = [f"{self._to} {state} {self.stride}", *self._named]
        self._disk.replace(self._path, "".join(f"{line}\n" for line in lines).encode())
        return state

    def remove(self) -> None:
        """The conversion has ended.  Raises OSError."""
        remove_durably(self._disk, self._path)
