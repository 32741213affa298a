"""The handle of a ledger's only writer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.append_queue import AppendQueue
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.deferred_sync import DeferredSyncAdds, require_deferred_sync
from bookkeeper_tx.client.ensemble_change import change_ensemble
from bookkeeper_tx.client.explicit_last_add_confirmed import ExplicitLastAddConfirmed
from bookkeeper_tx.client.promised import promised
from bookkeeper_tx.client.writers_metadata import closed
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    InvalidArgument,
    LedgerClosed,
    MetadataConflict,
)
from bookkeeper_tx.model import BookieId, LedgerMetadata, Versioned, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields

ADD_OVERHEAD = {WireProtocol.V2: 28, WireProtocol.V3: 128}
"""Bytes of a frame beside the entry: V2's are exact, V3's varints make it an upper bound."""


class LedgerWriter:
    """Appends to one ledger, and closes it.

    Appends are sent in the order of the calls and complete in that order.  At most
    ``ClientConfig.outstanding_adds_max`` are on their way, of at most ``outstanding_bytes_max``; as many again are held
    back, and more than that fail.
    """

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
        self._payload_size_max = (
            context.config.frame_size_max - ADD_OVERHEAD[context.config.protocol] - digest.payload_offset_of(ledger_id)
        )
        self._driver = context.driver
        self._closing: list[Promise[None]] = []
        """What wait for the close under way."""
        quorum = Quorum.of(metadata)
        self._adds = (DeferredSyncAdds if deferred_sync else Adds)(
            context,
            ledger_id,
            quorum,
            digest.master_key,
            metadata.last_fragment.ensemble,
            self._replace,
            last_add_confirmed=fields.NO_ENTRY,
            length=0,
        )
        self._queue = AppendQueue(context.driver, context.config, ledger_id, digest, self._adds)
        self._explicit = ExplicitLastAddConfirmed(context, ledger_id, digest, quorum, self._adds)

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

    @promised
    def append(self, payload: bytes) -> Promise[int]:
        """Append one entry; fires with its id when the ack quorum has stored it and every entry before it.

        :param payload: bytes that fit into a frame: 5 MiB less some 100 bytes, see ``ClientConfig.frame_size_max``
        :raises InvalidArgument: the payload is larger, or is not bytes
        :raises TooManyOutstandingAdds: too many appends wait already
        :raises LedgerClosed: this writer was closed
        :raises LedgerFenced: another client took the ledger over; the entry may exist or not
        :raises NotEnoughBookies: a bookie failed, and there is none to take its place; the ledger takes no more
        :raises RemoteError: of a bookie, as AuthenticationFailed; the ledger takes no more

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        if type(payload) is not bytes or len(payload) > self._payload_size_max:
            try:
                payload = self.checked(payload)
            except InvalidArgument as error:
                return self._driver.fail(error)
        return self._queue.append(payload)

    @promised
    def append_many(self, payloads: Iterable[bytes]) -> Promise[range]:
        """Append entries in order; fires once with the range of their ids when all are acknowledged.

        Entries are read from ``payloads`` as there is room for them, so a generator may give any number.  Those of a
        list or a tuple are checked before the first one is sent.

        :param payloads: one for each entry, as for :meth:`append`; without any, the range is empty
        :raises InvalidArgument: as of :meth:`append`; nothing is stored of a list or a tuple, and the entries before it
            of any other iterable; the same holds for what the iterable itself raises, be it a KeyboardInterrupt
        :raises TooManyOutstandingAdds: nothing is stored
        :raises BookKeeperError: the other errors of :meth:`append`; a prefix of the entries may have been stored

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        checked = (
            payload if type(payload) is bytes and len(payload) <= self._payload_size_max else self.checked(payload)
            for payload in payloads
        )
        if not isinstance(payloads, Sequence):
            return self._queue.append_many(checked, 1)
        try:
            found = list(checked)
        except InvalidArgument as error:
            return self._driver.fail(error)
        return self._queue.append_many(found, len(found))

    @promised
    def force(self) -> Promise[None]:
        """Fire when the entries acknowledged before this call are durable on every bookie of the ensemble.

        In a ledger with deferred sync only this moves the last add confirmed.  Without deferred sync, entries are
        durable when they are acknowledged.

        :raises RemoteError: of the first bookie that fails

        Protocol: docs/protocol/force-ledger.md#sec-force-ledger-client.
        """
        error = self._queue.refusal or self._adds.error
        return self._driver.fail(error) if error is not None else self._driver.spawn(self._adds.force())

    @promised
    def write_last_add_confirmed(self) -> Promise[int]:
        """Publish the last add confirmed without an append; fires with it when readers cannot miss it.

        With ``ClientConfig.explicit_lac_interval_s`` the writer does so by itself at that interval.
        Protocol: docs/protocol/last-add-confirmed.md#sec-write-lac.
        """
        return self._explicit.write()

    @promised
    def close(self) -> Promise[None]:
        """Wait for the outstanding appends, then close the ledger at the last add confirmed.

        With deferred sync the ledger is forced first.  If this writer has failed, it is not forced, and ends at the
        last entry that was forced before.

        Fires at once if this handle has closed the ledger already.

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
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise InvalidArgument(f"payload must be bytes, not {type(payload).__name__}")
        checked = bytes(payload)
        if len(checked) > self._payload_size_max:
            raise InvalidArgument(
                f"payload of {len(checked)} bytes: at most {self._payload_size_max} fit into a frame of "
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
        queue = self._queue
        while not queue.empty:
            if queue.releasing:
                # The payloads that are being read have called close().
                turn: Promise[None] = self._driver.promise()
                self._driver.clock.callLater(0, turn.callback, None)
                await turn
                continue
            # The callback of an append may call close() when none is pending and the held ones are not sent yet.
            queue.release()
            await self._adds.when_fewer(1)
        await self._adds.settle()
        self._explicit.stop()
        store, ledger_id, end = self._context.store, self.ledger_id, (self.last_add_confirmed, self.length)
        while (metadata := closed(ledger_id, self.metadata, *end)) is not None:
            try:
                self._versioned = await store.write_ledger(ledger_id, metadata, self._versioned.version)
                return
            except MetadataConflict:
                self._versioned = await store.read_ledger(ledger_id)

    def _answer_close(self, error: Exception | None, _: Any) -> None:
        answers, self._closing = self._closing, []
        for answer in answers:
            if error is None:
                answer.callback(None)
            else:
                answer.errback(error)
