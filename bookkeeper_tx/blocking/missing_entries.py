"""Entries that are lost, counted."""

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId

RANGES_MAX = 10_000
"""Ranges whose ids are kept; those of more are counted only."""


class MissingEntries:
    """The ids of entries of one ledger that no bookie has, as ranges; they are added in ascending order."""

    def __init__(self) -> None:
        self.count = 0
        """How many are missing."""
        self.ranges: list[tuple[int, int]] = []
        """First and last id of each stretch of them, both included; the first ``RANGES_MAX`` of these."""
        self.reasons: dict[BookieId, BookKeeperError] = {}
        """What the bookies said of the first of them."""

    def add(self, entry_id: int, reasons: dict[BookieId, BookKeeperError]) -> None:
        """Count an entry that is missing for these reasons."""
        if not self.count:
            self.reasons = dict(reasons)
        self.count += 1
        if self.ranges and self.ranges[-1][1] == entry_id - 1:
            self.ranges[-1] = self.ranges[-1][0], entry_id
        elif len(self.ranges) < RANGES_MAX:
            self.ranges.append((entry_id, entry_id))
