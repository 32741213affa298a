"""V3 reads of single entries: requests in, replies out (docs/protocol/read-entry.md)."""

from collections.abc import Sequence

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import ID_BYTES, Answered, Buffer
from bookkeeper_tx.protocol.bookie.v3_long_poll import LongPollRequest
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import codecs, ledger_id
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.v3_pb2 import ReadRequest

_pack_length = codecs.RECORD_LENGTH.pack_fixed
_OPERATION, _VERSION = int(V3Operation.READ_ENTRY), int(v3.VERSION)
_FENCE_LEDGER = int(ReadRequest.FENCE_LEDGER)

FOLLOWED_SIZE_MAX = 256
"""Largest frame, in bytes, whose following requests are foreseen; a longer one has unusual fields, and the foreseen
frames might exceed the limit."""


class ReadRequests:
    """A run of read requests; a fencing one is alone."""

    __slots__ = (
        "_entry_ids",
        "_is_regular",
        "_ledger_id",
        "_message",
        "_scope_id",
        "_steps",
        "_txn_ids",
        "fencing",
        "high_priority",
        "ledger_id",
        "master_key",
    )

    def __init__(self, message: Decoded) -> None:
        header, request = message.header, message.read_request
        self.fencing = is_fencing(request)
        is_followed = not self.fencing and message.ByteSize() <= FOLLOWED_SIZE_MAX
        self._message = message if is_followed else None
        """The message that foresees the requests that follow; a large one is not kept while the request waits."""
        self._steps = (1, 1)
        """The last growth of transaction id and entry id."""
        self._is_regular = True
        """Whether they are expected to go on growing like that."""
        self._txn_ids = [header.txn_id]
        self._ledger_id = request.ledger_id
        self._scope_id = request.ledger_scope_id
        self.ledger_id = ledger_id.join(self._scope_id, self._ledger_id)
        self._entry_ids: Sequence[int] = [request.entry_id]
        self.master_key = request.master_key if self.fencing and request.HasField("master_key") else None
        self.high_priority = self.fencing or header.priority > 0

    @classmethod
    def one(cls, txn_id: int, ledger_id: int, entry_id: int, high_priority: bool) -> "ReadRequests":
        """Make a plain read of one entry of a ledger of scope 0; it takes no others."""
        read: ReadRequests = object.__new__(cls)
        read._message, read._steps, read._is_regular = None, (1, 1), False
        read._txn_ids, read._entry_ids = [txn_id], [entry_id]
        read.ledger_id, read._ledger_id, read._scope_id = ledger_id, ledger_id, 0
        read.fencing, read.master_key, read.high_priority = False, None, high_priority
        return read

    @property
    def plain_reads(self) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        """The transaction ids of reads in scope 0 without fencing, and their ledger and entry ids; none of others."""
        if self.fencing or self._scope_id:
            return (), ()
        return self._txn_ids, [(self._ledger_id, entry_id) for entry_id in self._entry_ids]

    @property
    def entry_ids(self) -> Sequence[int]:
        """The ids asked for, a range if they count up."""
        ids = self._entry_ids
        if type(ids) is list and len(ids) > 1:
            ascending = range(ids[0], ids[0] + len(ids))
            if ids[-1] == ascending[-1] and ids == list(ascending):
                self._entry_ids = ascending
        return self._entry_ids

    @property
    def content_bytes(self) -> int:
        ids = ID_BYTES * (len(self._txn_ids) + len(self._entry_ids)) + len(self.master_key or b"")
        return ids if self._message is None else ids + int(self._message.ByteSize())

    def take_following(self, buffer: bytes, position: int) -> int:
        """Take the requests at ``position`` whose ids grow as before; return where the next frame starts.

        The expected request is encoded and compared with the bytes: that takes a quarter of the time of decoding them.
        """
        message = self._message
        if position == len(buffer) or not self._is_regular or message is None or not message.HasField("read_request"):
            return position
        header, part, encode = message.header, message.read_request, message.SerializeToString
        txn_ids, entry_ids, (txn_step, entry_step) = self._txn_ids, self._entry_ids, self._steps
        txn_id, entry_id = txn_ids[-1] + txn_step, entry_ids[-1] + entry_step
        try:
            while True:
                header.txn_id, part.entry_id = txn_id, entry_id
                expected = encode()
                expected = _pack_length(len(expected)) + expected
                if not buffer.startswith(expected, position):
                    return position
                position += len(expected)
                txn_ids.append(txn_id)
                entry_ids.append(entry_id)  # type: ignore[attr-defined]
                txn_id += txn_step
                entry_id += entry_step
        except ValueError:  # the next id does not fit its field
            return position

    def take(self, message: Decoded) -> bool:
        """Take one more request if it, like all the others, is a plain read of the same ledger."""
        header, request = message.header, message.read_request
        if (
            header.operation != _OPERATION
            or request.ledger_id != self._ledger_id
            or request.HasField("previous_lac")
            or header.version != _VERSION
            or (header.priority > 0) != self.high_priority
            or self.fencing
            or is_fencing(request)
            or request.ledger_scope_id != self._scope_id
            or not message.HasField("read_request")
        ):
            return False
        txn_id, entry_id = header.txn_id, request.entry_id
        steps = (txn_id - self._txn_ids[-1], entry_id - self._entry_ids[-1])
        self._is_regular, self._steps = steps == self._steps, steps
        self._txn_ids.append(txn_id)
        self._entry_ids.append(entry_id)  # type: ignore[attr-defined]
        return True

    def rest(self, answered: int) -> "ReadRequests":
        rest: ReadRequests = object.__new__(ReadRequests)
        for name in ReadRequests.__slots__:
            setattr(rest, name, getattr(self, name))
        rest._txn_ids, rest._entry_ids = self._txn_ids[answered:], self.entry_ids[answered:]
        return rest

    def replies(self, answers: Sequence[Buffer | Status], last_add_confirmed: int) -> list[Buffer]:
        frames: list[Buffer] = []
        entry_reply, part = v3_replies.served(
            V3Operation.READ_ENTRY, 0, statuses.EOK, ledger_id=self._ledger_id, ledger_scope_id=self._scope_id
        )
        if not self.fencing:
            part.max_lac = last_add_confirmed
        header, encode = entry_reply.header, entry_reply.SerializeToString
        for header.txn_id, entry_id, answer in zip(self._txn_ids, self.entry_ids, answers, strict=False):
            if type(answer) is Status:
                frames.append(_error(header.txn_id, answer, self._ledger_id, self._scope_id, entry_id))
            else:
                part.entry_id = entry_id
                part.body = answer if type(answer) is bytes else bytes(answer)  # type: ignore[arg-type]
                body = encode()
                frames += (_pack_length(len(body)), body)
        return frames


def is_fencing(request: Decoded) -> bool:
    """Tell whether a read request fences the ledger first."""
    return bool(request.HasField("flag") and request.flag == _FENCE_LEDGER)


def _error(txn_id: int, status: Status, ledger_id: int, scope_id: int, entry_id: int) -> bytes:
    return v3_replies.reply(
        V3Operation.READ_ENTRY, txn_id, status, ledger_id=ledger_id, entry_id=entry_id, ledger_scope_id=scope_id
    )


def read(message: Decoded) -> ReadRequests | LongPollRequest | Answered:
    """Return the request in ``message``, or an error reply."""
    request = message.read_request
    if message.header.version != _VERSION:
        txn_id, scope_id = message.header.txn_id, request.ledger_scope_id
        return Answered(_error(txn_id, statuses.EBADVERSION, request.ledger_id, scope_id, request.entry_id))
    if request.HasField("previous_lac") and not is_fencing(request):
        return LongPollRequest(message)
    return ReadRequests(message)
