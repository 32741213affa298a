"""Adds of consecutive entries over V2 that complete as one; no IO, no clock (docs/protocol/v2.md)."""

from collections.abc import Iterator
from typing import Any

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.completion import Completion


class AddRun:
    """Adds of the entries ``first`` … ``last`` of one ledger."""

    __slots__ = ("_early", "_next", "deadline", "first", "last", "token")

    def __init__(self, token: Any, deadline: float, first: int, count: int) -> None:
        self.token = token
        self.deadline = deadline
        self.first = first
        self.last = first + count - 1
        self._next = first
        """The first entry that is not acknowledged."""
        self._early: set[int] = set()
        """Entries after it that are."""

    def take(self, entry_ids: range) -> bool:
        """Take note that entries are acknowledged; return whether all are."""
        if entry_ids.start <= self._next:
            self._next = max(self._next, min(entry_ids.stop, self.last + 1))
        else:
            self._early.update(range(entry_ids.start, min(entry_ids.stop, self.last + 1)))
        while self._early and self._next in self._early:
            self._early.discard(self._next)
            self._next += 1
        return self._next > self.last

    @property
    def acknowledged(self) -> frozenset[int]:
        """The entries that are acknowledged."""
        return frozenset(range(self.first, self._next)) | self._early

    def failed(self, error: BookKeeperError) -> Completion:
        """Return the completion with ``error``, and with the entries that were acknowledged before it."""
        return self.token, error, self.acknowledged


class BulkAdds:
    """The runs of adds of one connection that wait for their replies."""

    def __init__(self) -> None:
        self._runs: dict[int, list[AddRun]] = {}
        self.answered: float | None = None
        """The deadline of a run that was answered last; set to None to look anew."""

    def __bool__(self) -> bool:
        return bool(self._runs)

    def add(self, ledger_id: int, run: AddRun) -> None:
        """Wait for the replies to ``run``."""
        self._runs.setdefault(ledger_id, []).append(run)

    def take(
        self, ledger_id: int, entry_ids: range, error: BookKeeperError | None, done: list[Completion]
    ) -> Iterator[int]:
        """Take an answer to adds of consecutive entries; return the ids of those that are in no run.

        An error completes a run at once; answers to the rest of it are dropped later.
        """
        taken: list[range] = []
        for run in list(self._runs.get(ledger_id, ())):
            start, stop = max(run.first, entry_ids.start), min(run.last + 1, entry_ids.stop)
            if start >= stop:
                continue
            taken.append(range(start, stop))
            self.answered = run.deadline
            if error is not None:
                done.append(run.failed(error))
            elif run.take(range(start, stop)):
                done.append((run.token, None, None))
            else:
                continue
            self._remove(ledger_id, run)
        if taken and taken[0] == entry_ids:
            return iter(())
        return (entry_id for entry_id in entry_ids if not any(entry_id in each for each in taken))

    def expire(self, now: float, error: BookKeeperError) -> list[Completion]:
        """Complete the runs whose deadline has passed with ``error``."""
        done: list[Completion] = []
        for ledger_id, runs in list(self._runs.items()):
            for run in [each for each in runs if each.deadline <= now]:
                done.append(run.failed(error))
                self._remove(ledger_id, run)
        return done

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        """Complete every run with ``error``."""
        runs, self._runs = self._runs, {}
        return [run.failed(error) for each in runs.values() for run in each]

    def _remove(self, ledger_id: int, run: AddRun) -> None:
        runs = self._runs[ledger_id]
        runs.remove(run)
        if not runs:
            del self._runs[ledger_id]
