"""A ledger as a reader knows it; the read operations work on it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.last_add_confirmed import LastEntriesRead
from bookkeeper_tx.client.ledger_handle import LedgerHandle
from bookkeeper_tx.client.read_window import ReadWindow
from bookkeeper_tx.client.replicas import Replicas
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument, MetadataUnavailable
from bookkeeper_tx.model import BookieId, LedgerMetadata, Versioned, ledger_name
from bookkeeper_tx.protocol.v2_frames import BATCH_REPLY_SIZE
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields


class LedgerView(LedgerHandle):
    """The metadata of a ledger, which may change while it is read; its end, its replicas, how much to ask for."""

    def __init__(
        self, context: ClientContext, ledger_id: int, versioned: Versioned, digest: EntryDigest, last_add_confirmed: int
    ) -> None:
        self.ledger_id = ledger_id
        """The whole id; see :class:`~bookkeeper_tx.model.LedgerId`."""
        self.context = context
        self._promise = context.driver.promise
        self.digest = digest
        """What the entries of this ledger are sealed and verified with."""
        metadata = versioned.metadata
        self.quorum = Quorum.of(metadata)
        self._ensemble_size = metadata.ensemble_size
        self._quarantined_until = context.bookies.quarantined_until
        self._last_until = context.reads.last_until
        self._versioned = versioned
        self._replicas: list[Replicas] = []
        self._current: Replicas
        self._last_add_confirmed = last_add_confirmed
        self._stale = not metadata.closed
        """Whether the metadata may have changed since it was read; true at first: the watch began after the read."""
        self._stop_watching: Callable[[], None] | None = None
        self._listeners: list[Callable[[], None]] = []
        self._after_refresh: list[Callable[[], None]] = []
        """The reads that wait for the metadata, since every replica has failed."""
        self.polled: set[BookieId] = set()
        """The bookies to which a long poll was sent, until one fails there."""
        entry_size = 0.0
        if metadata.length > 0 and metadata.last_entry_id >= 0:
            # Java's recovery may close a ledger with a length of 0, whatever its entries have (C1 in
            # docs/protocol/errata.md).
            entry_size = metadata.length / (metadata.last_entry_id + 1)
            entry_size += digest.payload_offset_of(ledger_id) + RECORD_LENGTH_SIZE
        self.window = ReadWindow(context.config, entry_size)
        """The bytes that range reads of this handle have in flight."""
        self._adopt(versioned)
        if not metadata.closed:
            self._stop_watching = context.store.watch_ledger(ledger_id, self._changed)

    # State -----------------------------------------------------------------------------------------------------------

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

    def close(self) -> None:
        """Stop watching the metadata, which keeps this handle in memory while the ledger is not closed.

        The ledger itself is not touched; reads go on working.
        """
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

    def single_reads_for(self, size: int) -> int:
        """Return how many single reads to send for about ``size`` bytes of entries."""
        worth = self.window.count_for(size - BATCH_REPLY_SIZE) + 1
        return min(worth, self.context.config.outstanding_reads_max)

    def after_failure(
        self, entry_id: int, tried: Replicas, again: Callable[[], None], give_up: Callable[[], None]
    ) -> None:
        """Every replica has failed: read the metadata, and call ``again`` if other bookies store the entry now.

        Of a closed ledger as well: its entries may have been copied to other bookies.
        """

        def refreshed() -> None:
            if self.replicas_of(entry_id).bookies != tried.bookies:
                again()
            else:
                give_up()

        self._after_refresh.append(refreshed)
        if len(self._after_refresh) == 1:
            driver = self.context.driver
            driver.when_done(driver.spawn(self.refresh()), self._refreshed)

    @property
    def stale(self) -> bool:
        """Whether the metadata may have changed since it was read."""
        return self._stale

    @property
    def watched(self) -> bool:
        """Whether the metadata is watched: not after :meth:`close`, and not of a closed ledger."""
        return self._stop_watching is not None

    def when_changed(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` whenever the metadata may have changed; return the function that ends that."""
        self._listeners.append(listener)
        return partial(_discard, self._listeners, listener)

    def learn_last_add_confirmed(self, last_add_confirmed: int) -> None:
        """Take a bookie's last add confirmed, unless the ledger is closed: then its metadata has the last entry."""
        if not self.closed and last_add_confirmed <= fields.ENTRY_ID_MAX:
            self._last_add_confirmed = max(self._last_add_confirmed, last_add_confirmed)

    async def ask_last_add_confirmed(self, explicit: bool) -> int:
        """Ask a covering set of bookies for the last add confirmed, and keep it; for a closed ledger ask none."""
        if self._stale:
            await self.refresh()
        if self.closed:
            return self._last_add_confirmed
        fragment = self.metadata.last_fragment
        read = LastEntriesRead(self.context, self.ledger_id, fragment, self.quorum, self.digest, explicit=explicit)
        self.learn_last_add_confirmed((await read.start()).last_add_confirmed)
        return self._last_add_confirmed

    async def refresh(self) -> None:
        """Read the metadata again."""
        self._stale = False
        try:
            self._adopt(await self.context.store.read_ledger(self.ledger_id))
        except BaseException as error:
            # The change is not read yet.
            self._stale = True
            if isinstance(error, MetadataUnavailable):
                raise self.context.store_error(error) from error
            raise

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

    # Inner part ------------------------------------------------------------------------------------------------------

    def _refreshed(self, error: Exception | None, _: Any) -> None:
        """Let the reads go on that wait for the metadata; an error of the store is not told: that of the read is."""
        waiting, self._after_refresh = self._after_refresh, []
        for each in waiting:
            each()
        if error is not None and not isinstance(error, BookKeeperError):
            raise error

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
            # A fragment starts after the last add confirmed of its time.
            self._last_add_confirmed = max(self._last_add_confirmed, fragments[-1].first_entry_id - 1)


def _discard(listeners: list[Callable[[], None]], listener: Callable[[], None]) -> None:
    if listener in listeners:
        listeners.remove(listener)
