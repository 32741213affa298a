"""Lists of entries: requesting, parsing and checking them."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from compat_tests.bookie.talk import Talk
from compat_tests.judge.verdict import Mismatch
from compat_tests.wire import v3_requests
from compat_tests.wire.replies import Reply
from protocol_specs.wire.entry_list import ENTRY_LIST, GROUP_SIZE, HEADER_SIZE, VERSION
from protocol_specs.wire.status import EOK

FIELD = "availability_of_entries_of_ledger"

_IDS_MAX = 1_000_000
"""More than any case stores; a list that claims more is refused."""


@frozen
class Group:
    """Sequences of one size at equal distances."""

    first: int
    last: int
    size: int
    period: int

    def ids(self) -> list[int]:
        """The entries that it lists, by the rule of the reference."""
        if self.size == 0:
            return []
        if not self.period:
            return list(range(self.first, self.last + self.size))
        starts = range(self.first, self.last + 1, self.period)
        return [start + index for start in starts for index in range(self.size)]

    def count(self) -> int:
        """How many entries it claims to list."""
        sequences = (self.last - self.first) // self.period + 1 if self.period > 0 else 1
        return sequences * self.size


@frozen
class EntryList:
    """A parsed list."""

    raw: bytes
    groups: Sequence[Group]

    def ids(self) -> list[int]:
        """All entries that it lists, in the order of the groups."""
        return [entry_id for group in self.groups for entry_id in group.ids()]


def request_list(talk: Talk, ledger: int, **options: Any) -> bytes:
    """A request for a list, with a transaction id of its own."""
    return v3_requests.list_entries(ledger, txn_id=talk.requests.number(), **options)


def expect_listed(talk: Talk, ledger: int, entry_ids: Sequence[int]) -> EntryList:
    """Ask for the list, and require exactly these entries in ascending order."""
    return check_listed(talk, talk.expect(request_list(talk, ledger), EOK, ledger_id=ledger), entry_ids)


def check_listed(talk: Talk, reply: Reply, entry_ids: Sequence[int]) -> EntryList:
    """Require a well-formed list of exactly these entries."""
    listed = parse(talk, reply)
    talk.check("the entries listed", stretches(listed.ids()), stretches(sorted(entry_ids)))
    return listed


def parse(talk: Talk, reply: Reply) -> EntryList:
    """Parse the list in a reply. Raises Mismatch unless it is well formed."""
    talk.check_that(reply.part is not None and reply.part.HasField(FIELD), "the list", "there", reply)
    raw = getattr(reply.part, FIELD)
    if len(raw) < HEADER_SIZE:
        raise Mismatch("the list", f"{HEADER_SIZE} bytes of header at least", f"{len(raw)} bytes")
    count = int.from_bytes(raw[4:8], "big", signed=True)
    talk.check("version of the list", int.from_bytes(raw[:4], "big", signed=True), VERSION)
    talk.check("bytes of the list", len(raw), HEADER_SIZE + count * GROUP_SIZE)
    groups = [
        Group(each.first_sequence_start, each.last_sequence_start, each.sequence_size, each.sequence_period)
        for each in ENTRY_LIST.parse(raw).groups
    ]
    for group in groups:
        sound = 0 <= group.first <= group.last and group.size >= 0 and group.period >= 0
        in_step = group.last == group.first if not group.period else (group.last - group.first) % group.period == 0
        talk.check_that(sound and in_step and group.count() <= _IDS_MAX, "a group of the list", "well formed", group)
        talk.check_that(not group.period or group.size <= group.period, "a group of the list", "no overlap", group)
    claimed = sum(group.count() for group in groups)
    talk.check_that(claimed <= _IDS_MAX, "entries in the list", f"at most {_IDS_MAX}", claimed)
    return EntryList(raw, groups)


def stretches(entry_ids: Sequence[int]) -> str:
    """Ids in a few words, in the order they are given: ``0-4, 7, 9-12``."""
    parts: list[list[int]] = []
    for entry_id in entry_ids:
        if parts and parts[-1][1] + 1 == entry_id:
            parts[-1][1] = entry_id
        else:
            parts.append([entry_id, entry_id])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in parts) or "none"
