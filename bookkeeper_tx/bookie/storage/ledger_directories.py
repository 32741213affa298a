"""The ledger directories of a bookie: which of them has an entry log, and which gets the next one.

As in Java a log goes to a directory picked at random among those whose disks are not full.  Ours is another one than
that of the log before, and none in which the last write has failed, if there is one.
"""

import errno
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk, out_of_descriptors, remove_durably
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.entry_log import LOG_SUFFIX, SCOPED_LOG_SUFFIX

log = Logger()


class LedgerDirectories:
    """The directories of ``disks``, in the order of the configuration; ``choose`` picks one of several.

    Calls block, but for :meth:`directory_of` and :meth:`path`, which may come from any thread; the others come from one
    thread at a time.
    """

    def __init__(self, disk: Disk, disks: LedgerDisks, choose: Callable[[Sequence[str]], str] = random.choice) -> None:
        self.paths = list(disks.spaces)
        self._disk = disk
        self._disks = disks
        self._choose = choose
        self._first = self.paths[0]
        self._elsewhere: dict[str, str] = {}
        """The directories of the logs that are not in the first one, by file name."""
        self._failed: set[str] = set()
        """The directories in which the last write has failed."""

    @property
    def several(self) -> bool:
        """Whether there is a choice."""
        return len(self.paths) > 1

    # Which directory has a log ---------------------------------------------------------------------------------------

    def find(self) -> list[str]:
        """Find out where the logs are; return the names of all files.

        Raises OSError, and RefusedToStart for a log that is in two directories: one of them would not be read.
        """
        names: list[str] = []
        found: dict[str, str] = {}
        for directory in self.paths:
            for name in self._disk.list_directory(directory):
                names.append(name)
                if name.endswith((LOG_SUFFIX, SCOPED_LOG_SUFFIX)) and found.setdefault(name, directory) != directory:
                    raise RefusedToStart(
                        f"entry log {name} is in {found[name]} and in {directory}: ids are used once, so one of them "
                        "is a copy; move away that one"
                    )
        self._elsewhere = {name: directory for name, directory in found.items() if directory != self._first}
        return names

    def list_answering(self) -> list[str]:
        """Return the names in the directories that answer; raises OSError if none does.

        Whoever does not find a log here must not take it for gone.
        """
        names: list[str] = []
        failures: list[OSError] = []
        for directory in self.paths:
            try:
                names += self._disk.list_directory(directory)
            except OSError as error:
                log.error("cannot list {directory}: {error}", directory=directory, error=error)
                failures.append(error)
        if len(failures) == len(self.paths):
            raise failures[0]
        return names

    def directory_of(self, file_name: str) -> str:
        """Return the directory of a log."""
        return self._elsewhere.get(file_name, self._first)

    def path(self, file_name: str) -> str:
        """Return the path of a log."""
        return os.path.join(self._elsewhere.get(file_name, self._first), file_name)

    def has(self, file_name: str) -> bool:
        """Tell whether one of the directories has a file of this name; a broken one does not tell, and has none."""
        for directory in self.paths:
            with suppress(OSError):
                if self._disk.exists(os.path.join(directory, file_name)):
                    return True
        return False

    def begun(self, file_name: str, directory: str) -> None:
        """Know a new log."""
        if directory != self._first:
            self._elsewhere[file_name] = directory

    def remove(self, file_name: str) -> None:
        """Remove a log, durably; raises OSError."""
        remove_durably(self._disk, self.path(file_name))
        self._elsewhere.pop(file_name, None)

    def cut(self, file_name: str, size: int) -> None:
        """Cut a log off after so many bytes, durably; raises OSError."""
        with closing(self._disk.open(self.path(file_name), writable=True)) as file:
            file.truncate(size)
            file.sync()

    # Which directory gets the next one -------------------------------------------------------------------------------

    def check_room(self, size_bytes: int) -> None:
        """Raise OSError if no disk has room for so much."""
        if size_bytes > max(map(self._free_bytes, self.paths)):
            what = f"{os.strerror(errno.ENOSPC)} for {size_bytes} bytes of entries"
            raise OSError(errno.ENOSPC, what, ", ".join(self.paths))

    def is_to_leave(self, directory: str, size_bytes: int) -> bool:
        """Tell whether so many bytes are better put into a new log than into one in ``directory``.

        That is so if its disk is full, or has not so much room, while another is not, and has.
        """
        if not self.several:
            return False
        good = self._good(size_bytes)
        return bool(good) and directory not in good

    def next(self, last: str | None, size_bytes: int) -> str:
        """Return the directory for a new log, which ``size_bytes`` go to; ``last`` had the one before."""
        if not self.several:
            return self._first
        good = self._good(size_bytes) or [max(self.paths, key=self._free_bytes)]
        return self._choose([directory for directory in good if directory != last] or good)

    @contextmanager
    def writing(self, directory: str) -> Iterator[None]:
        """Know whether the block, which writes in ``directory`` and ends with a sync, has failed."""
        with self.trying(directory):
            yield
        self._failed.discard(directory)

    @contextmanager
    def trying(self, directory: str) -> Iterator[None]:
        """Know that the block, which writes in ``directory``, has failed: that it ends well tells nothing yet."""
        try:
            yield
        except OSError as error:
            if not out_of_descriptors(error):
                self._failed.add(directory)
            raise

    def _good(self, size_bytes: int) -> list[str]:
        """Return the directories that may get so many bytes, and have room for them."""
        allowed = self._disks.for_entry_log() or self.paths
        good = [directory for directory in allowed if self._free_bytes(directory) >= size_bytes]
        return [directory for directory in good if directory not in self._failed] or good

    def _free_bytes(self, directory: str) -> int:
        try:
            return self._disk.free_bytes(directory)
        except OSError:
            if not self.several:
                raise
            return 0  # a broken disk: the others can be written
