"""The V3 dialect as a client speaks it: requests out, completions in; no IO, no clock (docs/protocol/v3.md)."""

from typing import Any

from bookkeeper_tx.entry_run import EntryRun
from bookkeeper_tx.errors import BatchReadNotSupported, BookKeeperError, RequestTimedOut, error_of
from bookkeeper_tx.protocol import v3_requests
from bookkeeper_tx.protocol.completion import Completion, RangeRead
from bookkeeper_tx.protocol.correlation import Correlation
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from protocol_specs import codecs, fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation

REPLY_OVERHEAD_MAX = 128
"""A V3 reply wraps an entry in more bytes than a V2 add did: what could be written is to be readable."""

_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
_LENGTH = fields.FRAME_LENGTH_SIZE


class V3ClientConnection:
    """A client's side of a V3 connection.

    Requests are encoded into :meth:`data_to_send`; :meth:`receive` gives completions.  A token given with a request
    comes back with exactly one completion, whatever happens.
    """

    def __init__(self, frame_size_max: int) -> None:
        self._frames = FrameBuffer(frame_size_max + REPLY_OVERHEAD_MAX)
        # Two tables, because adds may have another time-out than the rest; the tokens in them are _Waiting.
        self._adds = Correlation()
        self._others = Correlation()
        self._refused: list[Completion] = []
        self._next_txn_id = 1
        self._outgoing: list[bytes] = []
        self._undelivered: list[Completion] = []
        """What replies have completed in front of bytes that break the protocol."""

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
        """Ask to add ``entry``; completes with None."""
        txn_id = self._wait(V3Operation.ADD_ENTRY, token, deadline)
        self._outgoing.append(v3_requests.add_entry(txn_id, ledger_id, entry_id, entry, master_key, flags))

    def read_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> None:
        """Ask for an entry; completes with its bytes."""
        txn_id = self._wait(V3Operation.READ_ENTRY, token, deadline)
        self._outgoing.append(v3_requests.read_entry(txn_id, ledger_id, entry_id, flags, master_key))

    def read_range(self, token: Any, deadline: float, ledger_id: int, first: int, last: int) -> None:
        """Ask for the entries ``first`` … ``last`` one by one.

        Completes once: with the EntryRun, not verified, of those before the first that cannot be had, or with the error
        of the very first.
        """
        whole = RangeRead(token, deadline, ledger_id, first, last - first + 1)
        for entry_id in range(first, last + 1):
            txn_id = self._wait(V3Operation.READ_ENTRY, token, deadline, whole, entry_id)
            self._outgoing.append(v3_requests.read_entry(txn_id, ledger_id, entry_id))

    def batch_read(self, token: Any, deadline: float, *arguments: Any) -> None:
        """Refuse: no release reads batches in V3.  Completes with BatchReadNotSupported when time is next looked at."""
        self._refused.append((token, BatchReadNotSupported("batch read is spoken in V2 only"), None))

    def read_last_add_confirmed(self, token: Any, deadline: float, ledger_id: int) -> None:
        """Ask for (explicit LAC body or None, last entry or None); errors may come with that value as well."""
        txn_id = self._wait(V3Operation.READ_LAC, token, deadline)
        self._outgoing.append(v3_requests.read_last_add_confirmed(txn_id, ledger_id))

    def write_last_add_confirmed(
        self, token: Any, deadline: float, ledger_id: int, last_add_confirmed: int, master_key: bytes, body: bytes
    ) -> None:
        """Ask to store an explicit LAC; completes with None."""
        txn_id = self._wait(V3Operation.WRITE_LAC, token, deadline)
        self._outgoing.append(
            v3_requests.write_last_add_confirmed(txn_id, ledger_id, last_add_confirmed, master_key, body)
        )

    def bookie_info(self, token: Any, deadline: float) -> None:
        """Ask for (total bytes, free bytes) of the bookie's disk."""
        txn_id = self._wait(V3Operation.GET_BOOKIE_INFO, token, deadline)
        self._outgoing.append(v3_requests.bookie_info(txn_id))

    def data_to_send(self) -> bytes:
        """Return, once, the bytes of the requests made since the last call."""
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    def _wait(
        self,
        operation: V3Operation,
        token: Any,
        deadline: float,
        whole: RangeRead | None = None,
        entry_id: int = fields.NO_ENTRY,
    ) -> int:
        txn_id = self._next_txn_id
        self._next_txn_id += 1
        self._table(operation).add((operation, txn_id), (token, whole, entry_id), deadline)
        return txn_id

    def _table(self, operation: V3Operation) -> Correlation:
        return self._adds if operation is V3Operation.ADD_ENTRY else self._others

    # Replies ---------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Completion]:
        """Return what the replies in ``data`` complete.

        Raises :class:`ProtocolViolation` for bytes that no reply has; the connection is of no use then, and
        :meth:`fail_all` gives what came before them and says so to those that wait.
        """
        done = self._undelivered
        buffer = self._frames.feed(data)
        position, end = 0, len(buffer)
        while end - position >= _LENGTH:
            frame_end = position + _LENGTH + self._frames.check(_unpack_length(buffer, position)[0])
            if frame_end > end:
                break
            reply = v3_requests.decode(buffer[position + _LENGTH : frame_end])
            waiting = self._table(reply.operation).pop((reply.operation, reply.txn_id))
            if waiting is not None:
                error = None if reply.status is statuses.EOK else error_of(reply.status)
                _complete(waiting, error, reply.value, done)
            position = frame_end
        self._frames.keep(buffer, position)
        self._undelivered = []
        return done

    # Time and end ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether any request waits for its reply."""
        return bool(self._refused or self._adds or self._others)

    def expire(self, now: float) -> list[Completion]:
        """Return what has waited past its deadline, each with RequestTimedOut, and what was refused."""
        done, self._refused = self._refused, []
        error = RequestTimedOut()
        for table in (self._adds, self._others):
            for _, waiting in table.expire(now):
                _complete(waiting, error, None, done)
        return done

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        """Complete everything that waits with ``error``."""
        done = self._undelivered + self._refused
        self._undelivered, self._refused = [], []
        ranges: dict[int, RangeRead] = {}
        for table in (self._adds, self._others):
            for token, whole, _ in table.take_all():
                if whole is None:
                    done.append((token, error, None))
                else:
                    ranges[id(whole)] = whole
        return done + [(whole.token, error, None) for whole in ranges.values()]


def _complete(waiting: Any, error: Any, value: Any, done: list[Completion]) -> None:
    token, whole, entry_id = waiting
    if whole is None:
        done.append((token, error, value))
        return
    if error is None:
        whole.take(EntryRun(whole.ledger_id, entry_id, value, (0, len(value)), prefix=0))
    else:
        whole.refuse(entry_id, error)
    if whole.complete:
        done.append(whole.completion())
