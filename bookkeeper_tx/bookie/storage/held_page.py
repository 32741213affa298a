"""What requests hold of an index page while they wait: a bit for each entry, for the page itself has 8 KiB."""

from bookkeeper_tx.bookie.storage.ledger_index import Page
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT

_DIGITS = bytes.maketrans(bytes([False, True]), b"01")


def located(page: Page) -> int:
    """Return a number whose bits tell which entries of a page have a location."""
    return int(bytes(map(NO_LOCATION.__ne__, reversed(page))).translate(_DIGITS) or b"0", 2)


class HeldPage:
    """Which entries of one page have a location, once that was read, or why it cannot be read."""

    __slots__ = ("__weakref__", "_error", "_located")

    def __init__(self) -> None:
        self._located: int | None = None
        self._error: StorageFailed | None = None

    @property
    def is_read(self) -> bool:
        return self._located is not None

    @property
    def answers(self) -> bool:
        """Whether :meth:`has` may be called."""
        return self._located is not None or self._error is not None

    def fill(self, outcome: int | StorageFailed) -> None:
        """Take what was read (:func:`located`), or an error unless another one's read has succeeded."""
        if isinstance(outcome, int):
            self._located = outcome
        else:
            self._error = outcome

    def has(self, entry_id: int) -> bool:
        """Tell whether an entry of the page has a location; raises StorageFailed if that could not be read."""
        if self._located is not None:
            return bool(self._located >> entry_id % PAGE_COUNT & 1)
        assert self._error is not None, "nobody has waited for this page"
        raise StorageFailed(*self._error.args)  # the traceback of the first would hold what holds it
