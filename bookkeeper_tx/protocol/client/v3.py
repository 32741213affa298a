"""Protocol version V3 as a client speaks it: requests out, completions in; no IO, no clock (docs/protocol/v3.md)."""

from collections.abc import Callable
from typing import Any, TypeAlias

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    BookKeeperError,
    LedgerScopeNotSupported,
    ProtocolViolation,
    RequestTimedOut,
)
from bookkeeper_tx.protocol.client import v3_answers, v3_requests
from bookkeeper_tx.protocol.client.completion import Completion, RangeRead
from bookkeeper_tx.protocol.client.connection import ClientConnection
from bookkeeper_tx.protocol.client.correlation import Correlation
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.slow_requests import Tell
from bookkeeper_tx.protocol.client.v3_answers import Reply
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from protocol_specs import codecs, fields
from protocol_specs import ledger_id as ids
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation

_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
_LENGTH = fields.FRAME_LENGTH_SIZE


_Waiting: TypeAlias = tuple[Any, int, Any, RangeRead | None]
"""A request whose reply has not come: its token, ledger id, entry id, and the range read that it is a part of; the
request itself in place of the entry id if it is a value."""

# Members of an enum are slow to hash.
_ADD, _READ = int(V3Operation.ADD_ENTRY), int(V3Operation.READ_ENTRY)
_READS = V3Operation.READ_ENTRY, V3Operation.BATCH_READ_ENTRY


