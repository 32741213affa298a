"""The handle of a ledger's only writer, as far as it does not matter who gives the entries their ids."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.deferred_sync import DeferredSyncAdds, require_deferred_sync
from bookkeeper_tx.client.ensemble_change import change_ensemble
from bookkeeper_tx.client.explicit_last_add_confirmed import ExplicitLastAddConfirmed
from bookkeeper_tx.client.idle_publishing import IdlePublishing
from bookkeeper_tx.client.ledger_handle import LedgerHandle
from bookkeeper_tx.client.promised import promised
from bookkeeper_tx.client.writers_metadata import closed
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.driver import Promise, answer_all
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument, LedgerClosed, MetadataConflict, MetadataUnavailable
from bookkeeper_tx.model import BookieId, LedgerMetadata, Versioned, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields

ADD_OVERHEAD = {WireProtocol.V2: 28, WireProtocol.V3: 128}
"""Bytes of a frame beside the entry: V2's are exact, V3's varints make it an upper bound."""


class Appends(Protocol):
    """The appends of a writer on their way."""

    refusal: BookKeeperError | None
    """The error of new appends, once the writer takes no more."""

    def refuse(self, error: BookKeeperError) -> None:
        """Let new appends fail with ``error``, or with that of the first call."""

    async def drain(self) -> None:
        """Return when every append was acknowledged or has failed; no new one is taken."""


class WriteHandle(LedgerHandle):
    """Closes the ledger that a subclass appends to, makes it durable, and publishes what is confirmed."""

    _ADDS: ClassVar[type[Adds]] = Adds
    _DEFERRED_SYNC_ADDS: ClassVar[type[DeferredSyncAdds]] = DeferredSyncAdds

    _queue: Appends

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        versioned: Versioned,
        digest: EntryDigest,
        deferred_sync: bool = False,
    ) -> None:
        if deferred_sync:
            require_deferred_sync(context.config)
        metadata = versioned.metadata
        self.ledger_id = ledger_id
        """The whole id; see :class:`LedgerId`."""
        self._context = context
        self._versioned = versioned
        self._digest = digest
        self.payload_size_max = (
            context.config.frame_size_max - ADD_OVERHEAD[context.config.protocol] - digest.payload_offset_of(ledger_id)
        )
        """The largest payload, in bytes, that fits into a frame (``ClientConfig.frame_size_max``)."""
        self._driver = context.driver
        self._closing: list[Promise[None]] = []
        """What wait for the close under way."""
        quorum = Quorum.of(metadata)
        self._adds = (self._DEFERRED_SYNC_ADDS if deferred_sync else self._ADDS)(
            context,
            ledger_id,
            quorum,
            digest.master_key,
            metadata.last_fragment.ensemble,
            self._replace,
            last_add_confirmed=fields.NO_ENTRY,
            length=0,
        )
        self._explicit = ExplicitLastAddConfirmed(context, ledger_id, digest, quorum, self._adds)
        self._idle_publishing: IdlePublishing | None = None

    @property
    def last_add_confirmed(self) -> int:
        """Id of the last entry that is acknowledged together with all entries before it; NO_ENTRY at first.

        With deferred sync they must have been forced as well.
        """
        return self._adds.last_add_confirmed

    @property
    def length(self) -> int:
        """Payload bytes up to the last add confirmed."""
        return self._adds.length

    @property
    def metadata(self) -> LedgerMetadata:
        """The ledger's metadata as this writer last knew it."""
        return self._versioned.metadata

    @property
    def under_replicated(self) -> frozenset[BookieId]:
        """Bookies of the ledger that lack entries: they failed, there was no other, and the others are an ack quorum.

        Empty if all is well.  The log names each of them once.  When the ledger is closed, its custom metadata does so,
        too, as ``underReplicated``.
        """
        return self._adds.lacking

    @promised
    def force(self) -> Promise[None]:
        """Done when the entries acknowledged before this call are durable on every bookie of the ensemble.

        In a ledger with deferred sync only this moves the last add confirmed.  Without deferred sync, entries are
        durable when they are acknowledged.

        :raises RemoteError: of the first bookie that fails

        Protocol: docs/protocol/force-ledger.md#sec-force-ledger-client.
        """
        error = self._queue.refusal or self._adds.error
        if error is not None:
            return self._driver.fail(error.again())
        return self._driver.spawn(self._adds.force())

    @promised
    def write_last_add_confirmed(self) -> Promise[int]:
        """Publish the last add confirmed without an append; gives it when readers cannot miss it.

        With ``ClientConfig.explicit_lac_interval_s`` the writer does so by itself at that interval.
        Protocol: docs/protocol/last-add-confirmed.md#sec-write-lac.
        """
        return self._explicit.write()

    def publish_when_idle(self, delay_s: float) -> None:
        """From now on publish the last add confirmed whenever no append is on its way any more.

        That is at once behind an append alone, and ``delay_s`` seconds behind the last of several in a row.
        For what is built on writers, without deferred sync.
        Protocol: docs/protocol/last-add-confirmed.md#sec-write-lac.
        """
        self._idle_publishing = IdlePublishing(self._context, self._adds, self._explicit, delay_s)

    @promised
    def close(self) -> Promise[None]:
        """Wait for the outstanding appends, then close the ledger at the last add confirmed.

        With deferred sync the ledger is forced first.  If this writer has failed, it is not forced, and ends at the
        last entry that was forced before.

        Done at once if this handle has closed the ledger already.

        :raises LedgerFenced: another client is recovering the ledger
        :raises LedgerClosed: another client closed it at another entry; entries not acknowledged may exist or not
        :raises MetadataUnavailable: the ledger may be closed or not; close again to know

        Protocol: docs/protocol/add-entry.md#sec-add-entry-close, docs/formats/ledger-metadata.md#sec-ledger-states.
        """
        answer: Promise[None] = self._driver.promise()
        self._queue.refuse(LedgerClosed(f"ledger {ledger_name(self.ledger_id)} is closed: this writer has closed it"))
        self._closing.append(answer)
        if len(self._closing) == 1:
            self._driver.when_done(self._driver.spawn(self._close()), self._answer_close)
        return answer

    async def drained(self) -> None:
        """Return when every append so far is acknowledged; raises the error of this writer if it has failed.

        For what is built on writers: nothing is appended meanwhile.
        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        await self._queue.drain()
        if self._adds.error is not None:
            raise self._adds.error.again()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the ledger, also after an error: at the last entry that was acknowledged."""
        await self.close()

    def checked(self, payload: Any) -> bytes:
        """Return ``payload`` as :meth:`append` takes it; anybody may ask, on any thread.

        :raises InvalidArgument: it is not bytes, or too large for a frame

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        if type(payload) is bytes and len(payload) <= self.payload_size_max:
            return payload
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise InvalidArgument(f"payload must be bytes, not {type(payload).__name__}")
        checked = bytes(payload)
        if len(checked) > self.payload_size_max:
            raise InvalidArgument(
                f"payload of {len(checked)} bytes: at most {self.payload_size_max} fit into a frame of "
                f"{self._context.config.frame_size_max} bytes (ClientConfig.frame_size_max)"
            )
        return checked

    # Metadata --------------------------------------------------------------------------------------------------------

    async def _replace(
        self, broken: Mapping[int, BookieId], first_entry_id: int, avoided: Collection[BookieId]
    ) -> Sequence[BookieId]:
        self._versioned = await change_ensemble(
            self._context, self.ledger_id, self._versioned, broken, first_entry_id, avoided
        )
        return self._versioned.metadata.last_fragment.ensemble

    async def _close(self) -> None:
        await self._queue.drain()
        await self._adds.settle()
        self._explicit.stop()
        if self._idle_publishing is not None:
            self._idle_publishing.stop()
        self._adds.end_changes()
        store, ledger_id, end = self._context.store, self.ledger_id, (self.last_add_confirmed, self.length)
        while (metadata := closed(ledger_id, self.metadata, *end, self._adds.lacking)) is not None:
            try:
                self._versioned = await store.write_ledger(ledger_id, metadata, self._versioned.version)
                return
            except MetadataConflict:
                self._versioned = await store.read_ledger(ledger_id)
            except MetadataUnavailable as error:
                raise self._context.store_error(error) from error

    def _answer_close(self, error: Exception | None, _: Any) -> None:
        answers, self._closing = self._closing, []
        answer_all(answers, error)
