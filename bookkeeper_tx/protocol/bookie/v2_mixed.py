"""V2 adds and reads of alternating ledgers, as one request each: a bookie's client writes many ledgers at once.

A run of :mod:`bookkeeper_tx.protocol.bookie.v2` is of one ledger.  Where ledgers alternate, a run of one entry each
would cost more than the entry.
"""

from collections.abc import Sequence
from itertools import compress
from itertools import count as count_from
from operator import eq

from bookkeeper_tx.entry.entry_format import ENTRY_IDS
from bookkeeper_tx.entry.frame_runs import RUN_MIN, equal_frames
from bookkeeper_tx.protocol.bookie import v2
from bookkeeper_tx.protocol.bookie.requests import MIXED_READ_BYTES, Buffer, OneAdd, content_bytes_of
from bookkeeper_tx.protocol.frame_buffer import FRAME_START
from bookkeeper_tx.protocol.v2_frames import (
    ADD_LENGTH_MIN,
    ADD_OVERHEAD,
    ADD_REPLY_HEAD,
    ADD_REQUEST_HEAD,
    ENTRY_AT,
    LENGTH,
    READ_REPLY,
    READ_REQUEST,
    REPLY_LENGTH,
)
from protocol_specs import codecs
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import Status

_FENCING, _HIGH_PRIORITY, _RECOVERY_ADD = int(Flag.FENCING), int(Flag.HIGH_PRIORITY), int(Flag.RECOVERY_ADD)
_IDS_SIZE = ENTRY_IDS.size

LOOKED_AT = 64
"""Reads that are read together, before it is known whether a run of one ledger begins among them; fewer at first."""

_pack_length = codecs.RECORD_LENGTH.pack_fixed


class MixedAddRequests:
    """Add requests of any ledgers, under one header."""

    __slots__ = ("_header", "_ids", "adds", "high_priority", "recovery")

    def __init__(self, header: int, adds: Sequence[OneAdd], ids: Sequence[bytes]) -> None:
        flags = framing.split_header(header)[2]
        self._header = header
        self._ids = ids
        """The bytes of ledger id and entry id of each add, as its reply has them."""
        self.adds = adds
        self.recovery = bool(flags & _RECOVERY_ADD)
        self.high_priority = bool(flags & _HIGH_PRIORITY)

    @property
    def content_bytes(self) -> int:
        return content_bytes_of(self.adds)

    def replies(self, indexes: Sequence[int], status: Status) -> bytes:
        head = ADD_REPLY_HEAD.pack_fixed(REPLY_LENGTH, framing.reply_header(self._header), status.v2)
        ids = self._ids
        if len(indexes) < len(ids):
            ids = [ids[index] for index in indexes]
        return head + head.join(ids)


class MixedReadRequests:
    """Read requests of any ledgers, under one header, without fencing."""

    __slots__ = ("_header", "reads")

    def __init__(self, header: int, reads: Sequence[tuple[int, int]]) -> None:
        self._header = header
        self.reads = reads

    @property
    def content_bytes(self) -> int:
        return MIXED_READ_BYTES * len(self.reads)

    def part(self, index: int) -> v2.ReadRequests:
        ledger_id, entry_id = self.reads[index]
        return v2.ReadRequests(self._header, ledger_id, (entry_id,))

    def rest(self, answered: int) -> "MixedReadRequests":
        return MixedReadRequests(self._header, self.reads[answered:])

    def replies(self, indexes: Sequence[int], entries: Sequence[Buffer], confirmed: Sequence[int]) -> list[Buffer]:
        header, pack, reads = framing.reply_header(self._header), READ_REPLY.pack_fixed, self.reads
        replies: list[Buffer] = [b""] * (2 * len(entries))
        replies[0::2] = [
            pack(REPLY_LENGTH + len(entry), header, statuses.OK, *reads[index])
            for index, entry in zip(indexes, entries, strict=True)
        ]
        replies[1::2] = entries
        return replies


def read_adds(buffer: bytes, start: int, end: int) -> tuple[v2.AddRequests | MixedAddRequests, int]:
    """Return the add requests whose first frame is whole at ``start``, and where they end."""
    run, after = v2.read_equal_adds(buffer, start, end)
    if run is not None:
        return run, after
    mixed, after = _mixed_adds(buffer, start, end)
    if mixed is not None:
        return mixed, after
    return v2.read_uneven_adds(buffer, start, end)