class V3ClientConnection(ClientConnection):
    """A client's side of a V3 connection: the requests of both protocol versions, and those that only V3 has."""

    def __init__(self, frame_size_max: int) -> None:
        # An entry that could be added must be readable; the request that added it may have been shorter.
        self._frames = FrameBuffer(frame_size_max + v3.REPLY_OVERHEAD_MAX)
        # Adds may have another time-out than the rest, and every long poll has its own; reads are timed.
        self._adds, self._reads, self._others = Correlation(), Correlation(), Correlation()
        self._polls = Correlation(one_timeout=False)
        self._tables = self._adds, self._reads, self._others, self._polls
        self._plain_adds, self._plain_reads = v3_requests.PlainAdds(), v3_requests.PlainReads()
        self._plain_replies = v3_answers.PlainReplies()
        self._next_txn_id = 1
        self._outgoing: list[bytes] = []
        self._undelivered: list[Completion] = []
        """The completions of replies that came before bytes that break the protocol."""
        self.answered: float | None = None
        self.read_answered: float | None = None

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
        deferred_sync: bool = False,
    ) -> None:
        """Ask to add ``entry``; with ``deferred_sync`` the bookie answers before the entry is durable."""
        txn_id = self._next_txn_id
        self._next_txn_id = txn_id + 1
        self._adds.add((_ADD, txn_id), (token, ledger_id, entry_id, None), deadline)
        if flags or deferred_sync or ledger_id >= SCOPED_MIN:
            request = v3_requests.add_entry(txn_id, ledger_id, entry_id, entry, master_key, flags, deferred_sync)
        else:
            request = self._plain_adds.encode(txn_id, ledger_id, entry_id, entry, master_key)
        self._outgoing.append(request)

    def read_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> None:
        txn_id = self._next_txn_id
        self._next_txn_id = txn_id + 1
        self._reads.add((_READ, txn_id), (token, ledger_id, entry_id, None), deadline)
        if flags or master_key is not None or ledger_id >= SCOPED_MIN:
            request = v3_requests.read_entry(txn_id, ledger_id, entry_id, flags, master_key)
        else:
            request = self._plain_reads.encode(txn_id, ledger_id, entry_id)
        self._outgoing.append(request)

    def read_range(
        self, token: Any, deadline: float, ledger_id: int, first: int, last: int, size_max: int | None = None
    ) -> None:
        whole = RangeRead(token, deadline, ledger_id, first, last - first + 1, size_max)
        encode = v3_requests.read_entry if ledger_id >= SCOPED_MIN else self._plain_reads.encode
        for entry_id in range(first, last + 1):
            txn_id = self._next_txn_id
            self._next_txn_id = txn_id + 1
            self._reads.add((_READ, txn_id), (token, ledger_id, entry_id, whole), deadline)
            self._outgoing.append(encode(txn_id, ledger_id, entry_id))

    def send(self, request: Request, token: Any, deadline: float) -> Callable[[], object]:
        txn_id = self._next_txn_id
        self._next_txn_id = txn_id + 1
        table = self._polls if request.waits else self._table(request.operation)
        key = (int(request.operation), txn_id)
        table.add(key, (token, request.ledger_id, request, None), deadline)
        self._outgoing.append(request.v3_frame(txn_id))
        return lambda: table.pop(key)

    def data_to_send(self) -> bytes:
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    # Replies ---------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Completion]:
        done = self._undelivered
        for table in self._tables:
            table.answered = None
        buffer = self._frames.feed(data)
        position, end = 0, len(buffer)
        while end - position >= _LENGTH:
            frame_end = position + _LENGTH + self._frames.check(_unpack_length(buffer, position)[0])
            if frame_end > end:
                break
            frame = buffer[position + _LENGTH : frame_end]
            if not self._take_plain(frame, done):
                self._take(v3_answers.decode(frame), done)
            position = frame_end
        self._frames.keep(buffer, position)
        self.answered = min((each.answered for each in self._tables if each.answered is not None), default=None)
        self.read_answered = self._reads.answered
        self._undelivered = []
        return done

    def _take_plain(self, frame: bytes, done: list[Completion]) -> bool:
        """Take a good reply to an add or a read, if the frame is one that needs no closer look."""
        reply = self._plain_replies.read(frame)
        if reply is None:
            return False
        operation, txn_id, value = reply
        table = self._adds if operation == _ADD else self._reads
        waiting = table.pop((operation, txn_id))
        if waiting is None:
            return False
        if waiting[1] >= SCOPED_MIN:
            _complete(waiting, _wrong_scope(0, waiting[1]), None, done)
        elif waiting[3] is None:
            done.append((waiting[0], None, value))
        else:
            _complete(waiting, None, value, done)
        return True

    def _take(self, reply: Reply, done: list[Completion]) -> None:
        key = (int(reply.operation), reply.txn_id)
        waiting = self._table(reply.operation).pop(key) or self._polls.pop(key)
        if waiting is None:
            return
        _, ledger_id, asked, _ = waiting
        error: BookKeeperError | None = _wrong_scope(reply.scope_id, ledger_id) or reply.error
        value = None
        try:
            if isinstance(asked, Request):
                value = asked.v3_value(reply)
            elif error is None and reply.operation is V3Operation.READ_ENTRY:
                value = reply.part.body
        except ProtocolViolation as violation:
            error = error or violation
        _complete(waiting, error, value, done)

    def _table(self, operation: V3Operation) -> Correlation:
        if operation is V3Operation.ADD_ENTRY:
            return self._adds
        return self._reads if operation in _READS else self._others

    @property
    def unfinished(self) -> bool:
        return self._frames.frame_size > 0

    # Time and end ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        return any(self._tables)

    @property
    def reading(self) -> bool:
        return bool(self._reads)

    def tell_slow(self, deadline: float, tell: Tell) -> float:
        def tell_waiting(waiting: _Waiting) -> _Waiting:
            token, ledger_id, asked, whole = waiting
            if whole is not None:
                whole.tell_slow(deadline, tell)
                return waiting
            return tell(token), ledger_id, asked, None

        return self._reads.tell_slow(deadline, tell_waiting)

    def expire(self, now: float) -> list[Completion]:
        done: list[Completion] = []
        error = RequestTimedOut()
        for table in self._tables:
            for waiting in table.expire(now):
                _complete(waiting, error, None, done)
        return done

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        done, self._undelivered = self._undelivered, []
        ranges: dict[int, RangeRead] = {}
        for table in self._tables:
            for waiting in table.take_all():
                token, _, _, whole = waiting
                if whole is None:
                    done.append((token, error, None))
                elif not whole.completed:
                    ranges[id(whole)] = whole
        return done + [(whole.token, error, None) for whole in ranges.values()]


def _wrong_scope(answered: int | None, ledger_id: int) -> BookKeeperError | None:
    """Return an error if a reply is about a ledger of another scope than the request; None as it does not say which."""
    scope_id = ids.split(ledger_id)[0]
    if answered in (None, scope_id):
        return None
    if not answered:
        return LedgerScopeNotSupported(
            f"the bookie ignored the scope of ledger {ids.qualified_name(ledger_id)}: its release does not know scopes"
        )
    return ProtocolViolation(f"asked about a ledger of scope {scope_id}, the bookie answered for {answered}")


def _complete(waiting: _Waiting, error: Any, value: Any, done: list[Completion]) -> None:
    token, _, entry_id, whole = waiting
    if whole is None:
        done.append((token, error, value))
        return
    if whole.completed:
        return
    if error is None:
        whole.take(EntryRun(whole.ledger_id, entry_id, value, (0, len(value)), prefix=0))
    else:
        whole.refuse(entry_id, error)
    if whole.complete:
        done.append(whole.completion())
