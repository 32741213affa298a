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
from bookkeeper_tx.protocol.client.v3_answers import Reply
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from protocol_specs import codecs, fields
from protocol_specs import ledger_id as ids
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation

_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
_LENGTH = fields.FRAME_LENGTH_SIZE


_Waiting: TypeAlias = tuple[Any, int, int, RangeRead | None]
"""A request whose reply has not come: its token, ledger id, entry id, and the range read that it is a part of."""

# Members of an enum are slow to hash.
_ADD, _READ = int(V3Operation.ADD_ENTRY), int(V3Operation.READ_ENTRY)


class V3ClientConnection(ClientConnection):
    """A client's side of a V3 connection: the requests of both protocol versions, and those that only V3 has."""

    def __init__(self, frame_size_max: int) -> None:
        # An entry that could be added must be readable; the request that added it may have been shorter.
        self._frames = FrameBuffer(frame_size_max + v3.REPLY_OVERHEAD_MAX)
        # Adds may have another time-out than the rest, and every long poll has its own.
        self._adds = Correlation()
        self._polls = Correlation(one_timeout=False)
        self._others = Correlation()
        self._plain_adds, self._plain_reads = v3_requests.PlainAdds(), v3_requests.PlainReads()
        self._plain_replies = v3_answers.PlainReplies()
        self._next_txn_id = 1
        self._outgoing: list[bytes] = []
        self._undelivered: list[Completion] = []
        """The completions of replies that came before bytes that break the protocol."""
        self.answered: float | None = None

    # Requests that V2 has as well ------------------------------------------------------------------------------------

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
        self._others.add((_READ, txn_id), (token, ledger_id, entry_id, None), deadline)
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
            txn_id = self._wait(self._others, _READ, deadline, (token, ledger_id, entry_id, whole))
            self._outgoing.append(encode(txn_id, ledger_id, entry_id))

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
        waiting = (token, ledger_id, start_entry_id, None)
        txn_id = self._wait(self._others, V3Operation.BATCH_READ_ENTRY, deadline, waiting)
        self._outgoing.append(
            v3_requests.batch_read(txn_id, ledger_id, start_entry_id, max_count, max_size, flags, master_key)
        )

    # Requests that only V3 has ---------------------------------------------------------------------------------------

    def wait_last_add_confirmed(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        previous_last_add_confirmed: int,
        timeout_ms: int,
        piggyback: bool,
    ) -> Callable[[], None]:
        """Ask for the last add confirmed once it passes the previous one, or as it is after ``timeout_ms``.

        ``deadline`` must be well after that.  Completes with (last add confirmed, entry id or None, entry or None).
        Call the returned function to forget the request: it does not complete then.
        """
        waiting = (token, ledger_id, fields.LAST_ENTRY, None)
        txn_id = self._wait(self._polls, V3Operation.READ_ENTRY, deadline, waiting)
        self._outgoing.append(
            v3_requests.wait_last_add_confirmed(txn_id, ledger_id, previous_last_add_confirmed, timeout_ms, piggyback)
        )

        def forget() -> None:
            self._polls.pop((_READ, txn_id))

        return forget

    def read_last_add_confirmed(self, token: Any, deadline: float, ledger_id: int) -> None:
        """Ask for (explicit LAC body or None, last entry or None); errors may come with that value as well."""
        txn_id = self._wait(self._others, V3Operation.READ_LAC, deadline, (token, ledger_id, fields.NO_ENTRY, None))
        self._outgoing.append(v3_requests.read_last_add_confirmed(txn_id, ledger_id))

    def write_last_add_confirmed(
        self, token: Any, deadline: float, ledger_id: int, last_add_confirmed: int, master_key: bytes, body: bytes
    ) -> None:
        """Ask to store an explicit LAC; completes with None."""
        txn_id = self._wait(self._others, V3Operation.WRITE_LAC, deadline, (token, ledger_id, fields.NO_ENTRY, None))
        self._outgoing.append(
            v3_requests.write_last_add_confirmed(txn_id, ledger_id, last_add_confirmed, master_key, body)
        )

    def force_ledger(self, token: Any, deadline: float, ledger_id: int) -> None:
        """Ask for a reply when all earlier adds to the ledger are durable; completes with None."""
        txn_id = self._wait(self._others, V3Operation.FORCE_LEDGER, deadline, (token, ledger_id, fields.NO_ENTRY, None))
        self._outgoing.append(v3_requests.force_ledger(txn_id, ledger_id))

    def list_entries(self, token: Any, deadline: float, ledger_id: int) -> None:
        """Ask which entries of a ledger are stored there; completes with the encoded list."""
        operation = V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER
        txn_id = self._wait(self._others, operation, deadline, (token, ledger_id, fields.NO_ENTRY, None))
        self._outgoing.append(v3_requests.list_entries(txn_id, ledger_id))

    def bookie_info(self, token: Any, deadline: float) -> None:
        """Ask for (total bytes, free bytes) of the bookie's disk."""
        txn_id = self._wait(self._others, V3Operation.GET_BOOKIE_INFO, deadline, (token, 0, fields.NO_ENTRY, None))
        self._outgoing.append(v3_requests.bookie_info(txn_id))

    def data_to_send(self) -> bytes:
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    def _wait(self, table: Correlation, operation: int, deadline: float, waiting: _Waiting) -> int:
        txn_id = self._next_txn_id
        self._next_txn_id += 1
        table.add((int(operation), txn_id), waiting, deadline)
        return txn_id

    # Replies ---------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Completion]:
        done = self._undelivered
        self.answered = self._adds.answered = self._others.answered = self._polls.answered = None
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
        tables = (self._adds, self._others, self._polls)
        self.answered = min((each.answered for each in tables if each.answered is not None), default=None)
        self._undelivered = []
        return done

    def _take_plain(self, frame: bytes, done: list[Completion]) -> bool:
        """Take a good reply to an add or a read, if the frame is one that needs no closer look."""
        reply = self._plain_replies.read(frame)
        if reply is None:
            return False
        operation, txn_id, value = reply
        table = self._adds if operation == _ADD else self._others
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
        waiting = (self._adds if reply.operation is V3Operation.ADD_ENTRY else self._others).pop(key)
        value = reply.value
        if waiting is None:
            waiting = self._polls.pop(key)
            if waiting is None:
                return
            value = v3_answers.tail_value(reply)
        _, ledger_id, entry_id, _ = waiting
        error: BookKeeperError | None = _wrong_scope(reply.scope_id, ledger_id) or reply.error
        if error is None and reply.operation is V3Operation.BATCH_READ_ENTRY:
            value = EntryRun.of_entries(ledger_id, entry_id, value)
        _complete(waiting, error, value, done)

    @property
    def unfinished(self) -> bool:
        return self._frames.frame_size > 0

    # Time and end ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        return bool(self._adds or self._others or self._polls)

    def expire(self, now: float) -> list[Completion]:
        done: list[Completion] = []
        error = RequestTimedOut()
        for table in (self._adds, self._others, self._polls):
            for waiting in table.expire(now):
                _complete(waiting, error, None, done)
        return done

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        done, self._undelivered = self._undelivered, []
        ranges: dict[int, RangeRead] = {}
        for table in (self._adds, self._others, self._polls):
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
