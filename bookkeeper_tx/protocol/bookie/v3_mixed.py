"""V3 adds and reads of alternating ledgers, as one request each, as :mod:`bookkeeper_tx.protocol.bookie.v2_mixed`."""

from collections.abc import Sequence
from typing import TypeAlias

from bookkeeper_tx.entry.entry_format import ENTRY_HEAD
from bookkeeper_tx.entry.frame_runs import RUN_MIN
from bookkeeper_tx.protocol.bookie import v3_add_entry, v3_read_entry, v3_replies
from bookkeeper_tx.protocol.bookie.requests import MIXED_READ_BYTES, Buffer, OneAdd, content_bytes_of
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import codecs, fields
from protocol_specs.fields import NO_ENTRY
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status

_pack_length = codecs.RECORD_LENGTH.pack_fixed
_head_of = ENTRY_HEAD.unpack_fixed
_ADD, _READ, _VERSION = int(V3Operation.ADD_ENTRY), int(V3Operation.READ_ENTRY), int(v3.VERSION)
_ENTRY_SIZE_MIN = fields.ENTRY_SIZE_MIN


class MixedAddRequests:
    """Plain adds to any ledgers of scope 0."""

    __slots__ = ("_echoed", "_last", "_run_count", "adds", "high_priority", "recovery")

    def __init__(self, run: v3_add_entry.AddRequests) -> None:
        """Begin with the adds of ``run``, which are plain ones."""
        self.high_priority = run.high_priority
        self.recovery = run.recovery
        self.adds: list[OneAdd] = []
        self._echoed: list[tuple[int, int, int]] = []
        self._last, self._run_count = (-1, NO_ENTRY), 0
        """The ids of the last entry, and how many of its ledger came one after another."""
        for body, echoed in zip(*run.plain_adds, strict=True):
            self._add(body, run.master_key, echoed)

    @property
    def content_bytes(self) -> int:
        return content_bytes_of(self.adds)

    def take(self, message: Decoded) -> bool:
        """Take one more request if it is like the others, unless it makes a run of one ledger with the last ones."""
        header, request = message.header, message.add_request
        body = request.body
        if (
            header.operation != _ADD
            or len(body) < _ENTRY_SIZE_MIN
            or request.ledger_scope_id
            or request.write_flags
            or header.version != _VERSION
            or (header.priority > 0) != self.high_priority
            or v3_add_entry.is_recovery(request) != self.recovery
        ):
            return False
        return self._add(body, request.master_key, (header.txn_id, request.ledger_id, request.entry_id))

    def take_following(self, buffer: bytes, position: int) -> int:
        """Return ``position``: the content of the next add cannot be foreseen."""
        return position

    def _add(self, body: bytes, master_key: bytes, echoed: tuple[int, int, int]) -> bool:
        ledger_id, entry_id, last_add_confirmed = _head_of(body)
        if entry_id < 0:
            return False
        if (ledger_id, entry_id - 1) == self._last:
            self._run_count += 1
            if self._run_count >= RUN_MIN:
                return False
        else:
            self._run_count = 1
        self._last = (ledger_id, entry_id)
        self.adds.append((ledger_id, entry_id, last_add_confirmed, master_key, _pack_length(len(body)) + body))
        self._echoed.append(echoed)
        return True

    def replies(self, indexes: Sequence[int], status: Status) -> bytes:
        return v3_add_entry.encode_replies([self._echoed[index] for index in indexes], 0, status)


class MixedReadRequests:
    """Plain reads of any ledgers of scope 0."""

    __slots__ = ("_ledger_id", "_run_count", "_txn_ids", "high_priority", "reads")

    def __init__(self, txn_ids: Sequence[int], reads: Sequence[tuple[int, int]], high_priority: bool) -> None:
        self._txn_ids = list(txn_ids)
        self.reads = list(reads)
        self.high_priority = high_priority
        self._ledger_id, self._run_count = self.reads[-1][0], len(self.reads)
        """The ledger of the last read, and how many of its reads came one after another."""

    @property
    def content_bytes(self) -> int:
        return MIXED_READ_BYTES * len(self.reads)

    def take(self, message: Decoded) -> bool:
        """Take one more request if it is like the others, unless it makes a run of one ledger with the last ones."""
        header, request = message.header, message.read_request
        if (
            header.operation != _READ
            or request.ledger_scope_id
            or request.HasField("previous_lac")
            or header.version != _VERSION
            or (header.priority > 0) != self.high_priority
            or v3_read_entry.is_fencing(request)
        ):
            return False
        ledger_id = request.ledger_id
        if ledger_id == self._ledger_id:
            self._run_count += 1
            if self._run_count >= RUN_MIN:
                return False
        else:
            self._ledger_id, self._run_count = ledger_id, 1
        self.reads.append((ledger_id, request.entry_id))
        self._txn_ids.append(header.txn_id)
        return True

    def take_following(self, buffer: bytes, position: int) -> int:
        """Return ``position``: the ledger of the next read cannot be foreseen."""
        return position

    def part(self, index: int) -> v3_read_entry.ReadRequests:
        return v3_read_entry.ReadRequests.one(self._txn_ids[index], *self.reads[index], self.high_priority)

    def rest(self, answered: int) -> "MixedReadRequests":
        return MixedReadRequests(self._txn_ids[answered:], self.reads[answered:], self.high_priority)

    def replies(self, indexes: Sequence[int], entries: Sequence[Buffer], confirmed: Sequence[int]) -> list[Buffer]:
        whole, part = v3_replies.served(V3Operation.READ_ENTRY, 0, statuses.EOK)
        header, encode, reads, txn_ids = whole.header, whole.SerializeToString, self.reads, self._txn_ids
        frames: list[Buffer] = []
        for index, entry, part.max_lac in zip(indexes, entries, confirmed, strict=True):
            header.txn_id = txn_ids[index]
            part.ledger_id, part.entry_id = reads[index]
            part.body = bytes(entry)
            body = encode()
            frames += (_pack_length(len(body)), body)
        return frames


Mixed: TypeAlias = MixedAddRequests | MixedReadRequests


def mixed_of(run: object, message: Decoded) -> Mixed | None:
    """Return ``run`` together with ``message``, which it did not take, if both are plain requests of one kind.

    Returns None if ``run`` is long enough to stay a run of one ledger.
    """
    mixed: Mixed | None = None
    if isinstance(run, v3_add_entry.AddRequests):
        if 0 < len(run.plain_adds[0]) < RUN_MIN:
            mixed = MixedAddRequests(run)
    elif isinstance(run, v3_read_entry.ReadRequests):
        txn_ids, reads = run.plain_reads
        if 0 < len(reads) < RUN_MIN:
            mixed = MixedReadRequests(txn_ids, reads, run.high_priority)
    return mixed if mixed is not None and mixed.take(message) else None
