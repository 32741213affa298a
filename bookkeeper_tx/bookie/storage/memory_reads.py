"""Single reads of many ledgers, as far as what they ask for is in memory, in one loop.

This is the hot path of reads whose ledgers alternate: a call for each question would cost more than the entry.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.write_cache import Held, LedgerRuns
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun

_NO_RUN: tuple[Ledger | None, None] = (None, None)


class FoundReads(NamedTuple):
    """What was found of a sequence of reads."""

    indexes: list[int]
    """Which of the reads have their entry in memory, ascending."""
    entries: list[bytes]
    """Their entries."""
    confirmed: list[int]
    """The last add confirmed of the ledger of each."""
    others: list[int]
    """The indexes of the reads that have not."""
    end: int
    """How many of the reads were looked at."""


class WriteCaches(Protocol):
    """What is not flushed yet."""

    @property
    def finders(self) -> Sequence[Callable[[int], LedgerRuns | None]]:
        """What gives the entries there of a ledger, the latest first."""


class MemoryReads:
    """Finds entries in the write caches and in the read cache.

    :param in_memory: gives the handle of a ledger in memory
    :param used: is told of each ledger that was read, so that its handle stays
    :param write_caches: has the entries that are not flushed yet
    :param read_ahead: gives the run of the read cache that holds an entry, by ledger id and entry id
    """

    def __init__(
        self,
        in_memory: Callable[[int], Ledger | None],
        used: Callable[[int], None],
        write_caches: WriteCaches,
        read_ahead: Callable[[int, int], EntryRun | None],
    ) -> None:
        self.in_memory = in_memory
        self.used = used
        self.write_caches = write_caches
        self.read_ahead = read_ahead

    def find(self, reads: Sequence[tuple[int, int]], size_max: int) -> FoundReads:
        """Find entries by ledger id and entry id, until those found have ``size_max`` bytes or more."""
        found = FoundReads([], [], [], [], len(reads))
        indexes, entries, confirmed, others, _ = found
        in_memory, used, read_ahead = self.in_memory, self.used, self.read_ahead
        write_caches = self.write_caches.finders
        runs: dict[int, tuple[Ledger, EntryRun]] = {}
        size = 0
        for index, (ledger_id, entry_id) in enumerate(reads):
            if size >= size_max:
                return found._replace(end=index)
            ledger, run = runs.get(ledger_id, _NO_RUN)
            if run is None or not 0 <= entry_id - run.first_entry_id < len(run.offsets) - 1:
                held: Held | None = None
                ledger, is_shadowed = in_memory(ledger_id), False
                if ledger is None or entry_id < 0:
                    others.append(index)
                    continue
                used(ledger_id)
                for find_in in write_caches:
                    of_ledger = find_in(ledger_id)
                    if of_ledger is not None:
                        held = of_ledger.find_held(entry_id)
                        if held is not None:
                            break
                        is_shadowed = True
                if isinstance(held, bytes):
                    run, entry = None, held[RECORD_LENGTH_SIZE:]
                else:
                    run = held or read_ahead(ledger_id, entry_id)
                    if run is None:
                        others.append(index)
                        continue
                    # A place that was looked at before may have a later copy of another entry of the run.
                    if not is_shadowed:
                        runs[ledger_id] = ledger, run
            if run is not None:
                offsets, at = run.offsets, entry_id - run.first_entry_id
                entry = run.buffer[offsets[at] + RECORD_LENGTH_SIZE : offsets[at + 1]]
            assert ledger is not None
            indexes.append(index)
            entries.append(entry)
            confirmed.append(ledger.last_add_confirmed)
            size += len(entry)
        return found
