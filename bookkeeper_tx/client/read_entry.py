"""Reading one entry: one replica after another until one gives an entry that matches its digest."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.replicas import Replicas, more_telling
from bookkeeper_tx.errors import BookKeeperError, DigestMismatch
from bookkeeper_tx.model import Entry

if TYPE_CHECKING:
    from bookkeeper_tx.client.ledger_reader import LedgerReader


class EntryRead:
    """One read under way; ``deferred`` fires with the :class:`Entry`."""

    __slots__ = ("_at", "_error", "_order", "_reader", "_replicas", "_retried", "deferred", "entry_id")

    def __init__(self, reader: "LedgerReader", entry_id: int) -> None:
        self._reader = reader
        self.entry_id = entry_id
        self._error: BookKeeperError | None = None
        self._retried = False
        self._replicas: Replicas
        self._order: Sequence[int]
        self._at = 0
        self.deferred: Deferred[Any] = Deferred()

    def start(self) -> None:
        """Ask the first replica."""
        reader, entry_id = self._reader, self.entry_id
        self._replicas = replicas = reader.replicas_of(entry_id)
        self._order = order = replicas.order(entry_id, reader.context)
        replicas.channels[order[0]].read_entry(reader.ledger_id, entry_id, self._replied)

    def _replied(self, error: BookKeeperError | None, entry: Any) -> None:
        if error is None:
            reader = self._reader
            try:
                found = reader.verify(reader.ledger_id, self.entry_id, entry)
            except DigestMismatch as mismatch:
                error = mismatch
            else:
                self._succeed(entry, found)
                return
        self._ask_next(error)

    def _succeed(self, entry: bytes, found: tuple[int, int, int, bytes]) -> None:
        entry_id, last_add_confirmed, length, payload = found
        self.deferred.callback(Entry(self._reader.ledger_id, entry_id, payload, last_add_confirmed, length))

    def _fail(self, error: BookKeeperError) -> None:
        self.deferred.errback(error)

    def _ask_next(self, error: BookKeeperError) -> None:
        reader, replicas = self._reader, self._replicas
        reader.context.bookies.suspect(replicas.bookies[self._order[self._at]], error)
        self._error = error = more_telling(self._error, error)
        self._at += 1
        if self._at < len(self._order):
            replicas.channels[self._order[self._at]].read_entry(reader.ledger_id, self.entry_id, self._replied)
        elif self._retried:
            self._fail(error)
        else:
            self._retried = True
            reader.after_failure(self.entry_id, replicas, self._again, self._give_up)

    def _again(self) -> None:
        """The ledger has another fragment there now: ask its bookies."""
        self._error, self._at = None, 0
        self.start()

    def _give_up(self) -> None:
        assert self._error is not None
        self._fail(self._error)


class StoredEntryRead(EntryRead):
    """The same, but it calls ``done(error, entry, payload)`` with the entry as stored."""

    __slots__ = ("_done",)

    def __init__(
        self, reader: "LedgerReader", entry_id: int, done: Callable[[BookKeeperError | None, bytes, bytes], None]
    ) -> None:
        super().__init__(reader, entry_id)
        self._done = done

    def _succeed(self, entry: bytes, found: tuple[int, int, int, bytes]) -> None:
        self._done(None, entry, found[3])

    def _fail(self, error: BookKeeperError) -> None:
        self._done(error, b"", b"")
