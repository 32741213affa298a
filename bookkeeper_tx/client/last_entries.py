"""The end of a ledger that is not closed, from the answers of the bookies of its last ensemble; asks nobody itself."""

from collections.abc import Sequence

from attrs import frozen

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    ClientClosed,
    NoSuchEntry,
    NoSuchLedger,
    Unauthorized,
)
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields


@frozen
class LastEntries:
    """The end of a ledger as a covering set of bookies knows it."""

    last_add_confirmed: int
    """The highest that any of them has.  Every entry acknowledged before the request lies at or before an entry that
    one of them stores."""
    lengths: dict[int, int]
    """Entry id → payload bytes of the ledger up to that entry, for each last entry that a bookie returned."""


class LastEntryAnswers:
    """The answers about one ledger.

    "No such entry" and "no such ledger" count as answers of a bookie; other errors do not.
    """

    def __init__(self, ledger_id: int, ensemble: Sequence[BookieId], quorum: Quorum, digest: EntryDigest) -> None:
        self.ledger_id = ledger_id
        self.ensemble = ensemble
        self._quorum = quorum
        self._digest = digest
        self._waiting = len(ensemble)
        self._answered = 0
        """A bit for each bookie of the ensemble that has answered."""
        self._last_add_confirmed = fields.NO_ENTRY
        self._lengths: dict[int, int] = {}
        self._errors: dict[BookieId, BookKeeperError] = {}
        self._refusal: BookKeeperError | None = None

    def learn_entry(self, entry: bytes) -> None:
        """Learn from the last entry of a bookie; raises DigestMismatch."""
        entry_id, last_add_confirmed, length, _ = self._digest.verify(self.ledger_id, None, entry)
        self._last_add_confirmed = max(self._last_add_confirmed, last_add_confirmed)
        self._lengths[entry_id] = length

    def learn_explicit(self, body: bytes) -> None:
        """Learn from the explicit last add confirmed that a bookie has; raises DigestMismatch."""
        found = self._digest.verify_last_add_confirmed(self.ledger_id, body)
        self._last_add_confirmed = max(self._last_add_confirmed, found)

    def count(self, index: int, error: BookKeeperError | None) -> None:
        """Count the answer of a bookie, of which what it has was learnt, or its error; one of each bookie."""
        self._waiting -= 1
        if error is None or isinstance(error, (NoSuchEntry, NoSuchLedger)):
            self._answered |= 1 << index
            return
        self._errors[self.ensemble[index]] = error
        if isinstance(error, (Unauthorized, ClientClosed)):
            self._refusal = self._refusal or error

    @property
    def decided(self) -> bool:
        """Whether :meth:`outcome` is known, though more answers may tell of later entries."""
        return self._refusal is not None or not self._waiting or self._quorum.covered(self._answered)

    def outcome(self) -> LastEntries | BookKeeperError:
        """Return the end of the ledger, or the error for which it is not known."""
        if self._refusal is not None:
            return self._refusal
        if self._quorum.covered(self._answered):
            return LastEntries(self._last_add_confirmed, self._lengths)
        kinds = {type(error) for error in self._errors.values()}
        kind = kinds.pop() if len(kinds) == 1 else BookieUnavailable
        reasons = "; ".join(f"{bookie}: {error}" for bookie, error in self._errors.items())
        name = ledger_name(self.ledger_id)
        return kind(f"too few bookies answered to know the last add confirmed of ledger {name} ({reasons})")
