"""The journals before they are written: their marks, their replay, and what is given up when space is short."""

from collections.abc import Sequence

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal import files, replay
from bookkeeper_tx.bookie.journal.last_mark import (
    BEGINNING,
    LogMark,
    combined,
    marks_of,
    read_last_mark,
    write_last_mark,
)
from protocol_specs.disk.last_mark import file_name


class JournalsAtStart:
    """The journals in ``directories``, whose marks are in ``ledger_directories``.  Calls block; all raise OSError."""

    def __init__(self, disk: Disk, directories: Sequence[str], ledger_directories: Sequence[str]) -> None:
        self._disk = disk
        self._directories = directories
        self._ledger_directories = ledger_directories
        self._mark_names = [file_name(index, len(directories)) for index in range(len(directories))]

    def read_mark(self) -> LogMark:
        """Return the mark of all journals, combined."""
        return combined([read_last_mark(self._disk, self._ledger_directories, name) for name in self._mark_names])

    def write_mark(self, mark: LogMark) -> None:
        """Store the mark of each journal durably."""
        for name, each in zip(self._mark_names, marks_of(mark), strict=True):
            if each != BEGINNING:  # there was never a file that it could name
                write_last_mark(self._disk, self._ledger_directories, each, name)

    def replay(self, mark: LogMark, sink: replay.ReplaySink, read_only: bool) -> replay.Replayed:
        """Replay one journal after the other, as :func:`replay.replay` does."""
        replayed = [
            replay.replay(self._disk, directory, each, sink, read_only)
            for directory, each in zip(self._directories, marks_of(mark), strict=True)
        ]
        return replay.Replayed(
            combined([each.mark for each in replayed]),
            sum(each.entry_count for each in replayed),
            tuple(dropped for each in replayed for dropped in each.dropped),
        )

    def way_out(self, mark: LogMark, read_only: bool, unindexed: bool) -> str:
        """Tell what to do when what the journals have behind ``mark`` can neither be flushed nor be kept in memory.

        ``unindexed``: it must not be flushed.
        """
        size, first = self.bytes_behind(mark), ", ".join(self.first_needed(mark))
        room = f"free as many on the disk of {', '.join(self._ledger_directories)}, or "
        room = "mount it for writing, or " if read_only else "" if unindexed else room
        return (
            f"It has {size} bytes: {room}give the bookie a write cache of so many (skipListSizeLimit). "
            f"Only journal files older than {first} may be moved away"
        )

    def bytes_behind(self, mark: LogMark) -> int:
        """Return how many bytes all journals have behind ``mark``."""
        pairs = zip(self._directories, marks_of(mark), strict=True)
        return sum(files.bytes_behind(self._disk, directory, each) for directory, each in pairs)

    def first_needed(self, mark: LogMark) -> list[str]:
        """Return the path of the marked file of each journal: those before it are not needed."""
        pairs = zip(self._directories, marks_of(mark), strict=True)
        return [files.file_path(directory, each.journal_id) for directory, each in pairs]

    def give_up_old(self, mark: LogMark, short: bool) -> list[str]:
        """Remove the files before ``mark`` if space is ``short``, or too little for what is behind it; return them."""
        removed: list[str] = []
        for directory, each in zip(self._directories, marks_of(mark), strict=True):
            if short or self._disk.free_bytes(directory) < files.bytes_behind(self._disk, directory, each):
                removed += files.remove_before(self._disk, directory, each, 0)
        return removed
