"""Protocol version V2 as a bookie speaks it: requests in, replies out (docs/protocol/v2.md)."""

from array import array
from collections.abc import Sequence

from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.entry.frame_runs import (
    RUN_MIN,
    ascending_ids,
    consecutive_frames,
    equal_frames,
    numbered,
    numbered_heads,
)
from bookkeeper_tx.protocol.bookie.requests import ID_BYTES, Answered, Buffer
from bookkeeper_tx.protocol.v2_frames import (
    ADD_LENGTH_MIN,
    ADD_OVERHEAD,
    ADD_REPLY,
    ADD_REQUEST,
    BATCH_READ_REPLY,
    BATCH_READ_REQUEST,
    BATCH_REPLY_LENGTH,
    ENTRY_AT,
    LENGTH,
    READ_REPLY,
    READ_REQUEST,
    REPLY_LENGTH,
)
from protocol_specs import codecs
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Flag, Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.tails import KeyIfFencing

# Combining members of an enum takes ten times as long as combining numbers.
_FENCING, _HIGH_PRIORITY, _RECOVERY_ADD = int(Flag.FENCING), int(Flag.HIGH_PRIORITY), int(Flag.RECOVERY_ADD)

_pack_length = codecs.RECORD_LENGTH.pack_fixed
_unpack_length = codecs.RECORD_LENGTH.unpack_fixed


def sent_code(status: Status) -> int:
    """Return the code of a status in replies to reads.

    EUNKNOWNLEDGERSTATE goes out as EIO, which says as little of the entry: every Java client closes its V2 connection,
    and fails all requests on it, when it reads the code 107.
    """
    return statuses.EIO.v2 if status is statuses.EUNKNOWNLEDGERSTATE else status.v2


class AddRequests:
    """A run of add requests."""

    __slots__ = ("entries", "header", "high_priority", "master_key", "recovery")

    deferred_sync: bool = False

    def __init__(self, header: int, master_key: bytes, entries: EntryRun) -> None:
        flags = framing.split_header(header)[2]
        self.header = header
        self.master_key = master_key
        self.entries = entries
        self.recovery = bool(flags & _RECOVERY_ADD)
        self.high_priority = bool(flags & _HIGH_PRIORITY)

    @property
    def content_bytes(self) -> int:
        return len(self.entries.buffer)

    def replies(self, status: Status) -> bytes:
        run = self.entries
        reply = ADD_REPLY.pack_fixed(
            REPLY_LENGTH, framing.reply_header(self.header), status.v2, run.ledger_id, run.first_entry_id
        )
        if run.count == 1:
            return reply
        return numbered(reply, ADD_REPLY.offsets["entry_id"], run.first_entry_id, run.count)


