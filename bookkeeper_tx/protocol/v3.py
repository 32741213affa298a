"""The V3 dialect as a bookie speaks it: requests in, replies out (docs/protocol/v3.md).

A frame is V3 when it parses and has every required field; anything else is left to V2.  A request without the part that
its operation needs is served as if all its fields were zero, and an operation that is not served is answered with the
request's own header: both as Java up to 4.17.
"""

from collections.abc import Callable, Sequence

from google.protobuf.message import DecodeError

from bookkeeper_tx.entry_run import EntryRun
from bookkeeper_tx.protocol import v3_handshake, v3_replies
from bookkeeper_tx.protocol.messages import Answered, Buffer, Request
from bookkeeper_tx.protocol.v3_replies import Decoded
from protocol_specs import codecs, fields
from protocol_specs.entry import v1
from protocol_specs.wire import framing, v3, v3_pb2
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.v3_pb2 import AddRequest, ReadRequest

ENTRY_IDS = codecs.derive("entry ids", v1.ENTRY_IDS)
LAC_METADATA = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)


def parse(frame: bytes) -> Decoded | None:
    """Return the message in ``frame`` (without its length), or None when the frame is not V3."""
    if not frame or frame[0] < framing.V3_FIRST_BYTE_MIN:
        return None
    message = v3_pb2.Request()
    try:
        message.ParseFromString(frame)
    except DecodeError:
        return None
    # A parse succeeds on missing required fields and on unknown enum values; only this tells.
    return message if message.IsInitialized() else None


def decode(frame: bytes) -> Request | None:
    """Return the request in ``frame`` (without its length), or None when the frame is not V3."""
    message = parse(frame)
    if message is None:
        return None
    read = _READERS.get(message.header.operation)
    return Answered(v3_replies.header_copied(message, statuses.EBADREQ)) if read is None else read(message)


# Requests ------------------------------------------------------------------------------------------------------------


class AddRequests:
    """An add request: a run of one entry.

    What is added is named by the ids inside the entry; the request's own are only echoed.
    """

    __slots__ = (
        "_entry_id",
        "_ledger_id",
        "_txn_id",
        "deferred_sync",
        "entries",
        "high_priority",
        "master_key",
        "recovery",
    )

    def __init__(self, message: Decoded, entries: EntryRun) -> None:
        request = message.add_request
        self._txn_id = message.header.txn_id
        self._ledger_id = request.ledger_id
        self._entry_id = request.entry_id
        self.entries = entries
        self.master_key = request.master_key
        self.recovery = request.flag == AddRequest.RECOVERY_ADD if request.HasField("flag") else False
        self.high_priority = message.header.priority > 0
        self.deferred_sync = bool(request.write_flags & v3.WriteFlag.DEFERRED_SYNC)

    def replies(self, status: Status) -> bytes:
        return _add_reply(self._txn_id, status, self._ledger_id, self._entry_id)


def _add_reply(txn_id: int, status: Status, ledger_id: int, entry_id: int) -> bytes:
    return v3_replies.reply(V3Operation.ADD_ENTRY, txn_id, status, ledger_id=ledger_id, entry_id=entry_id)


class ReadRequests:
    """A read request: of one entry, or a long poll that brings the entry after ``previous_last_add_confirmed`` home.

    The answer to a piggyback is that entry, EOK when there is none to bring yet, or why the poll failed.
    """

    __slots__ = (
        "_txn_id",
        "entry_ids",
        "fencing",
        "high_priority",
        "ledger_id",
        "master_key",
        "piggyback",
        "previous_last_add_confirmed",
        "timeout_ms",
    )

    def __init__(self, message: Decoded) -> None:
        request = message.read_request
        flag = request.flag if request.HasField("flag") else None
        self._txn_id = message.header.txn_id
        self.ledger_id = request.ledger_id
        self.entry_ids: Sequence[int] = (request.entry_id,)
        self.fencing = flag == ReadRequest.FENCE_LEDGER
        self.master_key = request.master_key if request.HasField("master_key") else None
        self.high_priority = self.fencing or message.header.priority > 0
        long_poll = request.HasField("previous_lac") and not self.fencing
        self.previous_last_add_confirmed = request.previous_lac if long_poll else None
        self.timeout_ms = request.time_out if long_poll and request.HasField("time_out") else None
        self.piggyback = long_poll and flag == ReadRequest.ENTRY_PIGGYBACK

    def rest(self, answered: int) -> "ReadRequests":
        raise NotImplementedError("a request for one entry has no rest")

    def replies(self, answers: Sequence[Buffer | Status], last_add_confirmed: int) -> list[bytes]:
        (answer,) = answers
        entry_id, body, status = self.entry_ids[0], None, statuses.EOK
        if isinstance(answer, Status):
            status = answer
        else:
            body = bytes(answer)
            if self.piggyback:
                assert self.previous_last_add_confirmed is not None
                entry_id = self.previous_last_add_confirmed + 1
        tells_lac = status is statuses.EOK and not self.fencing
        reply = v3_replies.reply(
            V3Operation.READ_ENTRY,
            self._txn_id,
            status,
            ledger_id=self.ledger_id,
            entry_id=entry_id,
            body=body,
            max_lac=last_add_confirmed if tells_lac else None,
        )
        return [reply]


