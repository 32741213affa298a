"""The space of the disks: which are full, whether the bookie takes adds then, and what may use the rest (Java's rules).

A full disk keeps a reserve, for what makes room or ends recoveries: adds of high priority, logs of compaction, indexes.
"""

from collections.abc import Sequence
from contextlib import closing

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.config import BookieConfig

log = Logger()


class Space:
    """Judges the space of a disk by the thresholds of ``config``; each look begins where the one before has ended."""

    def __init__(self, config: BookieConfig) -> None:
        self._config = config
        self.used = 0.0
        """The part of it that is used, from 0 to 1."""
        self.free_bytes = 0
        """The bytes that may be written to it."""
        self.full = False
        """Whether it was used above the threshold, and since then not below the low-water mark."""
        self.short = False
        """Whether it is nearly full."""
        self.answers = True
        """Whether it could be looked at; if not, the rest is as it was before."""

    def look(self, total_bytes: int, free_bytes: int) -> None:
        """Take notice of a disk's size, and of the bytes that may be written to it."""
        config = self._config
        used = 1 - free_bytes / total_bytes if total_bytes else 0.0
        low_water = config.disk_usage_low_water or config.disk_usage_threshold
        self.used, self.free_bytes = used, free_bytes
        self.short = used > config.disk_usage_warn_threshold
        self.full = used > config.disk_usage_threshold or (self.full and used > low_water)


class LedgerDisks:
    """The disks of ``directories``, those of the ledgers or of the indexes, as they were at the last :meth:`look`.

    Until then they count as empty.  ``apart``: each has a storage of its own, so none can stand in for another.
    """

    def __init__(self, disk: Disk, directories: Sequence[str], config: BookieConfig, apart: bool = False) -> None:
        self._disk = disk
        self._config = config
        self._apart = apart
        self.spaces = {directory: Space(config) for directory in directories}
        """By directory; in the order of the configuration."""

    def look(self) -> None:
        """Find out how full they are.  Blocks; raises OSError if one does not tell, after all others have."""
        failed: OSError | None = None
        for directory, space in self.spaces.items():
            before = space.short, space.full
            try:
                space.look(self._disk.total_bytes(directory), self._disk.free_bytes(directory))
                space.answers = True
            except OSError as error:
                space.answers = False
                failed = error
            if (space.short, space.full) != before:
                _tell(directory, space)
        if failed is not None:
            raise failed

    def only(self, directory: str) -> "LedgerDisks":
        """Return those of one directory, which know what these do."""
        disks = LedgerDisks(self._disk, (), self._config)
        disks.spaces = {directory: self.spaces[directory]}
        return disks

    @property
    def writable(self) -> list[str]:
        """The directories whose disks answer, and are not full."""
        return [directory for directory, space in self.spaces.items() if space.answers and not space.full]

    @property
    def full(self) -> bool:
        """Whether one of the disks is full: no time for compaction, which needs room to make some."""
        return bool(self.full_directories)

    @property
    def full_directories(self) -> frozenset[str]:
        """The directories whose disks are full."""
        return frozenset(directory for directory, space in self.spaces.items() if space.full)

    def takes_copies(self, many: bool) -> bool:
        """Whether entries may be moved to one of the disks, to make room: ``many`` only if it is not nearly full."""
        return any(space.answers and not (space.short if many else space.full) for space in self.spaces.values())

    @property
    def read_only(self) -> bool:
        """Whether adds are to be refused, but for those of high priority."""
        if self._apart and len(self.writable) < len(self.spaces):
            return True
        return not self.writable or (self.full and self._config.read_only_on_any_disk_full)

    @property
    def reserve_used(self) -> bool:
        """Whether all disks are full, or do not answer, and none has room for adds of high priority.

        If they are ``apart`` one that has none is enough.
        """
        with_room = {*self.writable, *self._with_more_than(self._config.high_priority_free_bytes_min)}
        return len(with_room) < len(self.spaces) if self._apart else not with_room

    def for_entry_log(self) -> list[str]:
        """Return the directories in which a new entry log may be begun, also by compaction.  None: there is no room."""
        return self.writable or self._with_more_than(self._config.entry_log_free_bytes_min)

    def for_index_file(self) -> list[str]:
        """Return the directories in which a new index file may be made.  None: there is no room."""
        return self.writable or self._with_more_than(self._config.index_file_free_bytes_min)

    def _with_more_than(self, free_bytes_min: int) -> list[str]:
        return [each for each, space in self.spaces.items() if space.answers and space.free_bytes > free_bytes_min]


def space_of(disk: Disk, directories: Sequence[str]) -> tuple[int, int]:
    """Return the bytes of the disks of ``directories``, each of which counts once, and those that may be written.

    Blocks; raises OSError.
    """
    by_device: dict[int, str] = {}
    for directory in directories:
        with closing(disk.open_directory(directory)) as opened:
            by_device.setdefault(opened.identity[0], directory)
    disks = by_device.values()
    return sum(map(disk.total_bytes, disks)), sum(map(disk.free_bytes, disks))


def _tell(directory: str, space: Space) -> None:
    state = "full" if space.full else "nearly full" if space.short else "no longer nearly full"
    say = log.error if space.full else log.warn if space.short else log.info
    say("the disk of {directory} is {state}: {used:.1%} used", directory=directory, state=state, used=space.used)
