"""Whether this bookie takes adds: by configuration, and while there is space for them."""

from collections.abc import Callable


class Availability:
    """Says which writes are refused as read-only.

    ``changed()`` is called when clients should be told so by the registration, or no longer.
    """

    def __init__(self, read_only: bool = False) -> None:
        self._configured_read_only = read_only
        self._out_of_space = False
        self.changed: Callable[[], None] = lambda: None

    @property
    def read_only(self) -> bool:
        return self._configured_read_only or self._out_of_space

    @property
    def out_of_space(self) -> bool:
        """Whether ledger storage could not write for want of space."""
        return self._out_of_space

    @out_of_space.setter
    def out_of_space(self, out_of_space: bool) -> None:
        before = self.read_only
        self._out_of_space = out_of_space
        if self.read_only != before:
            self.changed()

    def refuses_add(self, high_priority: bool) -> bool:
        """Tell whether an add is refused: a read-only bookie with space takes those of recovery and re-replication."""
        return self._out_of_space or (self._configured_read_only and not high_priority)
