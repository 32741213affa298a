"""Recovery: fence a ledger that another client was writing, find its last entry, and close it there.

In this order (docs/protocol/recovery.md): IN_RECOVERY by compare and set; a fencing read of the last entry at a
covering set of the last ensemble; from the last add confirmed so found, each entry is read with fencing and written
back to its whole write set, until one is surely absent; CLOSED by compare and set.  If one of these cannot be decided,
the recovery fails and leaves the ledger IN_RECOVERY, and the next attempt goes on.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve, frozen

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.ensemble import replace_bookies
from bookkeeper_tx.client.last_add_confirmed import LastEntriesRead
from bookkeeper_tx.client.last_entries import LastEntries
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_entry import EntryRead
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    BookKeeperError,
    ClientClosed,
    DigestMismatch,
    MetadataConflict,
    NoSuchEntry,
    NoSuchLedger,
    Unauthorized,
)
from bookkeeper_tx.model import BookieId, Entry, Fragment, LedgerMetadata, LedgerState, Versioned, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields
from protocol_specs.wire.operations import Flag

WRITE_BACKS_MAX = 100
"""Entries that may be on their way back to their write sets while the next one is read."""


@frozen
class RecoveryRules:
    """The two rules without which recovery loses acknowledged entries; tests switch them off to see that it does."""

    reads_fence: bool = True
    """Every recovery read fences, not only those of the last entry (BK#2614)."""
    floor_at_last_fragment: bool = True
    """Reading starts no lower than the last fragment (BK#2615)."""


RULES = RecoveryRules()


class RecoveryRead:
    """Asks the whole write set for one entry; ``deferred`` fires with (entry, length), or None if it is surely absent.

    Surely absent: so many bookies of the write set say "no such entry" or "no such ledger" that the entry can never
    reach its ack quorum, since the ledger is fenced on them.  No other error counts, and one silent bookie does not
    delay the result.
    """

    def __init__(
        self, context: ClientContext, ledger_id: int, entry_id: int, quorum: Quorum, digest: EntryDigest
    ) -> None:
        self._context = context
        self._ledger_id = ledger_id
        self._entry_id = entry_id
        self._quorum = quorum
        self._digest = digest
        self._absent = 0
        self._waiting = quorum.write_quorum_size
        self._errors: list[tuple[BookieId, BookKeeperError]] = []
        self.deferred: Promise[tuple[bytes, int] | None] = context.driver.promise()

    def start(self, ensemble: Sequence[BookieId], fence: bool) -> "Promise[tuple[bytes, int] | None]":
        """Send the reads to the write set of the entry in ``ensemble``."""
        flags = Flag.HIGH_PRIORITY | Flag.FENCING if fence else Flag.HIGH_PRIORITY
        key = self._digest.master_key if fence else None
        for index in self._quorum.write_set(self._entry_id):
            bookie_id = ensemble[index]
            self._context.channel(bookie_id, self._ledger_id).read_entry(
                self._ledger_id, self._entry_id, partial(self._replied, bookie_id), flags=flags, master_key=key
            )
        return self.deferred

    def _replied(self, bookie_id: BookieId, error: BookKeeperError | None, entry: Any) -> None:
        if self.deferred.called:
            return
        self._waiting -= 1
        if error is None:
            try:
                _, _, length, _ = self._digest.verify(self._ledger_id, self._entry_id, entry)
            except DigestMismatch as mismatch:
                error = mismatch
            else:
                self.deferred.callback((entry, length))
                return
        if isinstance(error, (Unauthorized, ClientClosed)):
            self.deferred.errback(error)
            return
        if isinstance(error, (NoSuchEntry, NoSuchLedger)):
            self._absent += 1
        else:
            self._context.bookies.quarantine(bookie_id, error)
            self._errors.append((bookie_id, error))
        if self._absent >= self._quorum.absence_size:
            self.deferred.callback(None)
        elif not self._waiting:
            self.deferred.errback(self._undecided())

    def _undecided(self) -> BookKeeperError:
        reasons = "; ".join(f"{bookie}: {error}" for bookie, error in self._errors)
        return type(self._errors[0][1])(
            f"entry {self._entry_id} of ledger {ledger_name(self._ledger_id)} can neither be read nor is it surely "
            f"absent ({reasons}); the ledger stays in recovery: open it again when these bookies are back"
        )


class Outcome:
    """The metadata that one attempt will close with: those that it found, and the fragments of its write-backs."""

    def __init__(self, context: ClientContext, ledger_id: int, found: LedgerMetadata) -> None:
        self._context = context
        self._ledger_id = ledger_id
        self.metadata = found

    async def replace(
        self, broken: Mapping[int, BookieId], first_entry_id: int, avoided: Collection[BookieId]
    ) -> Sequence[BookieId]:
        """Choose other bookies; they are written down when the ledger is closed."""
        ensemble = self.metadata.last_fragment.ensemble
        replaced = await replace_bookies(self._context, self._ledger_id, ensemble, broken, avoided)
        self.metadata = self.metadata.with_fragment(Fragment(first_entry_id, replaced))
        return replaced


class Recovery:
    """One recovery of one ledger."""

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        versioned: Versioned,
        digest: EntryDigest,
        rules: RecoveryRules = RULES,
    ) -> None:
        self._context = context
        self._ledger_id = ledger_id
        self._digest = digest
        self._rules = rules
        metadata = versioned.metadata
        self._quorum = Quorum.of(metadata)
        self._versioned = versioned

    async def run(self) -> Versioned:
        """Close the ledger, or find that another client has closed it; return its metadata."""
        while not self._versioned.metadata.closed:
            await self._enter()
            if self._versioned.metadata.closed:
                break
            recovered = self._versioned
            outcome = Outcome(self._context, self._ledger_id, recovered.metadata)
            last_entry_id, length = await self._recover(outcome)
            await self._close(recovered, outcome.metadata.with_close(last_entry_id, length))
        return self._versioned

    async def _enter(self) -> None:
        """Set IN_RECOVERY: from then on no writer can change the ensemble."""
        store = self._context.store
        while self._versioned.metadata.state is LedgerState.OPEN:
            try:
                self._versioned = await store.write_ledger(
                    self._ledger_id,
                    self._versioned.metadata.with_state(LedgerState.IN_RECOVERY),
                    self._versioned.version,
                )
            except MetadataConflict:
                self._versioned = await store.read_ledger(self._ledger_id)

    async def _recover(self, outcome: Outcome) -> tuple[int, int]:
        """Fence, read forward and write back; return last entry id and length."""
        fragment = self._versioned.metadata.last_fragment
        fencing = LastEntriesRead(self._context, self._ledger_id, fragment, self._quorum, self._digest, fence=True)
        known = await fencing.start()
        floor = known.last_add_confirmed
        if self._rules.floor_at_last_fragment:
            floor = max(floor, fragment.first_entry_id - 1)
        adds = Adds(
            self._context,
            self._ledger_id,
            self._quorum,
            self._digest.master_key,
            fragment.ensemble,
            outcome.replace,
            last_add_confirmed=floor,
            length=0,
            flags=Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY,
        )
        try:
            last = await self._write_back(fragment, floor, adds)
        finally:
            # An answer that comes later must change nothing: another attempt may be under way.
            adds.end_changes()
        if last > floor:
            return last, adds.length
        return floor, await self._length_at(floor, known)

    async def _write_back(self, fragment: Fragment, floor: int, adds: Adds) -> int:
        """Read entries after ``floor`` and add them again until one is absent; return the last one's id."""
        entry_id = floor + 1
        while adds.error is None:
            # Read from the ensemble in the metadata always: that of the adds may lack bookies that store more entries.
            read = RecoveryRead(self._context, self._ledger_id, entry_id, self._quorum, self._digest)
            found = await read.start(fragment.ensemble, self._rules.reads_fence)
            if found is None:
                break
            adds.push(entry_id, found[0], found[1], None, None)
            entry_id += 1
            await adds.when_fewer(WRITE_BACKS_MAX)
        await adds.when_fewer(1)
        if adds.error is not None:
            raise type(adds.error)(
                f"ledger {ledger_name(self._ledger_id)} stays in recovery, its entry {adds.last_add_confirmed + 1} "
                f"could not be written back: {adds.error}"
            )
        return entry_id - 1

    async def _length_at(self, entry_id: int, known: LastEntries) -> int:
        """Return the payload bytes of the ledger up to ``entry_id``, which was acknowledged."""
        if entry_id == fields.NO_ENTRY:
            return 0
        if entry_id in known.lengths:
            return known.lengths[entry_id]
        # It may lie in an earlier fragment; like any acknowledged entry it can be read from any replica that has it.
        reader = LedgerView(self._context, self._ledger_id, self._versioned, self._digest, entry_id)
        read = EntryRead(reader, entry_id)
        read.start()
        try:
            entry: Entry = await read.deferred
        except BookKeeperError as error:
            raise type(error)(
                f"ledger {ledger_name(self._ledger_id)} stays in recovery: its last entry {entry_id}, which says how "
                f"long the ledger is, cannot be read: {error}; open it again when one of the entry's bookies is back"
            ) from error
        finally:
            reader.close()
        return entry.length

    async def _close(self, recovered: Versioned, closed: LedgerMetadata) -> None:
        """Close by compare and set; on a conflict return to :meth:`run`, unless only the version is new."""
        store = self._context.store
        while True:
            try:
                self._versioned = await store.write_ledger(self._ledger_id, closed, self._versioned.version)
                return
            except MetadataConflict:
                self._versioned = await store.read_ledger(self._ledger_id)
            found = self._versioned.metadata
            if (found.state, found.fragments) != (recovered.metadata.state, recovered.metadata.fragments):
                # Either another recovery has closed the ledger, or bookies were replaced: then run() recovers on those.
                return
            closed = evolve(closed, custom_metadata=found.custom_metadata)
