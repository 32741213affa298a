"""Entries that wait for their ack quorum: one by itself, or a run."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from attrs import define, field

from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.entry_format import V1
from bookkeeper_tx.errors import BookKeeperError


class Answers(Protocol):
    """What the promises of entries fire with, where that is not their ids."""

    def one(self, entry_id: int) -> Any:
        """Return that of an entry."""

    def following(self, entry_id: int) -> Iterator[Any]:
        """Return those of the entries from this one on: cheaper for many, and dearer for one."""


@define(eq=False)
class PendingAdd:
    """One entry on its way."""

    entry_id: int
    entry: bytes
    length: int
    """Payload bytes of the ledger up to the entry."""
    missing: int
    """Acknowledgements still missing; negative when more than the ack quorum have come."""
    deferred: Promise[Any] | None
    result: Any
    acknowledged: int = 0
    """A bit for each bookie that has acknowledged the entry."""
    refused: int = 0

    @property
    def first_entry_id(self) -> int:
        """Id of the entry."""
        return self.entry_id

    def fail(self, error: BookKeeperError) -> None:
        """Fail the append of the entry."""
        if self.deferred is not None:
            self.deferred.errback(error.again())


@define(eq=False)
class PendingRun:
    """Consecutive entries on their way to every bookie of an ensemble that is not striped: one object for all.

    They are confirmed in their order, as far as an ack quorum has acknowledged them.  A run of which an add fails, or
    whose ensemble changes, is split into its entries.
    """

    first: int
    entries: Sequence[bytes]
    length: int
    """Payload bytes of the ledger up to the last entry."""
    _ack_quorum_size: int
    deferred: Promise[Any] | None
    result: Any
    deferreds: Sequence[Promise[int]] = ()
    """One for each entry, which fires with its id; empty if nobody waits for each."""
    answers: Answers | None = None
    confirmed: int = field(init=False)
    """Id of the first entry that is not confirmed."""
    entry_id: int = field(init=False)
    """Id of the last entry."""
    missing: int = field(init=False)
    """Acknowledgements of the whole run still missing; negative when more than the ack quorum have come."""
    refused: int = 0
    _ends: dict[int, int] = field(factory=dict)
    """Bit of each bookie that has acknowledged entries → the first one that it has not."""
    parts: tuple[PendingAdd, ...] = ()
    """The entries, each by itself, after the run was split."""

    def __attrs_post_init__(self) -> None:
        self.confirmed = self.first
        self.entry_id = self.first + len(self.entries) - 1
        self.missing = self._ack_quorum_size

    @property
    def first_entry_id(self) -> int:
        """Id of the first entry."""
        return self.first

    @property
    def entry(self) -> bytes:
        """The last entry."""
        return self.entries[-1]

    def acknowledge(self, bit: int, end: int) -> Sequence[PendingAdd]:
        """Note that the bookie of ``bit`` has acknowledged the entries before ``end``; return which parts are new."""
        start = self._ends.get(bit, self.first)
        self._ends[bit] = end
        if end > self.entry_id:
            self.missing -= 1
        if not self.parts:
            return ()
        base = self.parts[0].entry_id
        return self.parts[max(0, start - base) : max(0, end - base)]

    def parts_of(self, entry_ids: Collection[int] | None) -> Sequence[PendingAdd]:
        """Return the parts of these entries, without those that were confirmed before the split; all for None."""
        if entry_ids is None or not self.parts:
            return self.parts
        base = self.parts[0].entry_id
        return [self.parts[entry_id - base] for entry_id in sorted(entry_ids) if entry_id >= base]

    @property
    def acknowledged_end(self) -> int:
        """Id of the first entry that no ack quorum has acknowledged."""
        if len(self._ends) < self._ack_quorum_size:
            return self.first
        return sorted(self._ends.values())[-self._ack_quorum_size]

    def length_to(self, end: int) -> int:
        """Return the payload bytes of the ledger up to the entry before ``end``."""
        return int(V1.metadata.unpack_fixed(self.entries[end - 1 - self.first])[-1])

    def confirm(self, end: int) -> None:
        """Confirm the entries before ``end``, and fire their promises."""
        start, self.confirmed = self.confirmed, end
        if self.deferreds:
            waiting = self.deferreds[start - self.first : end - self.first]
            if self.answers is None:
                for entry_id, deferred in enumerate(waiting, start):
                    deferred.callback(entry_id)
            elif waiting:
                for answer, deferred in zip(self.answers.following(start), waiting, strict=False):
                    deferred.callback(answer)

    def fail(self, error: BookKeeperError) -> None:
        """Fail the run, and the appends of its entries that are not confirmed."""
        for deferred in self.deferreds[self.confirmed - self.first :]:
            deferred.errback(error.again())
        if self.deferred is not None:
            self.deferred.errback(error.again())

    def split(self) -> Sequence[PendingAdd]:
        """Return the entries that are not confirmed, each with its promise; the last one has that of the whole run."""
        adds: list[PendingAdd] = []
        for entry_id in range(self.confirmed, self.entry_id + 1):
            waiter: tuple[Any, Any] = (None, None)
            if self.deferreds:
                result = entry_id if self.answers is None else self.answers.one(entry_id)
                waiter = self.deferreds[entry_id - self.first], result
            elif entry_id == self.entry_id:
                waiter = self.deferred, self.result
            acknowledged = sum(bit for bit, end in self._ends.items() if end > entry_id)
            missing = self._ack_quorum_size - acknowledged.bit_count()
            entry = self.entries[entry_id - self.first]
            add = PendingAdd(entry_id, entry, self.length_to(entry_id + 1), missing, *waiter)
            add.acknowledged = acknowledged
            adds.append(add)
        self.deferred, self.deferreds, self.missing = None, (), 0
        self.parts = tuple(adds)
        return self.parts


Pending: TypeAlias = PendingAdd | PendingRun