def read_reads(buffer: bytes, start: int, end: int, frame_end: int) -> tuple[v2.ReadRequests | MixedReadRequests, int]:
    """Return the read requests whose first frame is ``buffer[start:frame_end]``, and where they end."""
    run, after = v2.read_equal_reads(buffer, start, end, frame_end)
    if run is not None:
        return run, after
    mixed, after = _mixed_reads(buffer, start, end)
    if mixed is not None:
        return mixed, after
    return v2.read_one_read(buffer, start, frame_end), frame_end


def _mixed_adds(buffer: bytes, start: int, end: int) -> tuple[MixedAddRequests | None, int]:
    """Return the adds of alternating ledgers at ``start``, and where they end.

    They end before a run of one ledger, and before an add that will be refused for its size or key.  Returns None where
    a run of one ledger is the better request.
    """
    unpack, size = ADD_REQUEST_HEAD.unpack_fixed, ADD_REQUEST_HEAD.size
    adds: list[OneAdd] = []
    ids: list[bytes] = []
    header = FRAME_START.unpack_fixed(buffer, start)[1]
    position, run_ledger_id, next_entry_id, run_count = start, -1, -1, 0
    while end - position >= size:
        length, next_header, key, ledger_id, entry_id, last_add_confirmed = unpack(buffer, position)
        after = position + LENGTH + length
        if after > end or next_header != header or length < ADD_LENGTH_MIN or entry_id < 0:
            break
        run_count = run_count + 1 if ledger_id == run_ledger_id and entry_id == next_entry_id else 1
        run_ledger_id, next_entry_id = ledger_id, entry_id + 1
        at = position + ENTRY_AT
        record = _pack_length(length - ADD_OVERHEAD) + buffer[at:after]
        adds.append((ledger_id, entry_id, last_add_confirmed, key, record))
        ids.append(buffer[at : at + _IDS_SIZE])
        position = after
        if run_count == RUN_MIN:
            break
    if run_count >= len(adds):
        return None, start
    if run_count == RUN_MIN:
        position -= sum(ADD_OVERHEAD + len(add[4]) for add in adds[-RUN_MIN:])
        del adds[-RUN_MIN:], ids[-RUN_MIN:]
    return MixedAddRequests(header, adds, ids), position


def _mixed_reads(buffer: bytes, start: int, end: int) -> tuple[MixedReadRequests | None, int]:
    """Return the reads of alternating ledgers at ``start``, and where they end, alike :func:`_mixed_adds`."""
    stride = READ_REQUEST.size
    header = FRAME_START.unpack_fixed(buffer, start)[1]
    head = FRAME_START.pack_fixed(stride - LENGTH, header)
    if framing.split_header(header)[2] & _FENCING:
        return None, start
    reads: list[tuple[int, int]] = []
    position, view, looked_at = start, memoryview(buffer), 2 * RUN_MIN
    while end - position >= stride and buffer.startswith(head, position):
        count = equal_frames(buffer, position, stride, min(looked_at, (end - position) // stride), len(head))
        requests = READ_REQUEST.iter_fixed(view[position : position + count * stride])
        searched = max(0, len(reads) - RUN_MIN + 1)
        reads += [(ledger_id, entry_id) for _, _, ledger_id, entry_id in requests]
        position += count * stride
        before = searched + _before_run([ledger_id for ledger_id, _ in reads[searched:]])
        if before < len(reads):
            position -= (len(reads) - before) * stride
            del reads[before:]
            return (MixedReadRequests(header, reads), position) if reads else (None, start)
        looked_at = LOOKED_AT
    if len({ledger_id for ledger_id, _ in reads}) < 2:
        return None, start
    return MixedReadRequests(header, reads), position


def _before_run(ledger_ids: Sequence[int]) -> int:
    """Return how many reads come before the first :data:`RUN_MIN` of one ledger."""
    for index in compress(count_from(), map(eq, ledger_ids, ledger_ids[RUN_MIN - 1 :])):
        if ledger_ids[index : index + RUN_MIN].count(ledger_ids[index]) == RUN_MIN:
            return index
    return len(ledger_ids)
