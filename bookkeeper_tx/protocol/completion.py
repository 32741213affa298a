"""What comes of a client's requests."""

from typing import Any, TypeAlias

from bookkeeper_tx.errors import BookKeeperError, RemoteError

Completion: TypeAlias = tuple[Any, BookKeeperError | None, Any]
"""The token of a request, its error or None, and its value."""


class RangeRead:
    """Many single reads that complete as one; each answer is an entry's bytes or an error."""

    __slots__ = ("_missing", "answers", "count", "deadline", "first", "ledger_id", "token")

    def __init__(self, token: Any, deadline: float, ledger_id: int, first: int, count: int) -> None:
        self.token = token
        self.deadline = deadline
        self.ledger_id = ledger_id
        self.first = first
        self.count = count
        self.answers: list[bytes | RemoteError | None] = []
        self._missing = count

    def fill(self, first: int, answers: list[bytes | RemoteError]) -> bool:
        """Take the answers for the entries from ``first`` on, those that were asked for; tell whether all are there."""
        index = first - self.first
        have = len(self.answers)
        if index == have and have + len(answers) <= self.count:
            # Replies usually come in the order of the requests.
            self.answers += answers
            self._missing -= len(answers)
            return self._missing == 0
        # A run of replies may begin before this range and go on behind it.
        if index >= self.count:
            return False
        start = max(index, 0)
        for at, answer in enumerate(answers[start - index : self.count - index], start):
            self._set(at, answer)
        return self._missing == 0

    def _set(self, index: int, answer: bytes | RemoteError) -> None:
        if index >= len(self.answers):
            self.answers += [None] * (index + 1 - len(self.answers))
        if self.answers[index] is None:
            self.answers[index] = answer
            self._missing -= 1

    def give_up(self, error: RemoteError) -> list[bytes | RemoteError]:
        """Return the answers there are, with ``error`` for those that are missing."""
        found = [error if answer is None else answer for answer in self.answers]
        return found + [error] * (self.count - len(found))
