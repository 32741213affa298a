"""Whether this bookie takes adds: by configuration, and while ledger storage can write."""

from collections.abc import Callable


class Availability:
    """Says which writes are refused as read-only.

    ``changed()`` is called when clients should be told so by the registration, or no longer.
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
        """Whether ledger storage could not write: its disk is full, or fails."""
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
