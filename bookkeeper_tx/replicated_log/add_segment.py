"""Adding a ledger to the list of a log: by a writer that opens it, and by one that rolls it."""

from collections.abc import Callable
from contextlib import suppress

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.errors import BookKeeperError, LogFenced, MetadataConflict, NoSuchLedger, NoSuchLog
from bookkeeper_tx.replicated_log.acknowledgement import TAKEN
from bookkeeper_tx.replicated_log.log_metadata import LogMetadata, VersionedList
from bookkeeper_tx.replicated_log.segment_list import LogSegment, SegmentList

LOG_NAME = "log"
"""Key of the custom metadata of a log's ledgers: the name of the log."""


class SegmentAdder:
    """Adds ledgers to the list of one log."""

    def __init__(self, client: AnyClient, metadata: LogMetadata, password: bytes) -> None:
        self.client = client
        self.metadata = metadata
        self.password = password
        self._made: LedgerWriter | None = None
        """A ledger that is not in the list, or perhaps: the answer of the store may have been lost."""
        self._unanswered: int | None = None
        """The version against which the list was written without an answer: that write may still be carried out."""

    async def take(self, still_leads: Callable[[], bool]) -> tuple[LedgerWriter, LogSegment]:
        """Add a ledger to the list as a new writer of the log: nobody who wrote it before writes any more.

        Raises LogFenced if ``still_leads`` says no when somebody else has changed the list meanwhile, NoSuchLog.
        """
        while True:
            found = await self.metadata.read()
            if self._made is not None and found.segments.holds(self._made.ledger_id):
                self._made = None  # it was added, and whoever has changed the list after that has fenced it, or will
            if await self._fence_last_two(found):
                added = await self._add(found)
                if added is not None:
                    return added
            if not still_leads():
                await self.drop()
                raise LogFenced(f"log {self.metadata.name}: another writer is taking it, and this one leads no longer")

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
                return made, last
            if last is None or last.ledger_id != current:
                await self.drop()
                raise LogFenced(f"log {self.metadata.name}: {TAKEN}")
            added = await self._add(found)
            if added is not None:
                return added

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

    async def _add(self, found: VersionedList) -> tuple[LedgerWriter, LogSegment] | None:
        """Write the list back with one ledger more; return None if somebody else has changed it."""
        if self._made is None:
            self._made = await self._create()
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
        return writer, segments.last

    async def _create(self) -> LedgerWriter:
        properties = self.metadata.properties
        writer: LedgerWriter = await self.client.create_ledger(
            properties.ensemble_size,
            properties.write_quorum_size,
            properties.ack_quorum_size,
            properties.digest_type,
            self.password,
            {LOG_NAME: self.metadata.name.encode()},
        )
        return writer