class ReadRequests:
    """A run of read requests."""

    __slots__ = ("entry_ids", "fencing", "header", "high_priority", "ledger_id", "master_key")

    def __init__(self, header: int, ledger_id: int, entry_ids: Sequence[int], master_key: bytes | None = None) -> None:
        flags = framing.split_header(header)[2]
        self.header = header
        self.ledger_id = ledger_id
        self.entry_ids = entry_ids
        self.fencing = bool(flags & _FENCING)
        self.master_key = master_key
        self.high_priority = bool(flags & (_HIGH_PRIORITY | _FENCING))

    @property
    def content_bytes(self) -> int:
        return 0 if type(self.entry_ids) is range else ID_BYTES * len(self.entry_ids)

    def rest(self, answered: int) -> "ReadRequests":
        return ReadRequests(self.header, self.ledger_id, self.entry_ids[answered:], self.master_key)

    def replies(self, answers: Sequence[Buffer | Status], last_add_confirmed: int) -> list[Buffer]:
        header, ledger_id, pack = framing.reply_header(self.header), self.ledger_id, READ_REPLY.pack_fixed
        if len(answers) >= RUN_MIN and type(self.entry_ids) is range and Status not in set(map(type, answers)):
            return self._of_entries(answers)  # type: ignore[arg-type]
        replies: list[Buffer] = []
        append = replies.append
        for entry_id, answer in zip(self.entry_ids, answers, strict=False):
            if type(answer) is Status:
                append(pack(REPLY_LENGTH, header, sent_code(answer), ledger_id, entry_id))
            else:
                append(pack(REPLY_LENGTH + len(answer), header, statuses.OK, ledger_id, entry_id))
                append(answer)  # type: ignore[arg-type]
        return replies

    def _of_entries(self, entries: Sequence[Buffer]) -> list[Buffer]:
        """Encode the first replies, which all bring an entry; the ids count up."""
        header, ledger_id, pack = framing.reply_header(self.header), self.ledger_id, READ_REPLY.pack_fixed
        first, size = self.entry_ids[0], len(entries[0])
        if size == len(entries[-1]) and len(set(map(len, entries))) == 1:
            head = pack(REPLY_LENGTH + size, header, statuses.OK, ledger_id, first)
            return [numbered_heads(head, READ_REPLY.offsets["entry_id"], first, entries)]
        replies: list[Buffer] = [b""] * (2 * len(entries))
        replies[0::2] = [
            pack(REPLY_LENGTH + len(entry), header, statuses.OK, ledger_id, entry_id)
            for entry_id, entry in zip(self.entry_ids, entries, strict=False)
        ]
        replies[1::2] = entries
        return replies


class BatchReadRequest:
    """A batch read request."""

    previous_last_add_confirmed: int | None = None
    timeout_ms: int = 0

    __slots__ = (
        "fencing",
        "header",
        "ledger_id",
        "master_key",
        "max_count",
        "max_size",
        "request_id",
        "start_entry_id",
    )

    def __init__(
        self,
        header: int,
        ledger_id: int,
        start_entry_id: int,
        request_id: int,
        max_count: int,
        max_size: int,
        master_key: bytes | None,
    ) -> None:
        self.header = header
        self.ledger_id = ledger_id
        self.start_entry_id = start_entry_id
        self.request_id = request_id
        self.max_count = max_count
        self.max_size = max_size
        self.fencing = bool(framing.split_header(header)[2] & _FENCING)
        self.master_key = master_key

    def reply(
        self, slices: Sequence[Buffer], last_add_confirmed: int, updated_at_ms: int | None = None
    ) -> list[Buffer]:
        return [self._reply(statuses.EOK, sum(map(len, slices))), *slices]

    def error(self, status: Status) -> bytes:
        return self._reply(status, 0)

    def _reply(self, status: Status, size: int) -> bytes:
        return BATCH_READ_REPLY.pack_fixed(
            BATCH_REPLY_LENGTH + size,
            framing.reply_header(self.header),
            sent_code(status),
            self.ledger_id,
            self.start_entry_id,
            self.request_id,
        )


def read_equal_adds(buffer: bytes, start: int, end: int) -> tuple[AddRequests | None, int]:
    """Return the run of add requests of one size whose first frame is whole at ``start``, and where the run ends.

    Returns None if they are too few.
    """
    length, header, key, ledger_id, first = _add_at(buffer, start)
    stride = LENGTH + length
    # An add that will be refused for its negative id or its length is a run of its own, so that no other is refused.
    count = (end - start) // stride if first >= 0 and length >= ADD_LENGTH_MIN else 1
    if count >= RUN_MIN:
        count = consecutive_frames(buffer, start, stride, count, ADD_REQUEST.offsets["entry_id"], first)
    if count < RUN_MIN:
        return None, start
    prefix = _pack_length(length - ADD_OVERHEAD)
    after = start + count * stride
    entries = prefix + prefix.join(
        [buffer[at : at + stride - ENTRY_AT] for at in range(start + ENTRY_AT, after, stride)]
    )
    size = stride - ENTRY_AT + RECORD_LENGTH_SIZE
    run = EntryRun(ledger_id, first, entries, range(0, (count + 1) * size, size))
    return AddRequests(header, key, run), after


