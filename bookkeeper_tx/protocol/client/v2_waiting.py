"""The requests of a client's V2 connection that wait, and the replies that complete them; no IO, no clock.

A reply to an add or a read names ledger and entry, one to a batch read its request (docs/protocol/v2.md).  Replies that
come together and are alike are read together.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from bookkeeper_tx.entry.entry_format import ENTRY_IDS
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.entry.frame_runs import RUN_MIN, consecutive_frames, equal_frames
from bookkeeper_tx.errors import BookKeeperError, RequestTimedOut
from bookkeeper_tx.protocol.client.completion import Completion
from bookkeeper_tx.protocol.client.correlation import Correlation
from bookkeeper_tx.protocol.client.range_reads import RangeReads
from bookkeeper_tx.protocol.client.requests.batch_read import V2_HEADER as BATCH_READ_HEADER
from bookkeeper_tx.protocol.client.slow_requests import Tell
from bookkeeper_tx.protocol.client.v2_answers import error_of_code, good_replies, uneven_replies
from bookkeeper_tx.protocol.client.v2_bulk_adds import BulkAdds
from bookkeeper_tx.protocol.v2_frames import ADD_REPLY, ADD_REPLY_HEAD, BATCH_READ_REPLY, READ_REPLY
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Operation

ADD_HEADER = framing.join_header(framing.VERSION_MAX, Operation.ADD_ENTRY)
READ_HEADER = framing.join_header(framing.VERSION_MAX, Operation.READ_ENTRY)
"""Headers of requests without flags, and of their replies."""

_unpack_reply = ADD_REPLY.unpack_fixed
_unpack_reply_head = ADD_REPLY_HEAD.unpack_fixed
_unpack_ids = ENTRY_IDS.unpack_fixed
_IDS_SIZE = ENTRY_IDS.size
_REPLY_IDS_AT = ADD_REPLY_HEAD.size
"""Where ledger id and entry id start in a reply to an add or a read."""


class WaitingRequests:
    """The requests of one connection, each in the table of its kind until it is complete."""

    def __init__(self) -> None:
        self.adds = Correlation()
        self.bulk_adds = BulkAdds()
        self.reads = Correlation()
        """Adds and single reads, each by the bytes of ledger id and entry id, which request and reply share."""
        self.ranges = RangeReads()
        self.batches = Correlation()
        """Requests that are values, by their request id: token and request."""
        self.tables = self.adds, self.bulk_adds, self.reads, self.ranges, self.batches
        self.refused: list[Completion] = []
        """Requests that V2 cannot express."""

    def __bool__(self) -> bool:
        return bool(self.adds or self.bulk_adds or self.reads or self.ranges or self.batches or self.refused)

    # Replies ---------------------------------------------------------------------------------------------------------

    def read(self, buffer: bytes, start: int, end: int, frame_end: int, done: list[Completion]) -> int:
        """Read the reply at ``start``, and those like it behind it; return where the next other one starts."""
        if frame_end - start < ADD_REPLY.size:
            raise Malformed("reply", "status", start, f"a frame of {frame_end - start} bytes is no reply")
        _, header, status = _unpack_reply_head(buffer, start)
        if header == ADD_HEADER:
            return self._read_adds(buffer, start, end, frame_end, done)
        if header == READ_HEADER:
            if status == statuses.OK:
                return self._read_entries(buffer, start, end, frame_end, done)
            self._refuse_read(buffer[start + _REPLY_IDS_AT : start + READ_REPLY.size], status, done)
            return frame_end
        if header == BATCH_READ_HEADER:
            self._read_batch(buffer, start, frame_end, status, done)
            return frame_end
        raise Malformed("reply", "header", start, f"header {header:#010x} answers no request of ours")

    def _read_adds(self, buffer: bytes, start: int, end: int, frame_end: int, done: list[Completion]) -> int:
        """Read the replies to adds at ``start``, of any ledgers, as long as they are alike but for their ids."""
        stride = frame_end - start
        if self.bulk_adds:
            return self._read_bulk(buffer, start, end, stride, done)
        after = start + stride * equal_frames(buffer, start, stride, (end - start) // stride, _REPLY_IDS_AT)
        ids = [buffer[at : at + _IDS_SIZE] for at in range(start + _REPLY_IDS_AT, after, stride)]
        done += self.adds.completions(ids, error_of_code(_unpack_reply_head(buffer, start)[2]))
        return after

    def _read_bulk(self, buffer: bytes, start: int, end: int, stride: int, done: list[Completion]) -> int:
        """Read the replies to adds of consecutive entries of one ledger at ``start``."""
        _, _, status, ledger_id, first = _unpack_reply(buffer, start)
        count = (end - start) // stride
        if count > 1:
            count = consecutive_frames(buffer, start, stride, count, ADD_REPLY.offsets["entry_id"], first)
        error = error_of_code(status)
        others = self.bulk_adds.take(ledger_id, range(first, first + count), error, done)
        at = start + _REPLY_IDS_AT
        starts = [at + (entry_id - first) * stride for entry_id in others]
        if starts:
            done += self.adds.completions([buffer[each : each + _IDS_SIZE] for each in starts], error)
        return start + count * stride

    def _read_entries(self, buffer: bytes, start: int, end: int, frame_end: int, done: list[Completion]) -> int:
        """Read the good replies at ``start``, of any ledgers and sizes; return where the next other one starts."""
        if self.ranges:
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
        done += self.reads.completions(ids, None, entries)
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
        if not self.reads:
            self.ranges.take(run, done)
            return
        entry_id = run.first_entry_id
        for at in run.offsets[:-1]:
            token = self.reads.pop(run.buffer[at + _REPLY_IDS_AT : at + READ_REPLY.size])
            if token is not None:
                done.append((token, None, run.entry(entry_id)))
            else:
                self.ranges.take(run.part(entry_id, entry_id), done)
            entry_id += 1

    def _refuse_read(self, ids: bytes, status: int, done: list[Completion]) -> None:
        token = self.reads.pop(ids)
        error = error_of_code(status)
        assert error is not None
        if token is not None:
            done.append((token, error, None))
            return
        ledger_id, entry_id = _unpack_ids(ids)
        self.ranges.refuse(ledger_id, entry_id, error, done)

    def _read_batch(self, buffer: bytes, start: int, frame_end: int, status: int, done: list[Completion]) -> None:
        if frame_end - start < BATCH_READ_REPLY.size:
            raise Malformed(BATCH_READ_REPLY.name, "request_id", start, "the reply is shorter than its header")
        request_id = BATCH_READ_REPLY.unpack_fixed(buffer, start)[5]
        error: BookKeeperError | None = error_of_code(status)
        waiting = self.batches.find(request_id)
        if waiting is None:
            return
        token, request = waiting
        # Before the request is taken out: if the records are malformed, it still waits and fails with the rest.
        value = None if error else request.v2_value(buffer, start, frame_end)
        self.batches.pop(request_id)
        done.append((token, error, value))

    @property
    def reading(self) -> bool:
        """Whether a read waits."""
        return bool(self.reads or self.ranges or self.batches)

    @property
    def read_answered(self) -> float | None:
        """The earliest deadline of the reads that were answered lately, in part at least."""
        tables = self.reads, self.ranges, self.batches
        return min((each.answered for each in tables if each.answered is not None), default=None)

    def tell_slow(self, deadline: float, tell: Tell) -> float:
        """Tell each read as :meth:`Correlation.tell_slow` does."""
        return min(
            self.reads.tell_slow(deadline, tell),
            self.ranges.tell_slow(deadline, tell),
            self.batches.tell_slow(deadline, lambda waiting: (tell(waiting[0]), waiting[1])),
        )

    # Time and end ----------------------------------------------------------------------------------------------------

    def expire(self, now: float) -> list[Completion]:
        """Complete the requests that wait past their deadline, each with RequestTimedOut, and those refused."""
        error = RequestTimedOut()
        done, self.refused = self.refused, []
        done += [(token, error, None) for token in self.adds.expire(now) + self.reads.expire(now)]
        done += self.bulk_adds.expire(now, error)
        done += [(waiting[0], error, None) for waiting in self.batches.expire(now)]
        done += self.ranges.expire(now, error)
        return done

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        """Complete every request with ``error``."""
        done, self.refused = self.refused, []
        done += self.bulk_adds.fail_all(error)
        return done + [(token, error, None) for token in self._take_all()]

    def _take_all(self) -> Iterator[Any]:
        yield from self.adds.take_all()
        yield from self.reads.take_all()
        for token, _ in self.batches.take_all():
            yield token
        yield from self.ranges.take_all()
