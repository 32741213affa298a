"""Reading one entry: one replica after another until one gives an entry that matches its digest."""

from collections.abc import Callable, Sequence
from typing import Any

from bookkeeper_tx.client.bookie_watcher import NOT_ASKED
from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.replicas import Replicas, more_telling, of_replica
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, DigestMismatch
from bookkeeper_tx.model import Entry


def first_replied(
    reader: LedgerView,
    entry_id: int,
    asked: Replicas,
    deferred: Promise[Entry],
    error: BookKeeperError | None,
    entry: Any,
) -> None:
    """Take the answer of the first replica of ``asked``; ask the others only if it is no good entry.

    This is the hot path of reading: a read makes no object of its own.
    """
    if error is None:
        try:
            _, last_add_confirmed, length, payload = reader.digest.verify(reader.ledger_id, entry_id, entry)
        except DigestMismatch as mismatch:
            error = mismatch
        else:
            deferred.callback(Entry(reader.ledger_id, entry_id, payload, last_add_confirmed, length))
            return
    EntryRead(reader, entry_id, deferred).go_on(asked, error)


class EntryRead:
    """One read under way; ``deferred`` fires with the :class:`Entry`."""

    __slots__ = ("_attempts", "_fast_fail", "_reader", "deferred", "entry_id")

    def __init__(
        self, reader: LedgerView, entry_id: int, deferred: Promise[Any] | None = None, fast_fail: bool = False
    ) -> None:
        self._reader = reader
        self._fast_fail = fast_fail
        self.entry_id = entry_id
        self._attempts: _Attempts | None = None
        self.deferred: Promise[Any] = reader.context.driver.promise() if deferred is None else deferred

    def start(self) -> None:
        """Ask the first replica in the order of :meth:`Replicas.order`."""
        replicas = self._reader.replicas_of(self.entry_id)
        order = replicas.order(self.entry_id, self._reader.context)
        self._attempts = _Attempts(self._reader, self.entry_id, replicas, order)
        self._ask()

    def go_on(self, replicas: Replicas, error: BookKeeperError) -> None:
        """Go on after the first of ``replicas`` has failed with ``error``."""
        write_set = self._reader.quorum.write_set(self.entry_id)
        self._attempts = _Attempts(self._reader, self.entry_id, replicas, write_set)
        self._ask_next(error)

    def replied(self, error: BookKeeperError | None, entry: Any) -> None:
        """Take the answer of the replica asked last."""
        if error is None:
            reader = self._reader
            try:
                found = reader.digest.verify(reader.ledger_id, self.entry_id, entry)
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

    def _ask(self) -> None:
        assert self._attempts is not None
        channel = self._attempts.channel
        if self._fast_fail and channel.congested:
            self._ask_next(NOT_ASKED)
        else:
            channel.read_entry(self._reader.ledger_id, self.entry_id, self.replied)

    def _ask_next(self, error: BookKeeperError) -> None:
        if isinstance(error, ClientClosed):
            self._fail(error)
            return
        attempts = self._attempts
        assert attempts is not None
        if attempts.failed(error):
            self._ask()
        elif attempts.retried:
            self._give_up()
        else:
            attempts.retried = True
            self._reader.after_failure(self.entry_id, attempts.replicas, self._again, self._give_up)

    def _again(self) -> None:
        """The ledger has another fragment there now: ask its bookies."""
        self.start()
        assert self._attempts is not None
        self._attempts.retried = True

    def _give_up(self) -> None:
        assert self._attempts is not None
        assert self._attempts.error is not None
        self._fail(self._attempts.error)


class _Attempts:
    """The replicas of an entry, and how many of them were asked."""

    __slots__ = ("_at", "_entry_id", "_order", "_reader", "error", "replicas", "retried")

    def __init__(self, reader: LedgerView, entry_id: int, replicas: Replicas, order: Sequence[int]) -> None:
        self._reader = reader
        self._entry_id = entry_id
        self.replicas = replicas
        self._order = order
        self._at = 0
        self.error: BookKeeperError | None = None
        self.retried = False

    @property
    def channel(self) -> Channel:
        """The replica to ask."""
        return self.replicas.channels[self._order[self._at]]

    def failed(self, error: BookKeeperError) -> bool:
        """Take the ``error`` of the replica asked last; return whether there is another."""
        bookie_id = self.replicas.bookies[self._order[self._at]]
        reader = self._reader
        reader.context.bookies.quarantine(bookie_id, error)
        self.error = more_telling(self.error, of_replica(error, reader.ledger_id, self._entry_id, bookie_id))
        self._at += 1
        return self._at < len(self._order)


class StoredEntryRead(EntryRead):
    """An entry read that calls ``done(error, entry, payload)`` with the entry as stored."""

    __slots__ = ("_done",)

    def __init__(
        self,
        reader: LedgerView,
        entry_id: int,
        done: Callable[[BookKeeperError | None, bytes, bytes], None],
        fast_fail: bool = False,
    ) -> None:
        super().__init__(reader, entry_id, fast_fail=fast_fail)
        self._done = done

    def _succeed(self, entry: bytes, found: tuple[int, int, int, bytes]) -> None:
        self._done(None, entry, found[3])

    def _fail(self, error: BookKeeperError) -> None:
        self._done(error, b"", b"")
