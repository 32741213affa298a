"""The handle of a ledger's only writer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bookkeeper_tx.client.append_queue import AppendQueue
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.pending_add import Answers
from bookkeeper_tx.client.promised import promised
from bookkeeper_tx.client.write_handle import WriteHandle
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument
from bookkeeper_tx.model import Versioned


class LedgerWriter(WriteHandle):
    """Appends to one ledger, and closes it.

    Appends are sent in the order of the calls and complete in that order.  At most
    ``ClientConfig.outstanding_adds_max`` are on their way, of at most ``outstanding_bytes_max``; as many again are held
    back, and more than that fail.
    """

    _queue: AppendQueue

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        versioned: Versioned,
        digest: EntryDigest,
        deferred_sync: bool = False,
    ) -> None:
        super().__init__(context, ledger_id, versioned, digest, deferred_sync)
        self._queue = AppendQueue(context.driver, context.config, ledger_id, digest, self._adds)

    def answer(
        self, answers: Answers, told: Callable[[BookKeeperError], BookKeeperError]
    ) -> Callable[[bytes], Promise[Any]]:
        """Let later appends fire with other things than ids, and fail with what ``told`` makes of an error.

        For what is built on writers.  Returns :meth:`append` for bytes of at most :attr:`payload_size_max`.
        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        self._queue.answer(answers)
        self._adds.told = told
        return self._queue.append

    def tell_at(self, length: float, reached: Callable[[], None]) -> None:
        """Call ``reached`` once, when the appends so far have ``length`` payload bytes and before the next is sent.

        For what is built on writers: it costs an append nothing.  ``reached`` must not close this writer, because it is
        called in the midst of that append.
        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        self._queue.tell_at(length, reached)

    @promised
    def append(self, payload: bytes) -> Promise[int]:
        """Append one entry; gives its id when the ack quorum has stored it and every entry before it.

        :param payload: bytes that fit into a frame: 5 MiB less some 100 bytes, see ``ClientConfig.frame_size_max``
        :raises InvalidArgument: the payload is larger, or is not bytes
        :raises TooManyOutstandingAdds: too many appends wait already
        :raises LedgerClosed: this writer was closed
        :raises LedgerFenced: another client took the ledger over; the entry may exist or not
        :raises NotEnoughBookies: bookies failed, there are none to take their place, and the others are no ack quorum;
            the ledger takes no more
        :raises RemoteError: of a bookie, as AuthenticationFailed; the ledger takes no more

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        if type(payload) is not bytes or len(payload) > self.payload_size_max:
            try:
                payload = self.checked(payload)
            except InvalidArgument as error:
                return self._driver.fail(error)
        return self._queue.append(payload)

    def append_for(self, payload: bytes, promise: Any) -> None:
        """Append as :meth:`append`, with a promise of the caller's, which ends: for faces of the client.

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        if type(payload) is not bytes or len(payload) > self.payload_size_max:
            try:
                payload = self.checked(payload)
            except InvalidArgument as error:
                promise.errback(error)
                return
        self._queue.append(payload, promise)

    @promised
    def append_many(self, payloads: Iterable[bytes]) -> Promise[range]:
        """Append entries in order; gives the range of their ids when all are acknowledged.

        Entries are read from ``payloads`` as there is room for them, so a generator may give any number.  Those of a
        list or a tuple are checked before the first one is sent.

        :param payloads: one for each entry, as for :meth:`append`; without any, the range is empty
        :raises InvalidArgument: as of :meth:`append`; nothing is stored of a list or a tuple, and the entries before it
            of any other iterable; the same holds for what the iterable itself raises, be it a KeyboardInterrupt
        :raises TooManyOutstandingAdds: nothing is stored
        :raises BookKeeperError: the other errors of :meth:`append`; a prefix of the entries may have been stored

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        checked = map(self.checked, payloads)
        if not isinstance(payloads, Sequence):
            return self._queue.append_many(checked, 1)
        try:
            found = list(checked)
        except InvalidArgument as error:
            return self._driver.fail(error)
        return self._queue.append_many(found, len(found))

    def append_many_for(self, payloads: Sequence[bytes], promise: Any, answer: Callable[[range], Any]) -> None:
        """Append as :meth:`append_many` what :attr:`checked` gave, with a promise of the caller's.

        It fires with what ``answer`` makes of the range of their ids: for what is built on writers.
        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        self._queue.append_many(payloads, len(payloads), deferred=promise, answer=answer)
