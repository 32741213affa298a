"""The handle of a reader of a ledger."""

from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from bookkeeper_tx.client.batch_read import RECORD_OVERHEAD, REPLY_OVERHEAD
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.last_add_confirmed import LastEntriesRead
from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.client.quorum import Quorum
from bookkeeper_tx.client.read_entry import EntryRead
from bookkeeper_tx.client.read_once import read_batch
from bookkeeper_tx.client.read_prefix import ReadStyle
from bookkeeper_tx.client.read_range import SEGMENTS_IN_FLIGHT, read_range
from bookkeeper_tx.client.replicas import Replicas
from bookkeeper_tx.client.tailing import read_when_confirmed, tail, wait_last_add_confirmed
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument
from bookkeeper_tx.model import BookieId, Entry, LedgerMetadata, Versioned, ledger_name
from protocol_specs import fields

SEGMENT_SIZE = 1024 * 1024
"""Bytes that one segment of a range read aims at."""

ENTRY_SIZE_GUESS = 1024
"""Payload bytes an entry is taken to have before any has been seen."""


class LedgerReader:
    """Reads one ledger; every entry is checked against its digest.

    A closed ledger ends at its last entry, another one at the last add confirmed that this handle knows:
    :meth:`read_last_add_confirmed` asks for a newer one, the ``_unconfirmed`` reads go past it.
    """

    def __init__(
        self, context: ClientContext, ledger_id: int, versioned: Versioned, digest: EntryDigest, last_add_confirmed: int
    ) -> None:
        self.ledger_id = ledger_id
        self.context = context
        self._digest = digest
        self.verify = digest.verify
        self.verify_run = digest.verify_run
        metadata = versioned.metadata
        self.quorum = Quorum(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
        self._ensemble_size = metadata.ensemble_size
        self._suspects = context.bookies.suspects
        self._versioned = versioned
        self._replicas: list[Replicas] = []
        self._current: Replicas
        self._last_add_confirmed = last_add_confirmed
        self._stale = not metadata.closed
        """Whether the metadata may have changed since it was read; at first, as it was read before it was watched."""
        self._stop_watching: Callable[[], None] | None = None
        self._listeners: list[Callable[[], None]] = []
        self.polled: set[BookieId] = set()
        """The bookies that have answered a long poll, or were sent one."""
        self._entry_size = float(ENTRY_SIZE_GUESS)
        self._adopt(versioned)
        if metadata.closed and metadata.last_entry_id >= 0:
            self._entry_size = max(1.0, metadata.length / (metadata.last_entry_id + 1))
        elif not metadata.closed:
            self._stop_watching = context.store.watch_ledger(ledger_id, self._changed)

    # What is known ---------------------------------------------------------------------------------------------------

    @property
    def metadata(self) -> LedgerMetadata:
        """The ledger's metadata as this reader last knew it."""
        return self._versioned.metadata

    @property
    def closed(self) -> bool:
        """Whether the ledger is known to be closed: then nothing will be appended to it."""
        return self.metadata.closed

    @property
    def last_add_confirmed(self) -> int:
        """Id of the last entry that may be read, NO_ENTRY if there is none."""
        return self._last_add_confirmed

    @property
    def length(self) -> int:
        """Payload bytes of a closed ledger; 0 while it is not closed."""
        return self.metadata.length

    # Reading ---------------------------------------------------------------------------------------------------------

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
        return read_range(self, first_entry_id, last_entry_id, batch, self._readable_end(confirmed=False))

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
        end = self._readable_end(confirmed=False)
        return read_batch(self, start_entry_id, max_count, max_size, fallback, end)

    async def entries(
        self, first_entry_id: int = 0, last_entry_id: int | None = None
    ) -> AsyncGenerator[LedgerEntries, None]:
        """Iterate over ``first_entry_id`` … ``last_entry_id`` (default: the last add confirmed now) in pieces.

        The next piece is read while the caller works on this one.
        """
        last = self._last_add_confirmed if last_entry_id is None else last_entry_id
        if last_entry_id is None and first_entry_id == last + 1:
            return
        ahead = self.read(first_entry_id, self._piece_end(first_entry_id, last))
        try:
            while True:
                piece = await ahead
                cursor = piece.last_entry_id + 1
                if cursor <= last:
                    ahead = self.read(cursor, self._piece_end(cursor, last))
                yield piece
                if cursor > last:
                    return
        finally:
            ahead.addErrback(lambda _: None)
            ahead.cancel()

    def read_last_add_confirmed(self, explicit: bool | None = None) -> Deferred[int]:
        """Ask a covering set of bookies for the last add confirmed; it bounds this handle's reads from then on.

        ``explicit`` asks for what writers publish between appends too, over a V3 connection (default: if the client
        speaks V3).  A closed ledger answers from its metadata.
        """
        if self.closed:
            return succeed(self._last_add_confirmed)
        if explicit is None:
            explicit = self.context.config.protocol is WireProtocol.V3
        return Deferred.fromCoroutine(self._read_last_add_confirmed(explicit))

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

    def close(self) -> None:
        """Stop watching the metadata.  The ledger itself is not touched; reads go on working."""
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None

    # For the operations ----------------------------------------------------------------------------------------------

    def replicas_of(self, entry_id: int) -> Replicas:
        """Return the replicas of the fragment that ``entry_id`` lies in."""
        current = self._current
        if current.first_entry_id <= entry_id <= current.last_entry_id:
            return current
        for replicas in reversed(self._replicas):
            if replicas.first_entry_id <= entry_id:
                break
        self._current = replicas
        return replicas

    def segment_count(self, style: ReadStyle) -> int:
        """Return how many entries one segment of a range read asks for."""
        config = self.context.config
        if style is not ReadStyle.SINGLES:
            return config.batch_read_count
        share = max(1, config.outstanding_reads_max // SEGMENTS_IN_FLIGHT)
        return min(share, self.single_reads_for(SEGMENT_SIZE))

    def single_reads_for(self, size: int) -> int:
        """Return how many single reads are worth sending for a reply of ``size`` bytes."""
        entry = self._entry_size + self._digest.payload_offset_of(self.ledger_id) + RECORD_OVERHEAD
        worth = int((size - REPLY_OVERHEAD) / entry) + 1
        return max(1, min(worth, self.context.config.outstanding_reads_max))

    def learn_size(self, payloads: Sequence[bytes]) -> None:
        """Remember how large entries are here."""
        self._entry_size = max(1.0, sum(map(len, payloads)) / len(payloads))

    def after_failure(
        self, entry_id: int, tried: Replicas, again: Callable[[], None], give_up: Callable[[], None]
    ) -> None:
        """Every replica has failed: read the metadata again and try ``again`` if others store the entry now."""
        if self.closed and not self._stale:
            give_up()
            return

        def refreshed(_: Any) -> None:
            if self.replicas_of(entry_id).bookies != tried.bookies:
                again()
            else:
                give_up()

        Deferred.fromCoroutine(self.refresh()).addErrback(_ignore_remote).addCallback(refreshed)

    @property
    def stale(self) -> bool:
        """Whether the metadata may have changed since it was read."""
        return self._stale

    def when_changed(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` whenever the metadata may have changed; call what is returned to end that."""
        self._listeners.append(listener)
        return partial(_discard, self._listeners, listener)

    def learn_last_add_confirmed(self, last_add_confirmed: int) -> None:
        """Take what a bookie says, unless the ledger is closed: then it ends where the metadata says."""
        if not self.closed and last_add_confirmed <= fields.ENTRY_ID_MAX:
            self._last_add_confirmed = max(self._last_add_confirmed, last_add_confirmed)

    async def refresh(self) -> None:
        """Read the metadata again."""
        self._stale = False
        try:
            self._adopt(await self.context.store.read_ledger(self.ledger_id))
        except BaseException:
            # The change that was to be read is still to be read.
            self._stale = True
            raise

    # Inner part ------------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._stale = True
        for listener in list(self._listeners):
            listener()

    def _adopt(self, versioned: Versioned) -> None:
        self._versioned = versioned
        fragments = versioned.metadata.fragments
        nexts = [fragment.first_entry_id for fragment in fragments[1:]] + [None]
        self._replicas = [
            Replicas(self.context, self.ledger_id, self.quorum, fragment, following)
            for fragment, following in zip(fragments, nexts, strict=True)
        ]
        self._current = self._replicas[-1]
        if versioned.metadata.closed:
            self._last_add_confirmed = versioned.metadata.last_entry_id
            self.close()
        else:
            # A fragment starts behind the last add confirmed of its time.
            self._last_add_confirmed = max(self._last_add_confirmed, fragments[-1].first_entry_id - 1)

    def _readable_end(self, confirmed: bool) -> int:
        return self._last_add_confirmed if confirmed or self.closed else fields.ENTRY_ID_MAX

    async def _read_last_add_confirmed(self, explicit: bool) -> int:
        if self._stale:
            await self.refresh()
        if self.closed:
            return self._last_add_confirmed
        fragment = self.metadata.last_fragment
        read = LastEntriesRead(self.context, self.ledger_id, fragment, self.quorum, self._digest, explicit=explicit)
        self.learn_last_add_confirmed((await read.start()).last_add_confirmed)
        return self._last_add_confirmed

    def _piece_end(self, first: int, last: int) -> int:
        style = ReadStyle.SINGLES
        return min(last, first + SEGMENTS_IN_FLIGHT * self.segment_count(style) - 1)

    def out_of_range(self, name: str, value: Any, first: int = 0, last: int | None = None) -> InvalidArgument:
        last = self._last_add_confirmed if last is None else last
        if not isinstance(value, int):
            return InvalidArgument(f"{name} {value!r} must be an integer")
        ledger = ledger_name(self.ledger_id)
        if last < first:
            return InvalidArgument(f"{name} {value!r}: ledger {ledger} has no entry to read there yet")
        end = f"the last entry of ledger {ledger}"
        if not self.closed:
            end += " that is confirmed; read_last_add_confirmed() may find more"
        return InvalidArgument(f"{name} {value}: must be from {first} to {last}, {end}")


def _ignore_remote(failure: Any) -> None:
    """The error of the read is the one to report, not that of this second attempt."""
    failure.trap(BookKeeperError)


def _discard(listeners: list[Callable[[], None]], listener: Callable[[], None]) -> None:
    if listener in listeners:
        listeners.remove(listener)
