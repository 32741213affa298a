"""Entries that are lost, counted."""

from bookkeeper_tx.errors import BookKeeperError, DigestMismatch
from bookkeeper_tx.model import BookieId

RANGES_MAX = 10_000
"""Ranges whose ids are kept; the entries of further ranges are only counted."""


class MissingEntries:
    """The ids of entries of one ledger of which no bookie has a good copy, as ranges; added in ascending order."""

    def __init__(self) -> None:
        self.count = 0
        """How many are missing, or corrupt."""
        self.corrupt = 0
        """How many of them some bookie has, but only as a bad copy."""
        self.ranges: list[tuple[int, int]] = []
        """First and last id, both included, of each of the first ``RANGES_MAX`` ranges."""
        self.reasons: dict[BookieId, BookKeeperError] = {}
        """The bookies' errors for the first missing entry."""

    def add(self, entry_id: int, reasons: dict[BookieId, BookKeeperError]) -> None:
        """Count an entry that could not be read for these reasons."""
        if not self.count:
            self.reasons = dict(reasons)
        self.count += 1
        self.corrupt += any(isinstance(reason, DigestMismatch) for reason in reasons.values())
        if self.ranges and self.ranges[-1][1] == entry_id - 1:
            self.ranges[-1] = self.ranges[-1][0], entry_id
        elif len(self.ranges) < RANGES_MAX:
            self.ranges.append((entry_id, entry_id))
