"""Adds of consecutive entries over V2 that are one request to their caller; no IO, no clock (docs/protocol/v2.md)."""

from itertools import chain
from typing import Any

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.completion import Completion


class AddRun:
    """Adds of the entries ``first`` … ``last`` of one ledger."""

    __slots__ = ("_early", "_refused", "deadline", "first", "last", "next", "token")

    def __init__(self, token: Any, deadline: float, first: int, count: int) -> None:
        self.token = token
        self.deadline = deadline
        self.first = first
        self.last = first + count - 1
        self.next = first
        """The first entry that is not answered."""
        self._early: set[int] = set()
        """Entries after it that are."""
        self._refused = False
        """Whether an entry was refused: from then on the caller is told of each entry, not up to which all are."""

    @property
    def answered(self) -> bool:
        """Whether every entry is answered."""
        return self.next > self.last

    def answer(self, ids: range, error: BookKeeperError | None, done: list[Completion]) -> list[range]:
        """Take the answers to ``ids``, and tell the caller what is new; return those that were missing."""
        early: frozenset[int] = frozenset()
        if error is not None and not self._refused:
            early = frozenset(self._early)
        before = self.next
        taken = self.take(ids.start, ids.stop)
        if not taken:
            return taken
        if error is None and not self._refused:
            if self.next > before:
                done.append((self.token, None, self.next))
            return taken
        if early:
            done.append((self.token, None, early))
        self._refused = True
        done.append((self.token, error, frozenset(chain.from_iterable(taken))))
        return taken

    def take(self, start: int, stop: int) -> list[range]:
        """Take the answers to entries from ``start`` until ``stop``; return those that were missing."""
        start, stop = max(start, self.next), min(stop, self.last + 1)
        if start >= stop:
            return []
        taken = [range(start, stop)]
        if self._early:
            missing = [entry_id for entry_id in range(start, stop) if entry_id not in self._early]
            taken = [range(entry_id, entry_id + 1) for entry_id in missing]
        if start == self.next:
            self.next = stop
            self._early.difference_update(range(start, stop))
            while self.next in self._early:
                self._early.discard(self.next)
                self.next += 1
        else:
            self._early.update(range(start, stop))
        return taken

    def end(self, error: BookKeeperError) -> list[Completion]:
        """Return what to tell the caller if nothing comes any more: ``error`` is that of the entries not answered."""
        ends: list[Completion] = []
        if self._early and not self._refused:
            ends.append((self.token, None, frozenset(self._early)))
        ends.append((self.token, error, frozenset(range(self.next, self.last + 1)) - self._early))
        return ends


class BulkAdds:
    """The runs of adds of one connection that wait for their replies."""

    def __init__(self) -> None:
        self._runs: dict[int, list[AddRun]] = {}
        self.answered: float | None = None
        """The earliest deadline of the runs that were answered in part lately; set to None to look anew."""

    def __bool__(self) -> bool:
        return bool(self._runs)

    def add(self, ledger_id: int, run: AddRun) -> None:
        """Wait for the replies to ``run``; those of one ledger do not overlap, and come in the order of their ids."""
        self._runs.setdefault(ledger_id, []).append(run)

    def take(
        self, ledger_id: int, entry_ids: range, error: BookKeeperError | None, done: list[Completion]
    ) -> list[int]:
        """Take an answer to adds of consecutive entries; return the ids of those that no run was missing.

        The caller is told whenever the first entry without an answer is another one; and of each entry once there was
        an error, which is that of its own entries only: the others are on their way.  A run takes all of its answers:
        they belong to no other request, such as a later add of the same entry.
        """
        others: list[range] = []
        finished: list[AddRun] = []
        for run in self._runs.get(ledger_id, ()):
            if run.first >= entry_ids.stop:
                break
            ids = range(max(entry_ids.start, run.first), min(entry_ids.stop, run.last + 1))
            if not ids:
                continue
            others.append(range(entry_ids.start, ids.start))
            entry_ids = range(ids.stop, entry_ids.stop)
            taken = run.answer(ids, error, done)
            others += _without(ids, taken)
            if taken:
                self.answered = run.deadline if self.answered is None else min(self.answered, run.deadline)
            if run.answered:
                finished.append(run)
        for run in finished:
            self._remove(ledger_id, run)
        return [entry_id for ids in (*others, entry_ids) for entry_id in ids]

    def expire(self, now: float, error: BookKeeperError) -> list[Completion]:
        """End the runs whose deadline has passed with ``error``; what still comes for them is dropped."""
        done: list[Completion] = []
        for ledger_id, runs in list(self._runs.items()):
            for run in [each for each in runs if each.deadline <= now]:
                done += run.end(error)
                self._remove(ledger_id, run)
        return done

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        """End every run with ``error``."""
        runs, self._runs = self._runs, {}
        return [told for each in runs.values() for run in each for told in run.end(error)]

    def _remove(self, ledger_id: int, run: AddRun) -> None:
        runs = self._runs[ledger_id]
        runs.remove(run)
        if not runs:
            del self._runs[ledger_id]


def _without(ids: range, taken: list[range]) -> list[range]:
    """Return ``ids`` without those of ``taken``, which are ascending parts of it."""
    rest: list[range] = []
    start = ids.start
    for each in taken:
        if start < each.start:
            rest.append(range(start, each.start))
        start = each.stop
    if start < ids.stop:
        rest.append(range(start, ids.stop))
    return rest
