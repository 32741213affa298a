"""Several journals, each in a directory of its own: the records of a ledger are in that of its id modulo their count.

So is Java's rule.  Of a ledger outside scope 0, which Java does not have, the lower half of the id counts.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.disk import Buffer
from bookkeeper_tx.bookie.journal.journal import Done, Journal
from bookkeeper_tx.bookie.journal.last_mark import LogMark, combined, marks_of
from bookkeeper_tx.entry.entry_run import ENTRY_RECORD, RECORD_LENGTH_SIZE
from protocol_specs.entry import version
from protocol_specs.ledger_id import split

_HEAD_SIZE: Final = 64
"""Bytes of a record that hold its ids, whatever its format."""


class Journals:
    """Has the interface of one :class:`Journal`; its mark is that of all of them, combined."""

    def __init__(self, journals: Sequence[Journal]) -> None:
        self._journals = journals

    @property
    def mark(self) -> LogMark:
        """All records before the marks of the journals are on the disk."""
        return combined([journal.mark for journal in self._journals])

    @property
    def queued_bytes(self) -> int:
        """Bytes of records that wait, and of what waits for them, in all journals."""
        return sum(journal.queued_bytes for journal in self._journals)

    @property
    def queued_count(self) -> int:
        """How many appends they came with."""
        return sum(journal.queued_count for journal in self._journals)

    @property
    def failing(self) -> bool:
        """Whether one of the journals cannot be written."""
        return any(journal.failing for journal in self._journals)

    @property
    def unsynced(self) -> bool:
        """Whether records count as written that are not synced."""
        return any(journal.unsynced for journal in self._journals)

    @property
    def answering(self) -> AbstractContextManager[None]:
        """Entered while the callbacks of a group are called."""
        return self._journals[0].answering

    @answering.setter
    def answering(self, turn: AbstractContextManager[None]) -> None:
        for journal in self._journals:
            journal.answering = turn

    @property
    def on_group_done(self) -> Callable[[], None]:
        """Called when the records of a group do not wait any more."""
        return self._journals[0].on_group_done

    @on_group_done.setter
    def on_group_done(self, function: Callable[[], None]) -> None:
        for journal in self._journals:
            journal.on_group_done = function

    @property
    def on_failing_changed(self) -> Callable[[], None]:
        """Called when ``failing`` may have changed."""
        return self._journals[0].on_failing_changed

    @on_failing_changed.setter
    def on_failing_changed(self, function: Callable[[], None]) -> None:
        for journal in self._journals:
            journal.on_failing_changed = function

    @property
    def short_of_space(self) -> bool:
        """Whether no backups are kept."""
        return self._journals[0].short_of_space

    @short_of_space.setter
    def short_of_space(self, short: bool) -> None:
        for journal in self._journals:
            journal.short_of_space = short

    def start(self, replayed: LogMark) -> Deferred[None]:
        """Start each journal behind its own mark, as :meth:`Journal.start` does."""
        marks = marks_of(replayed)
        return _all([journal.start(mark) for journal, mark in zip(self._journals, marks, strict=True)], _nothing)

    def append(self, records: Sequence[Buffer], done: Done, waiter_bytes: int = 0) -> None:
        """Write each of ``records`` to its journal; ``done`` as in :meth:`Journal.append`, once for all of them.

        Without records ``done`` is called when everything that was appended before is on the disk.
        """
        parts: dict[int, list[Buffer]] = {} if records else {index: [] for index in range(len(self._journals))}
        for record in records:
            parts.setdefault(self._index_of(record), []).append(record)
        if len(parts) > 1:
            done = _Together(len(parts), done).part_done
        for index, part in parts.items():
            self._journals[index].append(part, done, waiter_bytes)
            waiter_bytes = 0

    def _index_of(self, record: Buffer) -> int:
        ledger_id: int = ENTRY_RECORD.unpack_fixed(record)[1]
        if ledger_id < 0:
            head = bytes(memoryview(record)[RECORD_LENGTH_SIZE:_HEAD_SIZE])
            ledger_id = split(version.ids_of(head)[0])[1]
        return ledger_id % len(self._journals)

    def sync(self) -> None:
        """Have all records that were appended before synced."""
        for journal in self._journals:
            journal.sync()

    def try_again(self) -> None:
        """Find out whether those that are failing can be written again."""
        for journal in self._journals:
            journal.try_again()

    def stop(self) -> Deferred[None]:
        """Stop all journals, as :meth:`Journal.stop` does."""
        return _all([journal.stop() for journal in self._journals], _nothing)

    def remove_before(self, mark: LogMark) -> Deferred[list[str]]:
        """Delete files that are not needed once ``mark``, of all journals, is durable; fires with their paths."""
        pairs = zip(self._journals, marks_of(mark), strict=True)
        removing = [journal.remove_before(each) for journal, each in pairs]
        return _all(removing, lambda removed: [path for paths in removed for path in paths])


AnyJournal: TypeAlias = Journal | Journals


class _Together:
    """Calls ``done`` once ``count`` parts are done, with the first error."""

    def __init__(self, count: int, done: Done) -> None:
        self._left = count
        self._done = done
        self._error: BaseException | None = None

    def part_done(self, error: BaseException | None) -> None:
        self._left -= 1
        self._error = self._error or error
        if not self._left:
            self._done(self._error)


def _nothing(_: object) -> None: ...


def _all(waiting: Sequence[Deferred[Any]], then: Callable[[list[Any]], Any]) -> Deferred[Any]:
    """Fire with ``then(results)`` when all have fired; fail with the first error."""

    def unwrapped(failure: Failure) -> Failure:
        first: Failure = failure.value.subFailure  # type: ignore[union-attr]
        return first

    return gatherResults(waiting, consumeErrors=True).addCallbacks(then, unwrapped)
