"""Reading one entry: one replica after another until one gives an entry that matches its digest."""

from collections.abc import Callable
from functools import partial
from typing import Any

from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.replica_read import Attempt, ReplicaRead
from bookkeeper_tx.client.replicas import Replicas
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError, DigestMismatch
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

    This is the hot path of reading: a read makes no object of its own but the :class:`FirstReply` to call this with.
    """
    if error is None:
        try:
            _, last_add_confirmed, length, payload = reader.digest.verify(reader.ledger_id, entry_id, entry)
        except DigestMismatch as mismatch:
            error = mismatch
        else:
            deferred.callback(Entry(reader.ledger_id, entry_id, payload, last_add_confirmed, length))
            return
    read = EntryRead(reader, entry_id, deferred)
    read.failed(read.begun(asked), error)


class FirstReply(partial[None]):
    """:func:`first_replied` and its first arguments."""

    __slots__ = ()

    def slow(self) -> Callable[[BookKeeperError | None, Any], None]:
        """The answer takes long: ask another replica, too; return what to call with it."""
        reader, entry_id, asked, deferred = self.args
        attempt = EntryRead(reader, entry_id, deferred).begun(asked)
        attempt.slow()
        return attempt.replied


class EntryRead(ReplicaRead):
    """One read under way; ``deferred`` fires with the :class:`Entry`."""

    __slots__ = ("deferred",)

    def __init__(
        self, reader: LedgerView, entry_id: int, deferred: Promise[Any] | None = None, fast_fail: bool = False
    ) -> None:
        super().__init__(reader, entry_id, fast_fail)
        self.deferred: Promise[Any] = reader.context.driver.promise() if deferred is None else deferred

    def _request(self, attempt: Attempt) -> None:
        attempt.channel.read_entry(self.reader.ledger_id, self.entry_id, attempt.replied)

    def _check(self, attempt: Attempt, value: Any) -> None:
        try:
            found = self.reader.digest.verify(self.reader.ledger_id, self.entry_id, value)
        except DigestMismatch as mismatch:
            self.failed(attempt, mismatch)
        else:
            self._end()
            self._succeed(value, found)

    def _succeed(self, entry: bytes, found: tuple[int, int, int, bytes]) -> None:
        entry_id, last_add_confirmed, length, payload = found
        self.deferred.callback(Entry(self.reader.ledger_id, entry_id, payload, last_add_confirmed, length))

    def _fail(self, error: BookKeeperError) -> None:
        self.deferred.errback(error)


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
