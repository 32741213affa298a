"""The list of entries of a ledger on one bookie: encoded, decoded, and compared with the entries that should be there.

A ledger striped over many bookies has a hole after every few entries, and a long ledger has millions of holes; as
groups of equal sequences the list stays small.  Java's encoder (``AvailabilityOfEntriesOfLedger``) writes a group for
each sequence; both forms are read here, and Java reads both.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.wire import entry_list as spec

_NAME = "list of entries"

HOLES_MARKED_MAX = 100_000
"""The holes between up to so many groups are marked: marks double the groups, and the list must still fit a frame."""

HEADER = codecs.derive(_NAME, spec.HEADER)
GROUP = codecs.derive(_NAME, spec.GROUP)


class Group(NamedTuple):
    """Sequences of ``size`` consecutive entries whose starts are ``period`` apart; a group of size 0 marks a hole."""

    first: int
    """The start of the first sequence."""
    last: int
    """The start of the last sequence."""
    size: int
    """Entries in each sequence."""
    period: int
    """Distance from one start to the next; 0 if there is one sequence only."""

    @property
    def end(self) -> int:
        """The id after that of the last entry."""
        return self.last + self.size

    @property
    def entry_count(self) -> int:
        """How many entries there are in all sequences."""
        return ((self.last - self.first) // self.period + 1) * self.size if self.period else self.size

    def has(self, entry_id: int) -> bool:
        """Return whether the entry is in one of the sequences."""
        if not self.first <= entry_id < self.end:
            return False
        return not self.period or (entry_id - self.first) % self.period < self.size

    def sequences(self) -> Iterator[range]:
        """Iterate over the sequences, unless they are empty."""
        if not self.size:
            return
        for start in range(self.first, self.last + 1, self.period or 1):
            yield range(start, start + self.size)


# Encoding ------------------------------------------------------------------------------------------------------------


def encode(entry_ids: Iterable[int]) -> bytes:
    """Encode the list of these entries, in any order (docs/protocol/entry-list.md); in linear time if they ascend.

    Raises ValueError for an id that no entry can have.
    """
    return encode_ranges(_ranges(sorted(entry_ids)))


def encode_ranges(ranges: Iterable[range]) -> bytes:
    """Encode the list of the entries in ``ranges``: ascending, not overlapping, each of step 1.

    For a caller that knows ranges of entries and need not list each id.  Raises ValueError for any other ranges.
    """
    groups = list(_grouped(_sequences(_joined(ranges))))
    if 1 < len(groups) <= HOLES_MARKED_MAX:
        groups = list(_holes_marked(groups))
    head = HEADER.pack_fixed(spec.VERSION, len(groups), bytes(spec.RESERVED_SIZE))
    return head + b"".join([GROUP.pack_fixed(*group) for group in groups])


def _ranges(ascending: list[int]) -> Iterator[range]:
    """Return the ranges of consecutive ids; an id that comes again changes nothing."""
    if not ascending:
        return
    start = 0
    for at, (before, after) in enumerate(pairwise(ascending), 1):
        if after - before > 1:
            yield range(ascending[start], before + 1)
            start = at
    yield range(ascending[start], ascending[-1] + 1)


def _joined(ranges: Iterable[range]) -> Iterator[range]:
    """Join ranges that touch: every reader relies on a hole between the sequences of two groups."""
    held: range | None = None
    for each in ranges:
        if each.step != 1 or each.start < 0 or each.stop - 1 > fields.ENTRY_ID_MAX:
            raise ValueError(f"{each} has other ids than entries: 0 to {fields.ENTRY_ID_MAX}, one after the other")
        if held is not None and each.start < held.stop:
            raise ValueError(f"{each} does not come after {held}")
        if not each:
            continue
        if held is None:
            held = each
        elif each.start == held.stop:
            held = range(held.start, each.stop)
        else:
            yield held
            held = each
    if held is not None:
        yield held


def _sequences(ranges: Iterable[range]) -> Iterator[tuple[int, int]]:
    """Return start and size of sequences small enough for the size's 32 bits."""
    for each in ranges:
        start = each.start
        while each.stop - start > spec.SEQUENCE_SIZE_MAX:
            yield start, spec.SEQUENCE_SIZE_MAX
            start += spec.SEQUENCE_SIZE_MAX
        yield start, each.stop - start


def _grouped(sequences: Iterator[tuple[int, int]]) -> Iterator[Group]:
    """Put each sequence into the group before it if it fits there; the second of a group sets the period."""
    first = last = size = period = 0
    for start, count in sequences:
        step = start - last
        if count == size and (step == period or (not period and size < step <= spec.SEQUENCE_PERIOD_MAX)):
            last, period = start, step
            continue
        if size:
            yield Group(first, last, size, period)
        first, last, size, period = start, start, count, 0
    if size:
        yield Group(first, last, size, period)


