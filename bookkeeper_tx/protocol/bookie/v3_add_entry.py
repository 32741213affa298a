"""V3 adds: requests in, replies out (docs/protocol/add-entry.md).

The ids inside the entry say what is added; the request's own ids are only echoed.  The ledger scope id says only the
format of the entry: V1 if it is 0, else V2.
"""

from collections.abc import Iterable, Sequence

from bookkeeper_tx.entry.entry_format import ENTRY_IDS, V2
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.entry import version
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.v3_pb2 import AddRequest

_pack_length = codecs.RECORD_LENGTH.pack_fixed
_unpack_ids = ENTRY_IDS.unpack_fixed
_OPERATION, _VERSION = int(V3Operation.ADD_ENTRY), int(v3.VERSION)
_RECOVERY_ADD, _DEFERRED_SYNC = int(AddRequest.RECOVERY_ADD), int(v3.WriteFlag.DEFERRED_SYNC)
_ENTRY_SIZE_MIN, _SCOPED_ENTRY_SIZE_MIN = fields.ENTRY_SIZE_MIN, V2.entry_size_min

ECHOED_BYTES = 200
"""Memory of one add of a run besides its entry: objects, and what its reply echoes."""


class AddRequests:
    """A run of add requests."""

    __slots__ = (
        "_bodies",
        "_echoed",
        "_entries",
        "_first_entry_id",
        "_ledger_id",
        "_next_entry_id",
        "_scope_id",
        "_write_flags",
        "deferred_sync",
        "high_priority",
        "master_key",
        "recovery",
    )

    def __init__(self, message: Decoded, ledger_id: int, entry_id: int) -> None:
        """Make the run of one request, whose entry has these ids."""
        header, request = message.header, message.add_request
        self._ledger_id = ledger_id
        self._first_entry_id = entry_id
        self._next_entry_id = entry_id + 1
        self._scope_id = request.ledger_scope_id
        self._bodies = [request.body]
        self._entries: EntryRun | None = None
        self._echoed = [(header.txn_id, request.ledger_id, request.entry_id)]
        self.master_key = request.master_key
        self.high_priority = header.priority > 0
        self.recovery = is_recovery(request)
        self._write_flags = request.write_flags
        self.deferred_sync = bool(self._write_flags & _DEFERRED_SYNC) and not self.recovery

    @property
    def plain_adds(self) -> tuple[Sequence[bytes], Sequence[tuple[int, int, int]]]:
        """The entries of adds in scope 0 without write flags, and what their replies echo; none of other adds."""
        if self._scope_id or self._write_flags or self._first_entry_id < 0:
            return (), ()
        return self._bodies, self._echoed

    @property
    def content_bytes(self) -> int:
        content = len(self.master_key) + ECHOED_BYTES * len(self._echoed)
        return content + (sum(map(len, self._bodies)) if self._entries is None else len(self._entries.buffer))

    @property
    def entries(self) -> EntryRun:
        """The entries of all requests taken."""
        if self._entries is None:
            self._entries = _run(self._ledger_id, self._first_entry_id, self._bodies)
            self._bodies = []
        return self._entries

    def take(self, message: Decoded) -> bool:
        """Take one more request if it adds the next entry of the same ledger and equals the others in all else."""
        header, request = message.header, message.add_request
        body = request.body
        if (
            header.operation != _OPERATION
            or request.ledger_scope_id != self._scope_id
            or len(body) < _ENTRY_SIZE_MIN
            or _ids_of(body, self._scope_id) != (self._ledger_id, self._next_entry_id)
            or self._first_entry_id < 0
            or request.master_key != self.master_key
            or header.version != _VERSION
            or (header.priority > 0) != self.high_priority
            or request.write_flags != self._write_flags
            or is_recovery(request) != self.recovery
        ):
            return False
        self._next_entry_id += 1
        self._bodies.append(body)
        self._echoed.append((header.txn_id, request.ledger_id, request.entry_id))
        return True

    def take_following(self, buffer: bytes, position: int) -> int:
        """Return ``position``: the content of the next add cannot be foreseen."""
        return position

    def replies(self, status: Status) -> bytes:
        return encode_replies(self._echoed, self._scope_id, status)


def _ids_of(body: bytes, scope_id: int) -> tuple[int, int] | None:
    """Return ledger id and entry id in an entry; None in a scope other than 0 if it is not a whole entry of format V2.

    In scope 0 an entry of format V2 has a negative ledger id, and is refused for that.
    """
    if not scope_id:
        ids: tuple[int, int] = _unpack_ids(body)
        return ids
    if len(body) < _SCOPED_ENTRY_SIZE_MIN:
        return None
    try:
        ledger_id, entry_id = version.ids_of(body)
    except Malformed:
        return None
    return (ledger_id, entry_id) if ledger_id >= SCOPED_MIN else None


def is_recovery(request: Decoded) -> bool:
    return bool(request.HasField("flag") and request.flag == _RECOVERY_ADD)


def _run(ledger_id: int, first_entry_id: int, bodies: Sequence[bytes]) -> EntryRun:
    if len(bodies) == 1 or len(set(map(len, bodies))) > 1:
        return EntryRun.of_entries(ledger_id, first_entry_id, bodies)
    prefix = _pack_length(len(bodies[0]))
    size = len(prefix) + len(bodies[0])
    records = prefix + prefix.join(bodies)
    return EntryRun(ledger_id, first_entry_id, records, range(0, len(records) + 1, size))


def encode_replies(echoed: Iterable[tuple[int, int, int]], scope_id: int, status: Status) -> bytes:
    """Encode one reply for each transaction id, ledger id and entry id of ``echoed``."""
    whole, part = v3_replies.served(V3Operation.ADD_ENTRY, 0, status, ledger_scope_id=scope_id)
    header, encode = whole.header, whole.SerializeToString
    frames: list[bytes] = []
    # One message for all replies: setting three numbers takes a quarter of the time of making a message.
    for header.txn_id, part.ledger_id, part.entry_id in echoed:
        body = encode()
        frames += (_pack_length(len(body)), body)
    return b"".join(frames)


def read(message: Decoded) -> AddRequests | Answered:
    """Return the request in ``message``, or an error reply.

    The version is checked first, as in Java's ``PacketProcessorBaseV3``.
    """
    request = message.add_request
    body, ids, status = request.body, None, statuses.EBADVERSION
    if message.header.version == _VERSION:
        status = statuses.EBADREQ
        if len(body) >= _ENTRY_SIZE_MIN:
            ids = _ids_of(body, request.ledger_scope_id)
    if ids is None:
        echoed = (message.header.txn_id, request.ledger_id, request.entry_id)
        return Answered(encode_replies([echoed], request.ledger_scope_id, status))
    return AddRequests(message, *ids)
