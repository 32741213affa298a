"""The results of a client's requests."""

from array import array
from collections.abc import Sequence
from math import inf
from typing import Any, TypeAlias

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, RemoteError
from bookkeeper_tx.protocol.client.slow_requests import Tell

Completion: TypeAlias = tuple[Any, BookKeeperError | None, Any]
"""The token of a request, its error or None, and its value."""


class RangeRead:
    """Many single reads that complete as one, with the run of entries up to the last or to the first error.

    With ``size_max`` it completes as soon as there are so many bytes, too; answers that come later are dropped.
    """

    __slots__ = (
        "_early",
        "_error",
        "_next",
        "_runs",
        "_size_left",
        "_told",
        "completed",
        "deadline",
        "first",
        "last",
        "ledger_id",
        "token",
    )

    def __init__(
        self, token: Any, deadline: float, ledger_id: int, first: int, count: int, size_max: int | None = None
    ) -> None:
        self.token = token
        self.deadline = deadline
        self.ledger_id = ledger_id
        self.first = first
        self.last = first + count - 1
        self.completed = False
        """Whether :meth:`completion` was called."""
        self._told = False
        self._next = first
        self._size_left = inf if size_max is None else size_max
        self._runs: list[EntryRun] = []
        self._error: RemoteError | None = None
        """The error of the first entry that is not in the runs."""
        self._early: dict[int, EntryRun | RemoteError] = {}
        """Answers that have overtaken others, one for each entry."""

    @property
    def complete(self) -> bool:
        """Whether every entry is answered, or enough of them."""
        return self._next > self.last or self._size_left <= 0

    def take(self, run: EntryRun) -> None:
        """Take the entries of ``run`` that were asked for and are not answered yet."""
        last = min(run.last_entry_id, self.last)
        if run.first_entry_id <= self._next <= last:
            self._go_on(run.part(self._next, last))
        else:
            for entry_id in range(max(run.first_entry_id, self._next), last + 1):
                self._early.setdefault(entry_id, run.part(entry_id, entry_id))

    def refuse(self, entry_id: int, error: RemoteError) -> None:
        """Take the error instead of an entry."""
        if entry_id == self._next:
            self._go_on(error)
        elif self._next < entry_id <= self.last:
            self._early.setdefault(entry_id, error)

    def tell_slow(self, deadline: float, tell: Tell) -> float:
        """Tell the request, once, if its deadline is at most this one, and it is not complete.

        Returns its deadline if it may have to be told later, else infinity.
        """
        if self._told or self.completed:
            return inf
        if self.deadline > deadline:
            return self.deadline
        self._told = True
        self.token = tell(self.token)
        return inf

    def completion(self, error: RemoteError | None = None) -> Completion:
        """Return the result so far; ``error`` is that of the entries without an answer."""
        self.completed = True
        if not self._runs:
            return self.token, self._error or error, None
        return self.token, None, joined(self._runs)

    def _go_on(self, answer: EntryRun | RemoteError) -> None:
        more: EntryRun | RemoteError | None = answer
        while more is not None:
            if isinstance(more, EntryRun):
                self._next += more.count
                self._size_left -= more.size - more.count * more.prefix
                if self._error is None:
                    self._runs.append(more)
            else:
                self._next += 1
                self._error = self._error or more
            more = self._early.pop(self._next, None) if self._early else None


def joined(runs: Sequence[EntryRun]) -> EntryRun:
    """Return one run of all entries of ``runs``, which follow one another and have prefixes of one size."""
    head = runs[0]
    if len(runs) == 1:
        return head
    buffer = b"".join([memoryview(run.buffer)[run.offsets[0] : run.offsets[-1]] for run in runs])
    steps = {run.offsets.step if isinstance(run.offsets, range) else 0 for run in runs}
    step = steps.pop()
    if step and not steps:
        return EntryRun(head.ledger_id, head.first_entry_id, buffer, range(0, len(buffer) + 1, step), head.prefix)
    offsets = array("Q", (0,))
    for run in runs:
        shift = offsets[-1] - run.offsets[0]
        offsets.extend([offset + shift for offset in run.offsets[1:]])
    return EntryRun(head.ledger_id, head.first_entry_id, buffer, offsets, head.prefix)
