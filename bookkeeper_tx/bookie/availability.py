"""Whether this bookie takes adds: that depends on its configuration, and on whether ledger storage can write."""

from collections.abc import Callable


class Availability:
    """Decides which writes are refused as read-only.

    ``changed()`` is called when :attr:`read_only` has changed, so that the registration can follow.
    """

    def __init__(self, read_only: bool = False) -> None:
        self._configured_read_only = read_only
        self._cannot_write = False
        self.changed: Callable[[], None] = lambda: None

    @property
    def read_only(self) -> bool:
        return self._configured_read_only or self._cannot_write

    @property
    def cannot_write(self) -> bool:
        """Whether the last flush of ledger storage failed: its disk is full, or broken."""
        return self._cannot_write

    @cannot_write.setter
    def cannot_write(self, cannot_write: bool) -> None:
        before = self.read_only
        self._cannot_write = cannot_write
        if self.read_only != before:
            self.changed()

    def refuses_add(self, high_priority: bool) -> bool:
        """Tell whether an add is refused: a read-only bookie that can write takes recovery and re-replication."""
        return self._cannot_write or (self._configured_read_only and not high_priority)
