"""Copying entries of one ledger from other bookies into the storage of this one.

They are read by our client, which verifies them and asks one replica after the other, and sealed again: that makes the
bytes that the writer has sent.  Their journal is the note that the storage needs a check, which is there until they are
flushed.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import chain, islice
from typing import Any, Final

from twisted.internet.defer import CancelledError, DeferredList
from twisted.internet.task import deferLater

from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.integrity.durable import room
from bookkeeper_tx.bookie.storage.ledger import while_held
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.client.deferred_handles import LedgerReader
from bookkeeper_tx.config import MIB
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import Entry

SINGLES_BYTES: Final = 4 * MIB
"""Bytes of entries of a striped ledger that are read together, by what is known of their sizes."""

SINGLES_BYTES_MAX: Final = 32 * MIB
"""Bytes of them that are kept, where they turn out to be larger: other reads are given up, and made again later."""

SEALED_AT_ONCE: Final = 500
"""Entries that are sealed and stored in one turn of the reactor: a few milliseconds; no more are read singly."""

UNREADABLE_MAX: Final = 3
"""Entries that no bookie gives, after which the rest of the ledger is left for the next time."""


class LedgerGone(Exception):
    """The ledger was deleted, here or in the metadata store, or it is open and nothing of it has ever come here."""


class Copying:
    """Copies entries that ``reader`` reads; ``pace``, if there is one, is told of their bytes."""

    def __init__(self, clock: Any, reader: LedgerReader, storage: AnyStorage, pace: Pace | None) -> None:
        self._clock = clock
        self.reader = reader
        self._storage = storage
        self._pace = pace
        self.count = 0
        """Entries that were copied."""
        self.errors: list[BookKeeperError] = []
        """Why others could not be had."""

    async def copy(self, missing: Iterable[range]) -> None:
        """Copy entries as far as they can be had.  Raises LedgerGone, OSError."""
        if self.reader.quorum.striped:
            ids = (each for stretch in missing for each in stretch)
            given_up: list[int] = []
            while self._goes_on and (chunk := list(islice(chain(given_up, ids), self._singles))):
                given_up = [*await self._copy_singles(chunk), *given_up[len(chunk) :]]
        else:
            for stretch in missing:
                await self._copy_stretch(stretch)

    async def _copy_stretch(self, ids: range) -> None:
        """Copy consecutive entries; one that cannot be had is passed over."""
        at = ids.start
        while at < ids.stop and self._goes_on:
            try:
                async with aclosing(self.reader.entries(at, ids.stop - 1)) as pieces:
                    async for piece in pieces:
                        for first in range(0, len(piece), SEALED_AT_ONCE):
                            at += (await self._store(at, piece[first : first + SEALED_AT_ONCE])).count
                            await self._yield()
            except BookKeeperError as error:
                self.errors.append(error)
                at += 1

    async def _copy_singles(self, ids: Sequence[int]) -> list[int]:
        """Copy entries that lie apart, all together, in one turn of the reactor if there is room for them.

        Returns those that were given up, because the ones before them are larger than was expected.
        """
        reads = [self.reader.read_entry(each) for each in ids]
        kept_bytes = 0

        def keep(entry: Entry) -> Entry:
            nonlocal kept_bytes
            kept_bytes += len(entry.payload)
            if kept_bytes >= SINGLES_BYTES_MAX:
                for each in reads:
                    each.cancel()
            return entry

        for each in reads:
            each.addCallback(keep)
        asked: Any = DeferredList(reads, consumeErrors=True)
        entries: list[Entry] = []
        given_up: list[int] = []
        for entry_id, (is_read, found) in zip(ids, await asked, strict=True):
            if is_read:
                entries.append(found)
            elif isinstance(found.value, BookKeeperError):
                self.errors.append(found.value)
            elif isinstance(found.value, CancelledError) and kept_bytes >= SINGLES_BYTES_MAX:
                given_up.append(entry_id)
            else:
                found.raiseException()
        for run in _consecutive(entries):
            self.reader.window.learn(await self._store(run[0].entry_id, run))
        await self._yield()
        return given_up

    @property
    def _singles(self) -> int:
        """How many entries to read together."""
        return min(self.reader.single_reads_for(SINGLES_BYTES), SEALED_AT_ONCE)

    @property
    def _goes_on(self) -> bool:
        return len(self.errors) < UNREADABLE_MAX

    async def _store(self, first_entry_id: int, entries: Iterable[Entry]) -> EntryRun:
        ledger_id, seal = self.reader.ledger_id, self.reader.digest.seal
        sealed = [
            seal(ledger_id, each.entry_id, each.last_add_confirmed, each.length, each.payload) for each in entries
        ]
        run = EntryRun.of_entries(ledger_id, first_entry_id, sealed)
        await room(self._clock, self._storage)
        loader = self._storage.loader
        needed = ledger_id, run.first_entry_id, run.last_entry_id
        held = await loader.load_for_add(*needed)
        while not loader.is_loaded_for_add(*needed):
            held = await loader.load_for_add(*needed)
        while_held(held, self._add, run)
        self.count += run.count
        if self._pace is not None:
            await self._pace.spend(run.size)
        return run

    async def _yield(self) -> None:
        """Let clients come first."""
        await deferLater(self._clock, 0)

    def _add(self, run: EntryRun) -> None:
        ledger = self._storage.ledger(run.ledger_id)
        if ledger is None:
            raise LedgerGone
        self._storage.add(ledger, run)


def _consecutive(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Group ascending entries into those that follow one another."""
    run: list[Entry] = []
    for each in entries:
        if run and each.entry_id != run[-1].entry_id + 1:
            yield run
            run = []
        run.append(each)
    if run:
        yield run