def _add_at(buffer: bytes, start: int) -> tuple[int, int, bytes, int, int]:
    if _unpack_length(buffer, start)[0] < ADD_REQUEST.size - LENGTH:
        raise Malformed(ADD_REQUEST.name, "entry_id", start, "the entry is shorter than its ids")
    return ADD_REQUEST.unpack_fixed(buffer, start)


def read_uneven_adds(buffer: bytes, start: int, end: int) -> tuple[AddRequests, int]:
    """Read a run one by one: entries of any size, as long as header, key and ledger are equal and the ids count up."""
    unpack = ADD_REQUEST.unpack_fixed
    length, header, key, ledger_id, first = _add_at(buffer, start)
    alone = first < 0 or length < ADD_LENGTH_MIN
    parts: list[bytes] = []
    offsets = array("Q", (0,))
    position, expected, at = start, first, 0
    while True:
        after = position + LENGTH + length
        parts.append(_pack_length(length - ADD_OVERHEAD))
        parts.append(buffer[position + ENTRY_AT : after])
        at += length - ADD_OVERHEAD + RECORD_LENGTH_SIZE
        offsets.append(at)
        position = after
        expected += 1
        if alone or end - position < ADD_REQUEST.size:
            break
        length, next_header, next_key, next_ledger, entry_id = unpack(buffer, position)
        if (
            entry_id != expected
            or next_ledger != ledger_id
            or next_header != header
            or length < ADD_LENGTH_MIN
            or position + LENGTH + length > end
            or next_key != key
        ):
            break
    return AddRequests(header, key, EntryRun(ledger_id, first, b"".join(parts), offsets)), position


def read_equal_reads(buffer: bytes, start: int, end: int, frame_end: int) -> tuple[ReadRequests | None, int]:
    """Return the run of read requests whose first frame is ``buffer[start:frame_end]``, and where the run ends.

    Returns None if they are too few.
    """
    stride = READ_REQUEST.size
    count = (end - start) // stride
    if count < RUN_MIN or frame_end - start != stride:
        return None, start
    count = equal_frames(buffer, start, stride, count, READ_REQUEST.offsets["entry_id"])
    _, header, ledger_id, entry_id = READ_REQUEST.unpack_fixed(buffer, start)
    if count < RUN_MIN or KeyIfFencing.expected(header):
        return None, start
    after = start + count * stride
    if ascending_ids(buffer, start + READ_REQUEST.offsets["entry_id"], stride, count, entry_id) == count:
        return ReadRequests(header, ledger_id, range(entry_id, entry_id + count)), after
    ids = [values[3] for values in READ_REQUEST.iter_fixed(memoryview(buffer)[start:after])]
    return ReadRequests(header, ledger_id, ids), after


def read_one_read(buffer: bytes, start: int, frame_end: int) -> ReadRequests:
    """Return the read request in ``buffer[start:frame_end]``."""
    _, header, ledger_id, entry_id, key = READ_REQUEST.unpack_from(buffer, start, frame_end)
    return ReadRequests(header, ledger_id, (entry_id,), key)


def read_batch_read(buffer: bytes, start: int, frame_end: int) -> BatchReadRequest:
    """Return the batch read request in ``buffer[start:frame_end]``."""
    return BatchReadRequest(*BATCH_READ_REQUEST.unpack_from(buffer, start, frame_end)[1:])


def refuse(buffer: bytes, start: int, frame_end: int, operation: int, status: Status) -> Answered:
    """Answer an add, a read or a batch read that is not served, such as one of an unknown packet version."""
    if operation == Operation.BATCH_READ_ENTRY:
        return Answered(read_batch_read(buffer, start, frame_end).error(status))
    if operation == Operation.ADD_ENTRY:
        _, header, _, ledger_id, entry_id = _add_at(buffer, start)
    else:
        _, header, ledger_id, entry_id, _ = READ_REQUEST.unpack_from(buffer, start, frame_end)
    return Answered(ADD_REPLY.pack_fixed(REPLY_LENGTH, framing.reply_header(header), status.v2, ledger_id, entry_id))
