"""A client's requests in V3 (docs/protocol/v3.md); ``v3_answers`` reads the replies.

Flags are those of V2 (:class:`~protocol_specs.wire.operations.Flag`), so that callers need not know the protocol
version.  A ledger id of a scope other than 0 is split into its halves here.
"""

from typing import Any

from protocol_specs import codecs, fields
from protocol_specs import ledger_id as ids
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import Flag, V3Operation

_pack_length = codecs.RECORD_LENGTH.pack_fixed

KEPT_SIZE_MAX = 64 * 1024
"""After so many bytes of adds, or of replies, the message that encodes or decodes them is made anew.

Protobuf's C code frees what was ever set in a field only together with the message.
"""


def _frame(operation: Any, txn_id: int, flags: int = 0, **parts: Any) -> bytes:
    priority = v3.PRIORITY_HIGH if flags & Flag.HIGH_PRIORITY else None
    header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=txn_id, priority=priority)
    body = v3_pb2.Request(header=header, **parts).SerializeToString()
    return _pack_length(len(body)) + body


def _halves(ledger_id: int) -> tuple[int | None, int]:
    """Return scope id, None for scope 0, which is not sent, and the lower half."""
    scope_id, lower = ids.split(ledger_id)
    return scope_id or None, lower


class PlainAdds:
    """Encodes adds without flags to ledgers of scope 0: one message, whose fields are set again for each of many.

    Making a message anew takes four times as long as setting its fields.
    """

    __slots__ = ("_encode", "_header", "_kept_bytes", "_master_key", "_part")

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        header = v3_pb2.PacketHeader(version=v3.VERSION, operation=v3_pb2.ADD_ENTRY, txn_id=0)
        part = v3_pb2.AddRequest(ledger_id=0, entry_id=0, master_key=b"", body=b"")
        message = v3_pb2.Request(header=header, add_request=part)
        self._header, self._part, self._encode = message.header, message.add_request, message.SerializeToString
        self._master_key = b""
        self._kept_bytes = 0

    def encode(self, txn_id: int, ledger_id: int, entry_id: int, entry: bytes, master_key: bytes) -> bytes:
        """Encode the add that :func:`add_entry` encodes."""
        part = self._part
        self._header.txn_id = txn_id
        part.ledger_id, part.entry_id, part.body = ledger_id, entry_id, entry
        if master_key is not self._master_key:
            part.master_key = self._master_key = master_key
        body = self._encode()
        self._kept_bytes += len(body)
        if self._kept_bytes > KEPT_SIZE_MAX:
            self._renew()
        return _pack_length(len(body)) + body


class PlainReads:
    """Encodes reads without flags of ledgers of scope 0, as :class:`PlainAdds` does adds."""

    __slots__ = ("_encode", "_header", "_part")

    def __init__(self) -> None:
        header = v3_pb2.PacketHeader(version=v3.VERSION, operation=v3_pb2.READ_ENTRY, txn_id=0)
        message = v3_pb2.Request(header=header, read_request=v3_pb2.ReadRequest(ledger_id=0, entry_id=0))
        self._header, self._part, self._encode = message.header, message.read_request, message.SerializeToString

    def encode(self, txn_id: int, ledger_id: int, entry_id: int) -> bytes:
        """Encode the read that :func:`read_entry` encodes."""
        part = self._part
        self._header.txn_id = txn_id
        part.ledger_id, part.entry_id = ledger_id, entry_id
        body = self._encode()
        return _pack_length(len(body)) + body


def add_entry(
    txn_id: int,
    ledger_id: int,
    entry_id: int,
    entry: bytes,
    master_key: bytes,
    flags: int = 0,
    deferred_sync: bool = False,
) -> bytes:
    """Encode an add of ``entry``, as sealed by a digest; with ``deferred_sync`` it is acknowledged before the sync."""
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.AddRequest(
        ledger_id=lower,
        entry_id=entry_id,
        master_key=master_key,
        body=entry,
        write_flags=v3.WriteFlag.DEFERRED_SYNC if deferred_sync else None,
        flag=v3_pb2.AddRequest.RECOVERY_ADD if flags & Flag.RECOVERY_ADD else None,
        ledger_scope_id=scope_id,
    )
    return _frame(V3Operation.ADD_ENTRY, txn_id, flags, add_request=request)


