"""Whether this bookie takes adds: its configuration decides, its operator, and whether its disks can be written."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from bookkeeper_tx.errors import LocalError


class Reason(Enum):
    """A reason to take no adds."""

    CONFIGURED = "it is configured to be read-only"
    MANUAL = "an operator has made it read-only"
    FLUSH_FAILED = "the last flush of ledger storage failed: its disk is full, or broken"
    READ_ONLY_DISK = "the file system of its directories was read-only at the start"
    JOURNAL_FAILED = "the journal cannot be written: its disk is full, or broken"
    DISK_FULL = "a ledger disk is full but for a reserve, or does not answer"
    RESERVE_USED = "the reserve of the ledger disks is used up"


_NO_WRITES: Final = frozenset({Reason.FLUSH_FAILED, Reason.JOURNAL_FAILED, Reason.RESERVE_USED, Reason.READ_ONLY_DISK})
"""The reasons that hold for adds of high priority, too."""


class ModeFixed(LocalError):
    """The configuration does not allow an operator this change between read-only and writable."""


class Availability:
    """Decides which writes are refused as read-only.

    ``changed()`` is called when :attr:`read_only` has changed, so that the registration can follow, and
    ``reasons_changed()`` when :attr:`reasons` have.  ``mode_enabled``: whether the bookie may be read-only at all.
    """

    def __init__(self, read_only: bool = False, mode_enabled: bool = True) -> None:
        self._reasons: set[Reason] = {Reason.CONFIGURED} if read_only else set()
        self._mode_enabled = mode_enabled
        self.changed: Callable[[], None] = lambda: None
        self.reasons_changed: Callable[[], None] = lambda: None

    @property
    def read_only(self) -> bool:
        return bool(self._reasons)

    @property
    def reasons(self) -> frozenset[Reason]:
        """What holds at present; empty while the bookie is writable."""
        return frozenset(self._reasons)

    @property
    def cannot_write(self) -> bool:
        """Whether no add at all can be written."""
        return not _NO_WRITES.isdisjoint(self._reasons)

    def note(self, reason: Reason, holds: bool) -> None:
        """Take notice whether a reason to be read-only holds."""
        if (reason in self._reasons) == holds:
            return
        before = self.read_only
        (self._reasons.add if holds else self._reasons.discard)(reason)
        self.reasons_changed()
        if self.read_only != before:
            self.changed()

    def set_manual(self, read_only: bool) -> None:
        """Make the bookie read-only until it is told otherwise here, or no more so.

        It stays read-only as long as there is another reason.  Raises ModeFixed.
        """
        if read_only and not self._mode_enabled:
            raise ModeFixed("this bookie may not be read-only: readOnlyModeEnabled is false")
        if not read_only and Reason.CONFIGURED in self._reasons:
            raise ModeFixed("this bookie is always read-only: forceReadOnlyBookie is true")
        self.note(Reason.MANUAL, read_only)

    def refuses_add(self, high_priority: bool) -> bool:
        """Tell whether an add is refused: a read-only bookie that can write takes recovery and re-replication."""
        return self.cannot_write or (self.read_only and not high_priority)
