"""An entry log cut into pieces: as many entries as are moved together."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged, scan


class LogPieces:
    """The entries of the ledgers that ``is_here``, in the order of the log's file, which it closes.

    Calls block.
    """

    def __init__(
        self,
        file: File,
        metadata: EntryLogMetadata,
        is_here: Callable[[int], bool],
        entries_max: int,
        bytes_max: int,
    ) -> None:
        name = metadata.name
        self._file = file
        self._unread_bytes = metadata.total_bytes
        self._scan: Iterator[list[PlacedRun]] = scan(file, name.log_id, name.scoped)
        self._is_here = is_here
        self._entries_max = entries_max
        self._bytes_max = bytes_max
        self._found: deque[PlacedRun] = deque()

    def next(self) -> Sequence[PlacedRun]:
        """Return the next piece, empty at the end of the log.

        Raises OSError, and Damaged, also if all that was read is not what the metadata says.
        """
        piece: list[PlacedRun] = []
        entries, size = self._entries_max, self._bytes_max
        while entries > 0 and size > 0 and self._look():
            placed = self._found.popleft()
            run = placed.run
            fitting = min(entries, max(bisect_right(run.offsets, run.offsets[0] + size) - 1, 1))
            if fitting < run.count:
                placed, rest = _cut(placed, fitting)
                self._found.appendleft(rest)
            piece.append(placed)
            entries -= placed.run.count
            size -= placed.run.size
        return piece

    def close(self) -> None:
        self._file.close()

    def _look(self) -> bool:
        """Read on until an entry is found; return whether there is one."""
        is_here = self._is_here
        while not self._found:
            chunk = next(self._scan, None)
            if chunk is None:
                if self._unread_bytes:
                    raise Damaged(f"entry log {self._file.path} has other entries than its ledgers map says")
                return False
            self._unread_bytes -= sum(placed.run.size for placed in chunk)
            self._found.extend(placed for placed in chunk if is_here(placed.run.ledger_id))
        return True


def _cut(placed: PlacedRun, count: int) -> tuple[PlacedRun, PlacedRun]:
    """Return a run cut in two after ``count`` entries."""
    run = placed.run
    at = run.first_entry_id + count
    first, rest = run.part(run.first_entry_id, at - 1), run.part(at, run.last_entry_id)
    return PlacedRun(first, placed.base), PlacedRun(rest, placed.base)