def _holes_marked(groups: list[Group]) -> Iterator[Group]:
    """Put empty sequences into each hole of two ids or more between two groups.

    They list nothing.  But Java's check for missing entries (``getUnavailableEntries``) stops at such a hole, and takes
    all entries after it for missing; if an empty group covers the hole, the check goes on, and its result is right.
    """
    for before, after in pairwise(groups):
        yield before
        if after.first - before.end >= 2:
            yield Group(before.end, after.first - 1, 0, 1)
    yield groups[-1]


# Decoding ------------------------------------------------------------------------------------------------------------


class EntryList:
    """The entries of a ledger that a bookie says it stores.

    A few bytes can stand for 2^62 entries, so no method takes time or memory by the number of entries.  Only iteration
    does: bound it (``itertools.islice``), or ask :meth:`missing`.
    """

    __slots__ = ("_entry_count", "_starts", "groups")

    def __init__(self, groups: Iterable[Group]) -> None:
        self.groups = tuple(groups)
        """In the order of their entries, not overlapping."""
        self._starts = [group.first for group in self.groups]
        self._entry_count = sum(group.entry_count for group in self.groups)

    @classmethod
    def decode(cls, data: bytes | bytearray | memoryview) -> "EntryList":
        """Read a list of any encoder; bytes after its groups are ignored.

        Raises :class:`~protocol_specs.codecs.Malformed` for an unknown version, for a list that is cut short, for a
        group that makes no sense, and for groups that overlap or are out of order.
        """
        version, group_count, _ = HEADER.unpack_from(data)
        if version != spec.VERSION:
            raise Malformed(_NAME, "version", 0, f"version {version} is unknown")
        end = spec.HEADER_SIZE + group_count * spec.GROUP_SIZE
        if not spec.HEADER_SIZE <= end <= len(data):
            raise Malformed(_NAME, "group_count", HEADER.offsets["group_count"], f"has no {group_count} groups")
        groups = [Group(*values) for values in GROUP.iter_fixed(memoryview(data)[spec.HEADER_SIZE : end])]
        first_min = 0
        for index, group in enumerate(groups):
            if wrong := _wrong(group, first_min):
                field, reason = wrong
                raise Malformed(_NAME, field, spec.HEADER_SIZE + index * spec.GROUP_SIZE + GROUP.offsets[field], reason)
            first_min = max(group.end, group.first + 1)
        return cls(groups)

    def __contains__(self, entry_id: object) -> bool:
        if not isinstance(entry_id, int):
            return False
        at = bisect_right(self._starts, entry_id)
        return at > 0 and self.groups[at - 1].has(entry_id)

    def __len__(self) -> int:
        return self._entry_count

    def __iter__(self) -> Iterator[int]:
        for sequence in self.ranges():
            yield from sequence

    def __eq__(self, other: object) -> bool:
        """Return whether the same groups list the same entries; two encoders may group one set in two ways."""
        return isinstance(other, EntryList) and self.groups == other.groups

    def __hash__(self) -> int:
        return hash(self.groups)

    def __repr__(self) -> str:
        return f"<EntryList of {self._entry_count} entries in {len(self.groups)} groups>"

    def ranges(self) -> Iterator[range]:
        """Iterate over the sequences of consecutive entries, lowest first."""
        for group in self.groups:
            yield from group.sequences()

    def missing(self, expected: Iterable[int]) -> list[int]:
        """Return the ids of ``expected``, in its order, that are not listed: the entries that this bookie has lost.

        Right for any striping and any encoder.  (Java's ``getUnavailableEntries`` takes every entry after a hole of two
        ids or more between two groups for missing; our own lists leave no such hole uncovered.)
        """
        if not self.groups:
            return list(expected)
        lost, starts, groups = [], self._starts, self.groups
        group, low, high = groups[0], groups[0].first, groups[0].first
        for entry_id in expected:
            if not low <= entry_id < high:  # mostly the next ids are in the same group
                at = bisect_right(starts, entry_id)
                group = groups[max(at - 1, 0)]
                low, high = group.first, starts[at] if at < len(starts) else group.end
            if not group.has(entry_id):
                lost.append(entry_id)
        return lost


def _wrong(group: Group, first_min: int) -> tuple[str, str] | None:
    """Return the field and the reason if this cannot be a group that starts at ``first_min`` or later."""
    if group.first < first_min:
        return "first_sequence_start", f"starts at {group.first}, before {first_min}: out of order or overlapping"
    if group.size < 0:
        return "sequence_size", f"a sequence of {group.size} entries"
    if group.end - 1 > fields.ENTRY_ID_MAX:
        return "last_sequence_start", f"{group.size} entries from {group.last} on: the last has no id"
    if group.last < group.first:
        return "last_sequence_start", f"last sequence at {group.last}, before the first at {group.first}"
    if group.last > group.first or group.period:
        if group.period <= group.size:
            return "sequence_period", f"sequences of {group.size} at a distance of {group.period}: they overlap"
        if (group.last - group.first) % group.period:
            return "last_sequence_start", f"no sequence starts at {group.last}, {group.period} apart from {group.first}"
    return None