class ReadLacRequest:
    """A request for the explicit last add confirmed and the last entry."""

    __slots__ = ("_txn_id", "ledger_id")

    def __init__(self, message: Decoded) -> None:
        self._txn_id = message.header.txn_id
        self.ledger_id = message.read_lac_request.ledger_id

    def reply(self, status: Status, explicit_lac: bytes | None, last_entry: bytes | None) -> bytes:
        return v3_replies.reply(
            V3Operation.READ_LAC,
            self._txn_id,
            status,
            ledger_id=self.ledger_id,
            lac_body=explicit_lac,
            last_entry_body=last_entry,
        )


class WriteLacRequest:
    """A request to store an explicit last add confirmed: what counts is inside the body, the rest is only echoed."""

    __slots__ = ("_echoed_ledger_id", "_txn_id", "body", "last_add_confirmed", "ledger_id", "master_key")

    def __init__(self, message: Decoded) -> None:
        request = message.write_lac_request
        self._txn_id = message.header.txn_id
        self._echoed_ledger_id = request.ledger_id
        self.master_key = request.master_key
        self.body = request.body
        self.ledger_id, self.last_add_confirmed = LAC_METADATA.unpack_from(request.body)

    def reply(self, status: Status) -> bytes:
        return _write_lac_reply(self._txn_id, status, self._echoed_ledger_id)


def _write_lac_reply(txn_id: int, status: Status, ledger_id: int) -> bytes:
    return v3_replies.reply(V3Operation.WRITE_LAC, txn_id, status, ledger_id=ledger_id)


class BookieInfoRequest:
    """A request for the bookie's disk space."""

    __slots__ = ("_txn_id", "requested")

    def __init__(self, message: Decoded) -> None:
        self._txn_id = message.header.txn_id
        self.requested = message.get_bookie_info_request.requested

    def reply(self, status: Status, total_bytes: int, free_bytes: int) -> bytes:
        requested = self.requested if status is statuses.EOK else 0
        return v3_replies.reply(
            V3Operation.GET_BOOKIE_INFO,
            self._txn_id,
            status,
            total_disk_capacity=total_bytes if requested & v3.BookieInfo.TOTAL_DISK_CAPACITY else None,
            free_disk_space=free_bytes if requested & v3.BookieInfo.FREE_DISK_SPACE else None,
        )


# Readers, one an operation: the version first, as Java ---------------------------------------------------------------


def _version_served(message: Decoded) -> bool:
    return bool(message.header.version == v3.VERSION)


def _read_add(message: Decoded) -> Request:
    request = message.add_request
    body = request.body
    status = statuses.EBADREQ if _version_served(message) else statuses.EBADVERSION
    if status is statuses.EBADVERSION or len(body) < fields.ENTRY_SIZE_MIN:
        return Answered(_add_reply(message.header.txn_id, status, request.ledger_id, request.entry_id))
    ledger_id, entry_id = ENTRY_IDS.unpack_fixed(body)
    return AddRequests(message, EntryRun.of_entries(ledger_id, entry_id, (body,)))


def _read_read(message: Decoded) -> Request:
    request = ReadRequests(message)
    if _version_served(message):
        return request
    return Answered(request.replies((statuses.EBADVERSION,), fields.NO_ENTRY)[0])


def _read_read_lac(message: Decoded) -> Request:
    request = ReadLacRequest(message)
    return request if _version_served(message) else Answered(request.reply(statuses.EBADVERSION, None, None))


def _read_write_lac(message: Decoded) -> Request:
    request = message.write_lac_request
    status = statuses.EBADREQ if _version_served(message) else statuses.EBADVERSION
    if status is statuses.EBADVERSION or len(request.body) < LAC_METADATA.size:
        return Answered(_write_lac_reply(message.header.txn_id, status, request.ledger_id))
    return WriteLacRequest(message)


def _read_bookie_info(message: Decoded) -> Request:
    request = BookieInfoRequest(message)
    return request if _version_served(message) else Answered(request.reply(statuses.EBADVERSION, 0, 0))


_READERS: dict[int, Callable[[Decoded], Request]] = {
    V3Operation.READ_ENTRY: _read_read,
    V3Operation.ADD_ENTRY: _read_add,
    V3Operation.AUTH: v3_handshake.read_auth,
    V3Operation.WRITE_LAC: _read_write_lac,
    V3Operation.READ_LAC: _read_read_lac,
    V3Operation.GET_BOOKIE_INFO: _read_bookie_info,
    V3Operation.START_TLS: v3_handshake.read_start_tls,
}
"""The operations that are served; every other known one is answered EBADREQ under the request's header."""
