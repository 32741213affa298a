"""Protocol version V2 as a client speaks it: requests out, completions in; no IO, no clock (docs/protocol/v2.md)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from bookkeeper_tx.entry.entry_format import ENTRY_IDS
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.entry.frame_runs import consecutive_frames, equal_frames, numbered
from bookkeeper_tx.errors import (
    BookKeeperError,
    IllegalOperation,
    ProtocolViolation,
    RequestTimedOut,
)
from bookkeeper_tx.protocol.client.completion import Completion, RangeRead
from bookkeeper_tx.protocol.client.connection import ClientConnection
from bookkeeper_tx.protocol.client.correlation import Correlation
from bookkeeper_tx.protocol.client.range_reads import RangeReads
from bookkeeper_tx.protocol.client.v2_add_runs import add_requests
from bookkeeper_tx.protocol.client.v2_answers import error_of_code, good_replies, uneven_replies
from bookkeeper_tx.protocol.client.v2_bulk_adds import AddRun, BulkAdds
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from bookkeeper_tx.protocol.v2_frames import (
    ADD_OVERHEAD,
    ADD_REPLY,
    ADD_REPLY_HEAD,
    ADD_REQUEST,
    BATCH_READ_REPLY,
    BATCH_READ_REQUEST,
    LENGTH,
    READ_REPLY,
    READ_REQUEST,
    RUN_MIN,
)
from protocol_specs import codecs
from protocol_specs.codecs import Malformed, record_offsets
from protocol_specs.ledger_id import SCOPED_MIN, qualified_name
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Operation

_VERSION = framing.VERSION_MAX
_ADD_HEADER = framing.join_header(_VERSION, Operation.ADD_ENTRY)
_READ_HEADER = framing.join_header(_VERSION, Operation.READ_ENTRY)
_BATCH_HEADER = framing.join_header(_VERSION, Operation.BATCH_READ_ENTRY)

_ADD_PREFIX = codecs.Codec("add request up to the entry", codecs.leading(ADD_REQUEST.declaration, "ledger_id"))
_pack_prefix = _ADD_PREFIX.pack_fixed
_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
_unpack_reply = ADD_REPLY.unpack_fixed
_unpack_reply_head = ADD_REPLY_HEAD.unpack_fixed
_unpack_ids = ENTRY_IDS.unpack_fixed
_IDS_SIZE = ENTRY_IDS.size
_REQUEST_IDS_AT = READ_REQUEST.offsets["ledger_id"]
_REPLY_IDS_AT = ADD_REPLY_HEAD.size
"""Where ledger id and entry id start in a reply to an add or a read."""


class V2ClientConnection(ClientConnection):
    """A client's side of a V2 connection."""

    def __init__(self, frame_size_max: int) -> None:
        self._frames = FrameBuffer(frame_size_max)
        # A batch reply may exceed the limit that the bookie counts by its header.
        self._frames.frame_size_max += BATCH_READ_REPLY.size
        self._adds = Correlation()
        self._bulk_adds = BulkAdds()
        self._reads = Correlation()
        """Adds and single reads, each by the bytes of ledger id and entry id, which request and reply share."""
        self._ranges = RangeReads()
        self._batches = Correlation()
        self._refused: list[Completion] = []
        """Requests about ledgers that V2 cannot name."""
        self._next_request_id = 1
        self._outgoing: list[bytes] = []
        self._undelivered: list[Completion] = []
        """The completions of replies that came before bytes that break the protocol."""
        self.answered: float | None = None

    # Requests --------------------------------------------------------------------------------------------------------

    def add_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        master_key: bytes,
        flags: int = 0,
    ) -> None:
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, ledger_id)
            return
        self._adds.add(entry[:_IDS_SIZE], token, deadline)
        self._outgoing += _pack_prefix(ADD_OVERHEAD + len(entry), _ADD_HEADER | flags, master_key), entry

    def add_entries(
        self, token: Any, deadline: float, ledger_id: int, first: int, entries: Sequence[bytes], master_key: bytes
    ) -> None:
        """Ask to add consecutive ``entries``, as sealed by a digest; completes as they are answered.

        That is with the id up to which all entries are acknowledged, whenever it has grown.  From the first error on it
        is with the ids of the entries that were acknowledged, or that have the error, until each is answered once.
        """
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, ledger_id)
            return
        self._bulk_adds.add(ledger_id, AddRun(token, deadline, first, len(entries)))
        self._outgoing.append(add_requests(master_key, entries))

    def read_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> None:
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, ledger_id)
            return
        key = master_key or b""
        length = READ_REQUEST.size - LENGTH + len(key)
        request = READ_REQUEST.pack_fixed(length, _READ_HEADER | flags, ledger_id, entry_id)
        self._reads.add(request[_REQUEST_IDS_AT:], token, deadline)
        self._outgoing.append(request + key if key else request)

    def read_range(
        self, token: Any, deadline: float, ledger_id: int, first: int, last: int, size_max: int | None = None
    ) -> None:
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, ledger_id)
            return
        count = last - first + 1
        self._ranges.add(RangeRead(token, deadline, ledger_id, first, count, size_max))
        request = READ_REQUEST.pack_fixed(READ_REQUEST.size - LENGTH, _READ_HEADER, ledger_id, first)
        self._outgoing.append(numbered(request, READ_REQUEST.offsets["entry_id"], first, count))

    def batch_read(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        start_entry_id: int,
        max_count: int,
        max_size: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> None:
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, ledger_id)
            return
        request_id = self._next_request_id
        self._next_request_id += 1
        self._batches.add(request_id, (token, ledger_id, start_entry_id), deadline)
        key = master_key or b""
        length = BATCH_READ_REQUEST.size - LENGTH + len(key)
        header = _BATCH_HEADER | flags
        self._outgoing.append(
            BATCH_READ_REQUEST.pack_fixed(length, header, ledger_id, start_entry_id, request_id, max_count, max_size)
            + key
        )

    def data_to_send(self) -> bytes:
        if not self._outgoing:
            return b""
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    def _refuse(self, token: Any, ledger_id: int) -> None:
        self._refused.append((token, out_of_reach(ledger_id), None))

    # Replies ---------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Completion]:
        done = self._undelivered
        tables = (self._adds, self._bulk_adds, self._reads, self._ranges, self._batches)
        for table in tables:
            table.answered = None
        try:
            buffer = self._frames.feed(data)
            position, end = 0, len(buffer)
            while end - position >= LENGTH:
                length = self._frames.check(_unpack_length(buffer, position)[0])
                if position + LENGTH + length > end:
                    break
                position = self._read(buffer, position, end, position + LENGTH + length, done)
            self._frames.keep(buffer, position)
        except Malformed as error:
            raise ProtocolViolation(str(error)) from error
        self.answered = min((each.answered for each in tables if each.answered is not None), default=None)
        self._undelivered = []
        return done

    def _read(self, buffer: bytes, start: int, end: int, frame_end: int, done: list[Completion]) -> int:
        if frame_end - start < ADD_REPLY.size:
            raise Malformed("reply", "status", start, f"a frame of {frame_end - start} bytes is no reply")
        _, header, status = _unpack_reply_head(buffer, start)
        if header == _ADD_HEADER:
            return self._read_adds(buffer, start, end, frame_end, done)
        if header == _READ_HEADER:
            if status == statuses.OK:
                return self._read_entries(buffer, start, end, frame_end, done)
            self._refuse_read(buffer[start + _REPLY_IDS_AT : start + READ_REPLY.size], status, done)
            return frame_end
        if header == _BATCH_HEADER:
            self._read_batch(buffer, start, frame_end, status, done)
            return frame_end
        raise Malformed("reply", "header", start, f"header {header:#010x} answers no request of ours")

    def _read_adds(self, buffer: bytes, start: int, end: int, frame_end: int, done: list[Completion]) -> int:
        """Read the replies to adds at ``start``, of any ledgers, as long as they are alike but for their ids."""
        stride = frame_end - start
        if self._bulk_adds:
            return self._read_bulk(buffer, start, end, stride, done)
        after = start + stride * equal_frames(buffer, start, stride, (end - start) // stride, _REPLY_IDS_AT)
        ids = [buffer[at : at + _IDS_SIZE] for at in range(start + _REPLY_IDS_AT, after, stride)]
        done += self._adds.completions(ids, error_of_code(_unpack_reply_head(buffer, start)[2]))
        return after

    def _read_bulk(self, buffer: bytes, start: int, end: int, stride: int, done: list[Completion]) -> int:
        """Read the replies to adds of consecutive entries of one ledger at ``start``."""
        _, _, status, ledger_id, first = _unpack_reply(buffer, start)
        count = (end - start) // stride
        if count > 1:
            count = consecutive_frames(buffer, start, stride, count, ADD_REPLY.offsets["entry_id"], first)
        error = error_of_code(status)
        others = self._bulk_adds.take(ledger_id, range(first, first + count), error, done)
        at = start + _REPLY_IDS_AT
        starts = [at + (entry_id - first) * stride for entry_id in others]
        if starts:
            done += self._adds.completions([buffer[each : each + _IDS_SIZE] for each in starts], error)
        return start + count * stride

    def _read_entries(self, buffer: bytes, start: int, end: int, frame_end: int, done: list[Completion]) -> int:
        """Read the good replies at ``start``, of any ledgers and sizes; return where the next other one starts."""
        if self._ranges:
            return self._read_run(buffer, start, end, frame_end, done)
        stride = frame_end - start
        alike = equal_frames(buffer, start, stride, (end - start) // stride, _REPLY_IDS_AT)
        offsets: Sequence[int]
        if alike >= RUN_MIN:
            offsets = range(start, start + alike * stride + 1, stride)
        else:
            offsets = good_replies(buffer, start, end, frame_end)
        ids = [buffer[at + _REPLY_IDS_AT : at + READ_REPLY.size] for at in offsets[:-1]]
        entries = [buffer[at + READ_REPLY.size : after] for at, after in pairwise(offsets)]
        done += self._reads.completions(ids, None, entries)
        return offsets[-1]

    def _read_run(self, buffer: bytes, start: int, end: int, frame_end: int, done: list[Completion]) -> int:
        """Read the run of good replies at ``start``: as long as ledger and header are equal and the ids count up."""
        _, _, _, ledger_id, first = _unpack_reply(buffer, start)
        stride = frame_end - start
        count = (end - start) // stride
        if count >= RUN_MIN:
            count = consecutive_frames(buffer, start, stride, count, READ_REPLY.offsets["entry_id"], first)
        offsets: Sequence[int]
        if count >= RUN_MIN:
            offsets = range(start, start + count * stride + 1, stride)
        else:
            offsets = uneven_replies(buffer, start, end, frame_end)
        self._complete_reads(EntryRun(ledger_id, first, buffer, offsets, READ_REPLY.size), done)
        return offsets[-1]

    def _complete_reads(self, run: EntryRun, done: list[Completion]) -> None:
        if not self._reads:
            self._ranges.take(run, done)
            return
        entry_id = run.first_entry_id
        for at in run.offsets[:-1]:
            token = self._reads.pop(run.buffer[at + _REPLY_IDS_AT : at + READ_REPLY.size])
            if token is not None:
                done.append((token, None, run.entry(entry_id)))
            else:
                self._ranges.take(run.part(entry_id, entry_id), done)
            entry_id += 1

    def _refuse_read(self, ids: bytes, status: int, done: list[Completion]) -> None:
        token = self._reads.pop(ids)
        error = error_of_code(status)
        assert error is not None
        if token is not None:
            done.append((token, error, None))
            return
        ledger_id, entry_id = _unpack_ids(ids)
        self._ranges.refuse(ledger_id, entry_id, error, done)

    def _read_batch(self, buffer: bytes, start: int, frame_end: int, status: int, done: list[Completion]) -> None:
        if frame_end - start < BATCH_READ_REPLY.size:
            raise Malformed(BATCH_READ_REPLY.name, "request_id", start, "the reply is shorter than its header")
        request_id = BATCH_READ_REPLY.unpack_fixed(buffer, start)[5]
        error: BookKeeperError | None = error_of_code(status)
        offsets: Sequence[int] = ()
        if error is None:
            # Before the request is taken out: if the records are malformed, it still waits and fails with the rest.
            offsets = record_offsets(BATCH_READ_REPLY.name, buffer, start + BATCH_READ_REPLY.size, frame_end)
        waiting = self._batches.pop(request_id)
        if waiting is None:
            return
        token, ledger_id, first = waiting
        done.append((token, error, None) if error else (token, None, EntryRun(ledger_id, first, buffer, offsets)))

    @property
    def unfinished(self) -> bool:
        return self._frames.frame_size > 0

    # Time and end ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        return bool(self._adds or self._bulk_adds or self._reads or self._ranges or self._batches or self._refused)

    def expire(self, now: float) -> list[Completion]:
        error = RequestTimedOut()
        done, self._refused = self._refused, []
        done += [(token, error, None) for token in self._adds.expire(now) + self._reads.expire(now)]
        done += self._bulk_adds.expire(now, error)
        done += [(waiting[0], error, None) for waiting in self._batches.expire(now)]
        done += self._ranges.expire(now, error)
        return done

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        done = self._undelivered + self._refused
        self._undelivered, self._refused = [], []
        done += self._bulk_adds.fail_all(error)
        return done + [(token, error, None) for token in self._take_all()]

    def _take_all(self) -> Iterator[Any]:
        yield from self._adds.take_all()
        yield from self._reads.take_all()
        for token, _, _ in self._batches.take_all():
            yield token
        yield from self._ranges.take_all()


def out_of_reach(ledger_id: int) -> IllegalOperation:
    """Return the error of a request about a ledger of a scope other than 0, which V2 cannot name."""
    return IllegalOperation(
        f"ledger {qualified_name(ledger_id)} has a scope, which V2 cannot say: use ClientConfig.protocol v3"
    )
