"""The handle of a reader of a ledger."""

from collections.abc import AsyncGenerator
from typing import Any, Self

from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.promised import promised
from bookkeeper_tx.client.read_entry import EntryRead, FirstReply, first_replied
from bookkeeper_tx.client.read_once import read_batch, read_batch_when_confirmed
from bookkeeper_tx.client.read_pieces import read_pieces
from bookkeeper_tx.client.read_range import read_range
from bookkeeper_tx.client.tailing import read_when_confirmed, tail, wait_last_add_confirmed
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import Entry
from protocol_specs import fields


class LedgerReader(LedgerView):
    """Reads one ledger; every entry is checked against its digest.

    A closed ledger ends at its last entry.  A ledger that is not closed ends at the last add confirmed that this handle
    knows: :meth:`read_last_add_confirmed` asks for a newer one, the ``_unconfirmed`` reads go past it.
    """

    @promised
    def read_entry(self, entry_id: int) -> Promise[Entry]:
        """Read one entry.

        :param entry_id: from 0 to :attr:`last_add_confirmed`
        :raises InvalidArgument: it is none of these
        :raises RemoteError: as for :meth:`read`

        Protocol: docs/protocol/read-entry.md#sec-read-entry-client.
        """
        promise: Promise[Entry] = self._promise()
        self.read_entry_for(entry_id, promise)
        return promise

    def read_entry_for(self, entry_id: int, promise: Any) -> None:
        """Read as :meth:`read_entry`, with a promise of the caller's, which ends: for faces of the client.

        Protocol: docs/protocol/read-entry.md#sec-read-entry-client.
        """
        if not isinstance(entry_id, int) or not 0 <= entry_id <= self._last_add_confirmed:
            promise.errback(self.out_of_range("entry_id", entry_id))
            return
        current = self._current
        exceptions = self._quarantined_until or self._last_until
        if current.first_entry_id <= entry_id <= current.last_entry_id and not exceptions:
            channel = current.channels[entry_id % self._ensemble_size]
            channel.read_entry(self.ledger_id, entry_id, FirstReply(first_replied, self, entry_id, current, promise))
        else:
            EntryRead(self, entry_id, promise).start()

    @promised
    def read(self, first_entry_id: int, last_entry_id: int, batch: bool = True) -> Promise[LedgerEntries]:
        """Read all entries from ``first_entry_id`` to ``last_entry_id``, both included.

        The range is held in memory; :meth:`entries` is for one that may be too large.

        :param batch: use batch reads where ledger, configuration and bookies have them, else pipelined single reads;
            False uses single reads only.  The result and the errors are the same either way
        :raises InvalidArgument: an id is past the last add confirmed, or the range is empty
        :raises RemoteError: the most telling error of an entry's bookies, when all have failed: DigestMismatch,
            Unauthorized, BookieUnavailable, RequestTimedOut, …; NoSuchEntry when all say so

        Protocol: docs/protocol/read-entry.md#sec-read-entry-client, docs/protocol/batch-read.md#sec-batch-read-client.
        """
        return self._read(first_entry_id, last_entry_id, batch, self._last_add_confirmed)

    @promised
    def read_unconfirmed(self, first_entry_id: int, last_entry_id: int, batch: bool = True) -> Promise[LedgerEntries]:
        """Read as :meth:`read`, past the last add confirmed as well: such entries may be missing or never confirmed."""
        return self._read(first_entry_id, last_entry_id, batch, self._unconfirmed_end)

    @promised
    def read_batch(
        self,
        start_entry_id: int,
        max_count: int = 0,
        max_size: int = 0,
        fallback: bool = True,
        *,
        allow_fast_fail: bool = False,
        previous_last_add_confirmed: int | None = None,
        timeout_s: float = 10.0,
    ) -> Promise[LedgerEntries]:
        """Read entries from ``start_entry_id`` on with one request: at least one entry, possibly fewer than asked for.

        :param max_count: entries at most; 0 is no limit
        :param max_size: bytes at most, counted as BP-62 does: 36, and for each entry 4 more than its stored size;
            0 is no limit, and the first entry comes whatever its size
        :param fallback: where batch read is not available, give a result of the same kind by single reads
        :param allow_fast_fail: do not ask a bookie while it does not take what was sent to it before
        :param previous_last_add_confirmed: wait first until the last add confirmed is past this one, or the ledger is
            closed, as :meth:`wait_last_add_confirmed` does; then read up to the last add confirmed.  The result is
            empty if the start is not confirmed by then
        :param timeout_s: seconds that this wait may take; its end is no error
        :raises BatchReadNotSupported: batch read is not available, and ``fallback`` is False
        :raises InvalidArgument: the start is past the last add confirmed and nothing is waited for, or another argument
            is out of range
        :raises TooManyRequests: ``allow_fast_fail`` has left out bookies, and no other gave the entry
        :raises RemoteError: as for :meth:`read`, and while it waits, as for :meth:`wait_last_add_confirmed`

        Protocol: docs/protocol/batch-read.md#sec-batch-read-client.
        """
        asked = start_entry_id, max_count, max_size, fallback
        if previous_last_add_confirmed is None:
            return read_batch(self, *asked, self._last_add_confirmed, allow_fast_fail)
        waiting = read_batch_when_confirmed(self, *asked, allow_fast_fail, previous_last_add_confirmed, timeout_s)
        return self.context.driver.spawn(waiting)

    @promised
    def read_batch_unconfirmed(
        self,
        start_entry_id: int,
        max_count: int = 0,
        max_size: int = 0,
        fallback: bool = True,
        *,
        allow_fast_fail: bool = False,
    ) -> Promise[LedgerEntries]:
        """Read as :meth:`read_batch`, past the last add confirmed as well, as :meth:`read_unconfirmed` does."""
        end = self._unconfirmed_end
        return read_batch(self, start_entry_id, max_count, max_size, fallback, end, allow_fast_fail)

    def entries(
        self, first_entry_id: int = 0, last_entry_id: int | None = None, batch: bool = True
    ) -> AsyncGenerator[LedgerEntries, None]:
        """Iterate over ``first_entry_id`` … ``last_entry_id`` (default: the last add confirmed now) in pieces.

        More is read while the caller works on a piece, as far as ``ClientConfig.read_bytes_max`` allows.  Raises the
        errors of :meth:`read`, after the entries before the first that cannot be read.

        :param batch: as for :meth:`read`
        """
        return read_pieces(self, first_entry_id, last_entry_id, batch)

    @promised
    def read_last_add_confirmed(self, explicit: bool | None = None) -> Promise[int]:
        """Ask a covering set of bookies for the last add confirmed; it bounds this handle's reads from then on.

        A closed ledger answers from its metadata.

        :param explicit: ask for the explicit last add confirmed as well, which writers publish between appends, over a
            V3 connection; default: whether the client speaks V3
        :raises RemoteError: of a bookie, when too few have answered

        Protocol: docs/protocol/last-add-confirmed.md#sec-lac-client.
        """
        if self.closed:
            return self.context.driver.succeed(self._last_add_confirmed)
        if explicit is None:
            explicit = self.context.config.protocol is WireProtocol.V3
        return self.context.driver.spawn(self.ask_last_add_confirmed(explicit))

    @promised
    def read_length(self) -> Promise[int]:
        """Ask for the last add confirmed, and give the payload bytes of the ledger up to it.

        A closed ledger answers from its metadata, where it has its length.  Of one that is open it is what the last
        entry says: less than that, or more, where the application gives the ids
        (docs/protocol/add-entry.md#sec-add-entry-given-ids).  Errors are those of
        :meth:`read_last_add_confirmed` and :meth:`read_entry`.

        Protocol: docs/protocol/last-add-confirmed.md#sec-lac-client.
        """
        return self.context.driver.spawn(self._length())

    @promised
    def wait_last_add_confirmed(self, beyond: int | None = None, timeout_s: float = 10.0) -> Promise[int]:
        """Wait until the last add confirmed is past ``beyond`` (default: the one known), or the ledger is closed.

        Gives the last add confirmed; cancel it to give up.

        :param timeout_s: seconds, after which it gives the last add confirmed known then
        :raises InvalidArgument: an argument is out of range
        :raises NoSuchLedger: the ledger was deleted
        :raises RemoteError: of a bookie, when none has answered in the time

        Protocol: docs/protocol/long-poll.md.
        """
        return wait_last_add_confirmed(self, self._last_add_confirmed if beyond is None else beyond, timeout_s)

    @promised
    def read_last_add_confirmed_and_entry(
        self, entry_id: int, timeout_s: float = 10.0
    ) -> Promise[tuple[int, Entry | None]]:
        """Wait in the same way until ``entry_id`` is confirmed; gives the last add confirmed and the entry.

        The entry is None if the time is over, or the ledger is closed, before the entry is confirmed.  Arguments and
        errors are those of :meth:`wait_last_add_confirmed`.  Protocol: docs/protocol/long-poll.md.
        """
        return read_when_confirmed(self, entry_id, timeout_s)

    def tail(self, first_entry_id: int | None = None) -> AsyncGenerator[Entry, None]:
        """Iterate over entries as they are confirmed, from ``first_entry_id`` on (default: the next one).

        The iteration ends when the ledger is closed, after its last entry.

        :raises RemoteError: of a bookie, when none answers for a minute

        Protocol: docs/protocol/message-flow.md#sec-flow-tailing.
        """
        return tail(self, self._last_add_confirmed + 1 if first_entry_id is None else first_entry_id)

    async def __aiter__(self) -> AsyncGenerator[Entry, None]:
        """Iterate over the entries up to the last add confirmed now."""
        async for piece in self.entries():
            for entry in piece:
                yield entry

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _length(self) -> int:
        if self.closed:
            return self.length
        last = await self.read_last_add_confirmed()
        if self.closed or last == fields.NO_ENTRY:
            return self.length
        return (await self.read_entry(last)).length

    def _read(self, first: int, last: int, batch: bool, end: int) -> Promise[LedgerEntries]:
        try:
            return read_range(self, first, last, batch, end).whole()
        except InvalidArgument as error:
            return self.context.driver.fail(error)

    @property
    def _unconfirmed_end(self) -> int:
        return self._last_add_confirmed if self.closed else fields.ENTRY_ID_MAX
