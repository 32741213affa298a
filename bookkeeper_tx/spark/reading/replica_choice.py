"""Which bookie to ask for an entry next, and the error when none has it."""

from collections.abc import Sequence

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BadRequest,
    BadVersion,
    BookieUnavailable,
    BookKeeperError,
    DigestMismatch,
    EntriesMissing,
    LocalError,
    NoSuchEntry,
    NoSuchLedger,
    RequestTimedOut,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.model import BookieId, ledger_name

ABSENT = (NoSuchEntry, NoSuchLedger)
ANSWERS = (*ABSENT, DigestMismatch)
"""The errors of a bookie that has answered, but has no good copy of the entry."""

LASTING = (*ANSWERS, Unauthorized, AuthenticationFailed, TlsFailed, BadRequest, BadVersion, LocalError)
"""The errors that would come again if the bookie were asked again."""

SILENT = (BookieUnavailable, RequestTimedOut)


class ReplicaChoice:
    """The bookies that should store one entry, and the errors of those that were asked for it."""

    def __init__(self, order: Sequence[BookieId]) -> None:
        self._order = list(order)
        self._corrupt: tuple[BookieId, EntryRun] | None = None
        self.reasons: dict[BookieId, BookKeeperError] = {}
        self.retries = 0

    @property
    def next(self) -> BookieId | None:
        """The bookie to ask, None when all were asked."""
        return next((bookie for bookie in self._order if bookie not in self.reasons), None)

    @property
    def lost(self) -> bool:
        """Whether every bookie has answered, and none has a good copy of the entry."""
        return all(isinstance(error, ANSWERS) for error in self.reasons.values())

    @property
    def transient(self) -> bool:
        """Whether another try could find the entry."""
        return any(not isinstance(error, LASTING) for error in self.reasons.values())

    @property
    def corrupt(self) -> tuple[BookieId, EntryRun] | None:
        """A bookie that has a bad copy of the entry, and a run of that copy."""
        return self._corrupt

    def failed(self, bookie: BookieId, error: BookKeeperError) -> None:
        """Keep the error that a bookie has answered."""
        self.reasons[bookie] = error

    def keep_corrupt(self, bookie: BookieId, run: EntryRun) -> None:
        """Keep a bad copy that a bookie has sent."""
        self._corrupt = self._corrupt or (bookie, run)

    def again(self) -> None:
        """Ask the bookies once more that may have the entry now."""
        self.retries += 1
        self.reasons = {bookie: error for bookie, error in self.reasons.items() if isinstance(error, LASTING)}

    def moved_to(self, order: Sequence[BookieId]) -> bool:
        """Ask these bookies instead if they differ from the present ones; return whether they do."""
        if set(order) == set(self._order):
            return False
        self._order = list(order)
        self.reasons = {}
        return True

    def found_at(self, bookie: BookieId) -> None:
        """The bookie had the entry: go on with the entries after it, and ask this bookie first."""
        self.retries, self._corrupt = 0, None
        if self.reasons or self._order[0] != bookie:
            self.reasons.clear()
            self._order.sort(key=lambda each: each != bookie)

    def passed_over(self) -> None:
        """No bookie has the entry: go on with those after it.  A bookie without the ledger has none of them either."""
        self.retries, self._corrupt = 0, None
        self.reasons = {bookie: error for bookie, error in self.reasons.items() if isinstance(error, NoSuchLedger)}

    def verdict(self, ledger_id: int, entry_id: int) -> BookKeeperError:
        """Return the error for an entry that no bookie gave, once all were asked."""
        errors = list(self.reasons.values())
        text = "; ".join(f"{bookie}: {error}" for bookie, error in self.reasons.items())
        what = f"entry {entry_id} of ledger {ledger_name(ledger_id)}"
        if all(isinstance(error, DigestMismatch) for error in errors):
            return DigestMismatch(
                f"{what} is corrupt on all of its bookies, or password or digest type is wrong ({text})"
            )
        if self.lost:
            return EntriesMissing(ledger_id, entry_id, entry_id, self.reasons)
        others = [error for error in errors if not isinstance(error, (*ANSWERS, *SILENT))]
        unanswered = all(isinstance(error, AuthenticationUnanswered) for error in errors)
        silent = AuthenticationUnanswered if unanswered else BookieUnavailable
        kind = type(others[0]) if others else silent
        return kind(f"{what} could not be read ({text})")
