"""Adds whose ids the application gives, in any order: sent at once, confirmed in the order of the ids.

The pending entries are those up to the first gap, as of any writer.  Those behind it are on their way as well; they
join the pending ones when the gap is filled.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.deferred_sync import DeferredSyncAdds
from bookkeeper_tx.client.pending_add import Pending, PendingAdd
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError, LedgerClosed
from bookkeeper_tx.model import ledger_name


class GivenIdAdds(Adds):
    """The entries of one ledger that wait for their ack quorum, or for entries of lower ids."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._behind: dict[int, PendingAdd] = {}
        """The entries behind the first gap; the length of each is that of its own payload."""
        self._behind_bytes = 0

    @property
    def gap(self) -> int:
        """The lowest id that was not given yet."""
        return (self.pending[-1].entry_id if self.pending else self.acknowledged[0]) + 1

    @property
    def under_way(self) -> int:
        """How many entries are not acknowledged, those behind the gap included."""
        return self.outstanding + len(self._behind)

    @property
    def bytes_under_way(self) -> int:
        """Payload bytes of these entries."""
        return self.outstanding_bytes + self._behind_bytes

    @property
    def last(self) -> Pending | None:
        return self._behind[max(self._behind)] if self._behind else super().last

    def has(self, entry_id: int) -> bool:
        """Return whether ``entry_id`` was given already."""
        return entry_id < self.gap or entry_id in self._behind

    def push_given(self, entry_id: int, entry: bytes, size: int, deferred: Promise[int]) -> None:
        """Send an entry of ``size`` payload bytes, whose id was not given before; ``deferred`` fires with the id."""
        gap, length = self.gap, (self.pending[-1].length if self.pending else self.acknowledged[1])
        self.push(entry_id, entry, size, deferred, entry_id)
        if self.error is not None:
            return
        add = self.pending.pop()
        assert isinstance(add, PendingAdd)
        self._behind[entry_id] = add
        self._behind_bytes += size
        while gap in self._behind:
            add = self._behind.pop(gap)
            self._behind_bytes -= add.length
            add.length = length = length + add.length
            self.pending.append(add)
            gap += 1

    def fail(self, error: BookKeeperError) -> None:
        super().fail(error)
        self._fail_behind(error)

    def close_gap(self) -> None:
        """Fail the entries behind the gap, which nobody will fill any more."""
        name = ledger_name(self._ledger_id)
        self._fail_behind(
            LedgerClosed(f"ledger {name} was closed before its entry {self.gap} was appended, and ends before that one")
        )

    def _fail_behind(self, error: BookKeeperError) -> None:
        failed, self._behind, self._behind_bytes = self._behind, {}, 0
        for _, add in sorted(failed.items()):
            add.missing = 0  # no quorum has to be found for it
            add.fail(error)

    def _unconfirmed(self) -> Iterable[Pending]:
        return chain(self.pending, self._behind.values())


class DeferredSyncGivenIdAdds(GivenIdAdds, DeferredSyncAdds):
    """The same, on their way to bookies that acknowledge them before they are durable."""
