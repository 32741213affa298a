"""Ledgers in limbo: entries of them may have been lost here, so what is not here may have been here once.

Whoever asks a bookie for such an entry must not hear "no such entry": a recovering client would count that as a proof
that nobody was told that the entry is safe.  So the answer is UnknownLedgerState, as with Java's DbLedgerStorage.
"""

from typing import TypeAlias

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.unflushed import Unflushed
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import NoSuchEntry, RefusedToStart, UnknownLedgerState
from bookkeeper_tx.model import ledger_name

Change: TypeAlias = tuple[int, ...]
"""Of each storage the number of a flush."""


class Limbo:
    """Puts ledgers of one storage into limbo, and takes them out.

    ``checks``: whether the bookie will compare its ledgers with their metadata, if the storage needs that.
    """

    def __init__(self, unflushed: Unflushed, indexes: Indexes, writer: WritesIndexes, checks: bool) -> None:
        self._unflushed = unflushed
        self._indexes = indexes
        self._writer = writer
        self._checks = checks

    def start(self) -> None:
        """Raise RefusedToStart if entries may be missing here and nobody will look; blocks.  Raises OSError."""
        if self.needs_check() and not self._checks:
            raise RefusedToStart(
                f"entries may be missing beside {self._indexes.path(0)}, and their ledgers were not all compared with "
                "other bookies: start the bookie with dataIntegrityChecking=true, which copies what is missing"
            )

    def needs_check(self) -> bool:
        """Tell whether entries may be missing in any ledger; blocks.  Raises OSError."""
        return self._indexes.needs_integrity_check

    def set_needs_check(self, needed: bool) -> None:
        """Note that, durably.  Blocks, on the flush worker.  Raises OSError."""
        self._writer.set_needs_integrity_check(needed)

    def enter(self, ledger: Ledger, fenced: bool) -> None:
        """Put a ledger into limbo, fenced if that may have been lost, too."""
        ledger.limbo = True
        ledger.fenced = ledger.fenced or fenced
        self._unflushed.change(ledger)

    def leave(self, ledger: Ledger) -> None:
        """Take a ledger out of limbo: what it should have is here, durably (:meth:`is_durable`).

        Before, a crash could find it out of limbo without entries that are not in the journal.
        """
        if ledger.limbo:
            ledger.limbo = False
            self._unflushed.change(ledger)

    @property
    def last_change(self) -> Change:
        """The number of the flush that makes durable all that is here now."""
        unflushed = self._unflushed
        return (unflushed.begun + bool(unflushed.changed),)

    def is_durable(self, change: Change) -> bool:
        """Tell whether that flush has ended."""
        return self._unflushed.ended >= change[0]


def unless_lost(ledger: Ledger, loading: Deferred[EntryRun]) -> Deferred[EntryRun]:
    """Return ``loading``; it does not tell that an entry of a ledger which is in limbo now was never here."""
    if not ledger.limbo:
        return loading

    def unknown(failure: Failure) -> Failure:
        failure.trap(NoSuchEntry)  # type: ignore[no-untyped-call]
        raise UnknownLedgerState(f"ledger {ledger_name(ledger.ledger_id)} may have lost entries here")

    return loading.addErrback(unknown)
