"""Finding the last add confirmed of a ledger that is not closed, from a covering set of its last ensemble."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from attrs import frozen

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    BookKeeperError,
    ClientClosed,
    DigestMismatch,
    NoSuchEntry,
    NoSuchLedger,
    StorageFailed,
    Unauthorized,
)
from bookkeeper_tx.model import BookieId, Fragment, ledger_name
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields
from protocol_specs.wire.operations import Flag


@frozen
class LastEntries:
    """The end of a ledger as a covering set of bookies knows it."""

    last_add_confirmed: int
    """The highest that any of them has.  Every entry acknowledged before the request lies at or before an entry that
    one of them stores."""
    lengths: dict[int, int]
    """Entry id → payload bytes of the ledger up to that entry, for each last entry that a bookie returned."""


class LastEntriesRead:
    """Asks every bookie of the last ensemble for its last entry; ``deferred`` fires with :class:`LastEntries`.

    With ``fence`` each bookie is fenced first.  With ``explicit`` the explicit last add confirmed is asked for as well
    (over V3).  "No such entry" and "no such ledger" count as answers of a bookie; other errors do not.
    """

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        fragment: Fragment,
        quorum: Quorum,
        digest: EntryDigest,
        *,
        fence: bool = False,
        explicit: bool = False,
    ) -> None:
        self._ledger_id = ledger_id
        self._bookies = fragment.ensemble
        self._channels: Sequence[Channel] = [context.channel(each, ledger_id) for each in fragment.ensemble]
        self._context = context
        self._quorum = quorum
        self._digest = digest
        self._fence = fence
        self._explicit = explicit
        self._answered = 0
        self._waiting = len(fragment.ensemble)
        self._last_add_confirmed = fields.NO_ENTRY
        self._lengths: dict[int, int] = {}
        self._errors: list[tuple[BookieId, BookKeeperError]] = []
        self.deferred: Promise[LastEntries] = context.driver.promise()

    def start(self) -> "Promise[LastEntries]":
        """Send the requests."""
        for index, channel in enumerate(self._channels):
            if self._explicit and not self._fence:
                channel.send(ReadLastAddConfirmed(self._ledger_id), partial(self._explicit_replied, index))
            elif self._fence:
                done = partial(self._replied, index)
                key = self._digest.master_key
                channel.read_entry(self._ledger_id, fields.LAST_ENTRY, done, flags=Flag.FENCING, master_key=key)
            else:
                channel.read_entry(self._ledger_id, fields.LAST_ENTRY, partial(self._replied, index))
        return self.deferred

    def _replied(self, index: int, error: BookKeeperError | None, entry: Any) -> None:
        if error is None:
            try:
                self._learn_entry(entry)
            except DigestMismatch as mismatch:
                error = mismatch
        self._count(index, error)

    def _explicit_replied(self, index: int, error: BookKeeperError | None, value: Any) -> None:
        if isinstance(error, (StorageFailed, NoSuchEntry)) and value is not None and value[0] is not None:
            # A bookie answers so if it has an explicit last add confirmed and no entry.
            error = None
        if error is None:
            body, entry = value
            try:
                if body is not None:
                    found = self._digest.verify_last_add_confirmed(self._ledger_id, body)
                    self._last_add_confirmed = max(self._last_add_confirmed, found)
                if entry is not None:
                    self._learn_entry(entry)
            except DigestMismatch as mismatch:
                error = mismatch
        self._count(index, error)

    def _learn_entry(self, entry: bytes) -> None:
        entry_id, last_add_confirmed, length, _ = self._digest.verify(self._ledger_id, None, entry)
        self._last_add_confirmed = max(self._last_add_confirmed, last_add_confirmed)
        self._lengths[entry_id] = length

    def _count(self, index: int, error: BookKeeperError | None) -> None:
        if self.deferred.called:
            return
        self._waiting -= 1
        if isinstance(error, (Unauthorized, ClientClosed)):
            self.deferred.errback(error)
            return
        if error is None or isinstance(error, (NoSuchEntry, NoSuchLedger)):
            self._answered |= 1 << index
        else:
            self._context.bookies.quarantine(self._bookies[index], error)
            self._errors.append((self._bookies[index], error))
        if self._quorum.covered(self._answered):
            self.deferred.callback(LastEntries(self._last_add_confirmed, self._lengths))
        elif not self._waiting:
            self.deferred.errback(self._not_covered())

    def _not_covered(self) -> BookKeeperError:
        reasons = "; ".join(f"{bookie}: {error}" for bookie, error in self._errors)
        return type(self._errors[0][1])(
            f"too few bookies answered to know the last add confirmed of ledger {ledger_name(self._ledger_id)} "
            f"({reasons})"
        )
