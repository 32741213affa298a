"""The entries that were sent to a bookie and that it has not acknowledged yet: by ids, without an object per entry."""

from collections import deque
from collections.abc import Iterable


class OwedReplies:
    """The entries whose answer one bookie owes, in the order they were sent.  Answers may come in any order."""

    def __init__(self) -> None:
        self._ids: deque[int] = deque()
        self._early: set[int] = set()
        """Entries that were answered before one that was sent earlier."""

    def __bool__(self) -> bool:
        return bool(self._ids)

    @property
    def first(self) -> int | None:
        """The smallest id that is not answered, None if no answer is owed."""
        return self._ids[0] if self._ids else None

    def sent(self, entry_ids: Iterable[int]) -> None:
        """Expect answers for ``entry_ids``, which ascend."""
        self._ids.extend(entry_ids)

    def answered(self, entry_ids: Iterable[int]) -> None:
        """Strike off ``entry_ids``.  An answer that is not owed changes nothing."""
        owed, early = self._ids, self._early
        if not early and self._begins_with(entry_ids):
            for _ in entry_ids:
                owed.popleft()
            return
        for entry_id in entry_ids:
            if owed and owed[0] == entry_id:
                owed.popleft()
            elif owed and owed[0] < entry_id <= owed[-1]:
                early.add(entry_id)
        while early and owed and owed[0] in early:
            early.discard(owed.popleft())

    def _begins_with(self, entry_ids: Iterable[int]) -> bool:
        """Tell whether a range is the first part of the owed ids; its ends are enough, since owed ids ascend."""
        if type(entry_ids) is not range or entry_ids.step != 1 or not 0 < len(entry_ids) <= len(self._ids):
            return False
        return self._ids[0] == entry_ids[0] and self._ids[len(entry_ids) - 1] == entry_ids[-1]
