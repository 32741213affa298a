"""Which entries a bookie was sent and has not acknowledged yet: by ids, without an object an entry."""

from collections import deque
from collections.abc import Iterable


class OwedReplies:
    """What one bookie owes its answer to, in the order it was sent.  Answers may come in any order."""

    def __init__(self) -> None:
        self._ids: deque[int] = deque()
        self._early: set[int] = set()
        """Answered before one that was sent earlier."""

    def __bool__(self) -> bool:
        return bool(self._ids)

    @property
    def first(self) -> int | None:
        """The smallest id that is not answered, None if nothing is owed."""
        return self._ids[0] if self._ids else None

    def sent(self, entry_ids: Iterable[int]) -> None:
        """Expect answers for ``entry_ids``, which ascend."""
        self._ids.extend(entry_ids)

    def answered(self, entry_ids: Iterable[int]) -> None:
        """Strike ``entry_ids`` off.  An answer that nobody waits for changes nothing."""
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
        """Tell whether a range is the first that is owed, by its ends alone: ids that are owed ascend."""
        if type(entry_ids) is not range or entry_ids.step != 1 or not 0 < len(entry_ids) <= len(self._ids):
            return False
        return self._ids[0] == entry_ids[0] and self._ids[len(entry_ids) - 1] == entry_ids[-1]
