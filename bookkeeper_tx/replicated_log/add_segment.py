"""Adding a ledger to the list of a log: by a writer that opens it, and by one that rolls it."""

from collections.abc import Callable
from contextlib import suppress

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.errors import (
    BookKeeperError,
    ClientClosed,
    LedgerExists,
    LogFenced,
    MetadataConflict,
    MetadataCorrupt,
    MetadataError,
    NoSuchLedger,
    NoSuchLog,
)
from bookkeeper_tx.replicated_log.acknowledgement import TAKEN
from bookkeeper_tx.replicated_log.leftover import LOG_NAME, delete_leftovers, is_listed
from bookkeeper_tx.replicated_log.log_metadata import LogMetadata, VersionedList
from bookkeeper_tx.replicated_log.segment_list import LogSegment, SegmentList


class SegmentAdder:
    """Adds ledgers to the list of one log."""

    def __init__(self, client: AnyClient, metadata: LogMetadata, password: bytes) -> None:
        self.client = client
        self.metadata = metadata
        self.password = password
        self._made: LedgerWriter | None = None
        """A ledger that is not in the list, or perhaps: the answer of the store may have been lost."""
        self._noted: LogSegment | None = None
        """Its note: for which place in the list it was made.  It is added there or nowhere."""
        self._unanswered: int | None = None
        """The version against which the list was written without an answer: that write may still be carried out."""

    async def take(self, still_leads: Callable[[], bool]) -> tuple[LedgerWriter, LogSegment]:
        """Add a ledger to the list as a new writer of the log: nobody who wrote it before writes any more.

        Raises LogFenced if ``still_leads`` says no, at first or when somebody else has changed the list meanwhile;
        NoSuchLog.
        """
        while True:
            found = await self.metadata.read()
            await self._give_up_place(found.segments)
            if not still_leads():
                await self.drop()
                raise LogFenced(f"log {self.metadata.name}: this writer leads no longer, and another one may take it")
            if await self._fence_last_two(found):
                added = await self._add(found)
                if added is not None:
                    await self._delete_leftovers(added[2])
                    return added[:2]

    async def follow(self, current: int) -> tuple[LedgerWriter, LogSegment]:
        """Add a ledger to the list behind ``current``, the id of the one that this writer of the log is writing.

        Raises LogFenced if another writer has added one, NoSuchLog.
        """
        while True:
            found = await self.metadata.read()
            last = found.segments.last
            made = self._made
            if made is not None and last is not None and last.ledger_id == made.ledger_id:
                self._made = None
                await self._forget()
                return made, last
            if last is None or last.ledger_id != current:
                await self.drop()
                raise LogFenced(f"log {self.metadata.name}: {TAKEN}")
            added = await self._add(found)
            if added is not None:
                await self._forget()
                return added[:2]

    async def drop(self) -> None:
        """Delete the ledger that was made, if it is certain that it is not in the list and never will be.

        It may be there though the list is said to be changed by somebody else: after a lost answer that somebody may
        have come behind this change.
        """
        made, self._made = self._made, None
        if made is not None:
            with suppress(BookKeeperError):
                if not await self._may_be_listed(made.ledger_id):
                    await self.client.delete_ledger(made.ledger_id)
                    await self._forget()

    async def _give_up_place(self, segments: SegmentList) -> None:
        """Let go of a ledger that was made for a place in the list in which there is one now."""
        if self._made is not None and self._noted is not None:
            listed = await is_listed(self.metadata, segments, self._noted)
            if listed is False:
                await self.drop()  # others may have deleted it: they see as well that no list will have it
            elif listed:
                self._made = None  # it was added, and whoever has changed the list after that has fenced it, or will

    async def _delete_leftovers(self, segments: SegmentList) -> None:
        try:
            await delete_leftovers(self.client, self.metadata, segments)
        except MetadataCorrupt as error:
            self.client.driver.warn(str(error))
        except BookKeeperError:
            pass  # the next who opens the log does it

    async def _forget(self) -> None:
        """Delete the note of what was made, or leave it to the next who opens the log."""
        noted, self._noted = self._noted, None
        if noted is not None:
            with suppress(BookKeeperError):
                await self.metadata.forget(noted)

    async def _may_be_listed(self, ledger_id: int) -> bool:
        try:
            found = await self.metadata.read()
        except NoSuchLog:
            return False
        return found.segments.holds(ledger_id) or found.version == self._unanswered

    async def _fence_last_two(self, found: VersionedList) -> bool:
        """Fence and close them; return whether that is done, or the list has changed."""
        for segment in reversed(found.segments.last_two):
            try:
                reader = await self.client.open_ledger(segment.ledger_id, self.password)
            except NoSuchLedger:
                if (await self.metadata.read()).version == found.version:
                    raise
                return False
            reader.close()
        return True

    async def _add(self, found: VersionedList) -> tuple[LedgerWriter, LogSegment, SegmentList] | None:
        """Write the list back with one ledger more, and return it; None if somebody else has changed it."""
        if self._made is None:
            self._made = await self._create(found.segments.next_sequence_no)
        await self.metadata.store_chunk(found.segments.chunk_to_store)
        now_ms = int(self.client.driver.epoch_s() * 1000)
        segments: SegmentList = found.segments.with_ledger(self._made.ledger_id, now_ms)
        self._unanswered = found.version
        try:
            await self.metadata.write(segments, found.version)
        except MetadataConflict:
            self._unanswered = None
            return None
        self._unanswered = None
        writer, self._made = self._made, None
        assert segments.last is not None
        return writer, segments.last, segments

    async def _create(self, sequence_no: int) -> LedgerWriter:
        """Make a ledger for a place in the list, which is noted first: should this writer die, others find it."""
        properties = self.metadata.properties
        sizes = properties.ensemble_size, properties.write_quorum_size, properties.ack_quorum_size
        custom = {LOG_NAME: self.metadata.name.encode()}
        while True:
            noted = LogSegment(sequence_no, await self.client.metadata.new_ledger_id(), 0)
            await self.metadata.note(noted)
            self._noted = noted
            try:
                writer: LedgerWriter = await self.client.create_ledger(
                    *sizes, properties.digest_type, self.password, custom, ledger_id=noted.ledger_id
                )
                return writer
            except LedgerExists:
                await self._forget()  # somebody has chosen this id
            except (MetadataError, ClientClosed):
                raise  # the store may have made it, so the note stays
            except BookKeeperError:
                await self._forget()
                raise
