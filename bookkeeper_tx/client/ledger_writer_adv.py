"""The handle of a ledger's only writer, whose application gives each entry its id."""

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.given_id_adds import DeferredSyncGivenIdAdds, GivenIdAdds
from bookkeeper_tx.client.given_id_appends import GivenIdAppends
from bookkeeper_tx.client.promised import promised
from bookkeeper_tx.client.write_handle import WriteHandle
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import Versioned


class LedgerWriterAdv(WriteHandle):
    """Appends entries of given ids to one ledger, in any order, and closes it.

    Appends are sent as they come, and complete in the order of the ids: none before all lower ids are acknowledged.
    At most ``ClientConfig.outstanding_adds_max`` are on their way, of at most ``outstanding_bytes_max``, those that
    wait for lower ids included; more fail.

    ``close`` ends the ledger before the first id that is missing.  What was appended behind it fails.
    """

    _ADDS = GivenIdAdds
    _DEFERRED_SYNC_ADDS = DeferredSyncGivenIdAdds
    _adds: GivenIdAdds
    _queue: GivenIdAppends

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        versioned: Versioned,
        digest: EntryDigest,
        deferred_sync: bool = False,
    ) -> None:
        super().__init__(context, ledger_id, versioned, digest, deferred_sync)
        self._queue = GivenIdAppends(context.driver, context.config, ledger_id, digest, self._adds)

    @promised
    def append(self, entry_id: int, payload: bytes) -> Promise[int]:
        """Append one entry; gives its id when the ack quorum has stored it and every entry of a lower id.

        :param entry_id: from 0 on, and not given before
        :param payload: bytes that fit into a frame: 5 MiB less some 100 bytes, see ``ClientConfig.frame_size_max``
        :raises InvalidArgument: the id is out of range, or the payload is larger, or is not bytes
        :raises DuplicateEntryId: the id was given before; that append is not disturbed
        :raises TooManyOutstandingAdds: too many appends wait already; one that all of them wait for always goes
        :raises LedgerClosed: this writer was closed, perhaps before all lower ids were given
        :raises LedgerFenced: another client took the ledger over; the entry may exist or not
        :raises NotEnoughBookies: bookies failed, there are none to take their place, and the others are no ack quorum;
            the ledger takes no more
        :raises RemoteError: of a bookie, as AuthenticationFailed; the ledger takes no more

        Protocol: docs/protocol/add-entry.md#sec-add-entry-given-ids.
        """
        try:
            payload = self.checked(payload)
        except InvalidArgument as error:
            return self._driver.fail(error)
        return self._queue.append(entry_id, payload)
