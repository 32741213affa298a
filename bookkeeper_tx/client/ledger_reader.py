"""The handle of a reader of a ledger."""

from collections.abc import AsyncGenerator

from twisted.internet.defer import Deferred, fail, succeed

from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_entry import EntryRead
from bookkeeper_tx.client.read_once import read_batch
from bookkeeper_tx.client.read_pieces import read_pieces
from bookkeeper_tx.client.read_range import read_range
from bookkeeper_tx.client.tailing import read_when_confirmed, tail, wait_last_add_confirmed
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.model import Entry
from protocol_specs import fields


class LedgerReader(LedgerView):
    """Reads one ledger; every entry is checked against its digest.

    A closed ledger ends at its last entry, another one at the last add confirmed that this handle knows:
    :meth:`read_last_add_confirmed` asks for a newer one, the ``_unconfirmed`` reads go past it.
    """

    def read_entry(self, entry_id: int) -> Deferred[Entry]:
        """Read one entry.  Fails with InvalidArgument for one past the last add confirmed."""
        if not isinstance(entry_id, int) or not 0 <= entry_id <= self._last_add_confirmed:
            return fail(self.out_of_range("entry_id", entry_id))
        current = self._current
        read = EntryRead(self, entry_id, current)
        if current.first_entry_id <= entry_id <= current.last_entry_id and not self._suspects:
            channel = current.channels[entry_id % self._ensemble_size]
            channel.read_entry(self.ledger_id, entry_id, read.replied)
        else:
            read.start()
        return read.deferred

    def read(self, first_entry_id: int, last_entry_id: int, batch: bool = True) -> Deferred[LedgerEntries]:
        """Read all entries from ``first_entry_id`` to ``last_entry_id``, both included.

        By batch reads where ledger, configuration and bookies have them, else by pipelined single reads; ``batch``
        False uses single reads only.  The result and the errors are the same either way.
        """
        return read_range(self, first_entry_id, last_entry_id, batch, self._last_add_confirmed)

    def read_unconfirmed(self, first_entry_id: int, last_entry_id: int, batch: bool = True) -> Deferred[LedgerEntries]:
        """The same, past the last add confirmed as well: such entries may be missing, and may never be confirmed."""
        return read_range(self, first_entry_id, last_entry_id, batch, self._unconfirmed_end)

    def read_batch(
        self, start_entry_id: int, max_count: int = 0, max_size: int = 0, fallback: bool = True
    ) -> Deferred[LedgerEntries]:
        """Read entries from ``start_entry_id`` on with one request: at least one entry, possibly fewer than asked for.

        ``max_count`` and ``max_size`` (bytes, as in BP-62: 36 and, for each entry, 4 more than its stored size) bound
        the result, 0 means no limit; the first entry comes whatever its size.  Where batch read is not to be had,
        single reads give a result of the same kind, or with ``fallback`` False it fails with BatchReadNotSupported.
        """
        return read_batch(self, start_entry_id, max_count, max_size, fallback, self._last_add_confirmed)

    def read_batch_unconfirmed(
        self, start_entry_id: int, max_count: int = 0, max_size: int = 0, fallback: bool = True
    ) -> Deferred[LedgerEntries]:
        """The same, past the last add confirmed as well: such entries may be missing, and may never be confirmed."""
        end = self._unconfirmed_end
        return read_batch(self, start_entry_id, max_count, max_size, fallback, end)

    def entries(self, first_entry_id: int = 0, last_entry_id: int | None = None) -> AsyncGenerator[LedgerEntries, None]:
        """Iterate over ``first_entry_id`` … ``last_entry_id`` (default: the last add confirmed now) in pieces.

        The next piece is read while the caller works on this one.
        """
        return read_pieces(self, first_entry_id, last_entry_id)

    def read_last_add_confirmed(self, explicit: bool | None = None) -> Deferred[int]:
        """Ask a covering set of bookies for the last add confirmed; it bounds this handle's reads from then on.

        ``explicit`` asks for what writers publish between appends too, over a V3 connection (default: if the client
        speaks V3).  A closed ledger answers from its metadata.
        """
        if self.closed:
            return succeed(self._last_add_confirmed)
        if explicit is None:
            explicit = self.context.config.protocol is WireProtocol.V3
        return Deferred.fromCoroutine(self.ask_last_add_confirmed(explicit))

    def wait_last_add_confirmed(self, beyond: int | None = None, timeout_s: float = 10.0) -> Deferred[int]:
        """Wait until the last add confirmed is past ``beyond`` (default: the one known), or the ledger is closed.

        Fires with the last add confirmed, after ``timeout_s`` with what is known then; cancel it to give up.  Fails
        with the error of a bookie when none has answered until then, and with NoSuchLedger for one that was deleted.
        """
        return wait_last_add_confirmed(self, self._last_add_confirmed if beyond is None else beyond, timeout_s)

    def read_last_add_confirmed_and_entry(
        self, entry_id: int, timeout_s: float = 10.0
    ) -> Deferred[tuple[int, Entry | None]]:
        """Wait in the same way until ``entry_id`` is confirmed; fires with the last add confirmed and the entry.

        The entry is None when the time is over, or the ledger closed, before there is such an entry.
        """
        return read_when_confirmed(self, entry_id, timeout_s)

    def tail(self, first_entry_id: int | None = None) -> AsyncGenerator[Entry, None]:
        """Iterate over entries as they are confirmed, from ``first_entry_id`` on (default: the next one), to the end.

        The end is that of the closed ledger.  Raises the error of a bookie when none answers for a minute.
        """
        return tail(self, self._last_add_confirmed + 1 if first_entry_id is None else first_entry_id)

    @property
    def _unconfirmed_end(self) -> int:
        return self._last_add_confirmed if self.closed else fields.ENTRY_ID_MAX