def read_entry(txn_id: int, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None) -> bytes:
    """Encode a read; with the fencing flag ``master_key`` must be given."""
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.ReadRequest(
        ledger_id=lower,
        entry_id=entry_id,
        master_key=master_key,
        flag=v3_pb2.ReadRequest.FENCE_LEDGER if flags & Flag.FENCING else None,
        ledger_scope_id=scope_id,
    )
    return _frame(V3Operation.READ_ENTRY, txn_id, flags, read_request=request)


def wait_last_add_confirmed(
    txn_id: int, ledger_id: int, previous_last_add_confirmed: int, timeout_ms: int, piggyback: bool
) -> bytes:
    """Encode a long poll: answer when the last add confirmed has passed the previous one, or after ``timeout_ms``.

    0 ms asks for an answer at once.  With ``piggyback`` the reply brings the entry after the previous last add
    confirmed; without it, the last one stored.
    """
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.ReadRequest(
        ledger_id=lower,
        entry_id=fields.LAST_ENTRY,
        previous_lac=previous_last_add_confirmed,
        time_out=timeout_ms or None,
        flag=v3_pb2.ReadRequest.ENTRY_PIGGYBACK if piggyback else None,
        ledger_scope_id=scope_id,
    )
    return _frame(V3Operation.READ_ENTRY, txn_id, read_request=request)


def batch_read(
    txn_id: int,
    ledger_id: int,
    start_entry_id: int,
    max_count: int,
    max_size: int,
    flags: int = 0,
    master_key: bytes | None = None,
) -> bytes:
    """Encode a batch read (BP-62); with the fencing flag ``master_key`` must be given."""
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.BatchReadRequest(
        ledger_id=lower,
        start_entry_id=start_entry_id,
        max_count=max_count,
        max_size=max_size,
        master_key=master_key,
        flag=v3_pb2.BatchReadRequest.FENCE_LEDGER if flags & Flag.FENCING else None,
        ledger_scope_id=scope_id,
    )
    return _frame(V3Operation.BATCH_READ_ENTRY, txn_id, flags, batch_read_request=request)


def read_last_add_confirmed(txn_id: int, ledger_id: int) -> bytes:
    """Encode a read of explicit LAC and last entry."""
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.ReadLacRequest(ledger_id=lower, ledger_scope_id=scope_id)
    return _frame(V3Operation.READ_LAC, txn_id, read_lac_request=request)


def write_last_add_confirmed(
    txn_id: int, ledger_id: int, last_add_confirmed: int, master_key: bytes, body: bytes
) -> bytes:
    """Encode a write of the explicit LAC ``body``, as sealed by a digest."""
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.WriteLacRequest(
        ledger_id=lower, lac=last_add_confirmed, master_key=master_key, body=body, ledger_scope_id=scope_id
    )
    return _frame(V3Operation.WRITE_LAC, txn_id, write_lac_request=request)


def force_ledger(txn_id: int, ledger_id: int) -> bytes:
    """Encode a request to answer when all earlier adds to the ledger are durable."""
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.ForceLedgerRequest(ledger_id=lower, ledger_scope_id=scope_id)
    return _frame(V3Operation.FORCE_LEDGER, txn_id, force_ledger_request=request)


def list_entries(txn_id: int, ledger_id: int) -> bytes:
    """Encode a question for the entries of a ledger that are stored there."""
    scope_id, lower = _halves(ledger_id)
    request = v3_pb2.GetListOfEntriesOfLedgerRequest(ledger_id=lower, ledger_scope_id=scope_id)
    operation = V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER
    return _frame(operation, txn_id, get_list_of_entries_of_ledger_request=request)


def bookie_info(
    txn_id: int, requested: int = v3.BookieInfo.TOTAL_DISK_CAPACITY | v3.BookieInfo.FREE_DISK_SPACE
) -> bytes:
    """Encode a question for the disk space of the bookie."""
    request = v3_pb2.GetBookieInfoRequest(requested=requested)
    return _frame(V3Operation.GET_BOOKIE_INFO, txn_id, get_bookie_info_request=request)
