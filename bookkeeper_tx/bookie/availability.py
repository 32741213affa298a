"""Whether this bookie takes adds: that depends on its configuration, and on whether its disks can be written."""

from collections.abc import Callable
from enum import Enum
from typing import Final


class Reason(Enum):
    """A reason to take no adds."""

    CONFIGURED = "it is configured to be read-only"
    FLUSH_FAILED = "the last flush of ledger storage failed: its disk is full, or broken"
    READ_ONLY_DISK = "the file system of its directories was read-only at the start"
    JOURNAL_FAILED = "the journal cannot be written: its disk is full, or broken"
    DISK_FULL = "the ledger disk is full but for a reserve"
    RESERVE_USED = "the reserve of the ledger disk is used up"


_NO_WRITES: Final = frozenset({Reason.FLUSH_FAILED, Reason.JOURNAL_FAILED, Reason.RESERVE_USED, Reason.READ_ONLY_DISK})
"""The reasons that hold for adds of high priority, too."""


class Availability:
    """Decides which writes are refused as read-only.

    ``changed()`` is called when :attr:`read_only` has changed, so that the registration can follow.
    """

    def __init__(self, read_only: bool = False) -> None:
        self._reasons: set[Reason] = {Reason.CONFIGURED} if read_only else set()
        self.changed: Callable[[], None] = lambda: None

    @property
    def read_only(self) -> bool:
        return bool(self._reasons)

    @property
    def cannot_write(self) -> bool:
        """Whether no add at all can be written."""
        return not _NO_WRITES.isdisjoint(self._reasons)

    def note(self, reason: Reason, holds: bool) -> None:
        """Take notice whether a reason to be read-only holds."""
        before = self.read_only
        (self._reasons.add if holds else self._reasons.discard)(reason)
        if self.read_only != before:
            self.changed()

    def refuses_add(self, high_priority: bool) -> bool:
        """Tell whether an add is refused: a read-only bookie that can write takes recovery and re-replication."""
        return self.cannot_write or (self.read_only and not high_priority)
