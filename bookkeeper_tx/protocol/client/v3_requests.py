"""A client's adds and single reads in V3 (docs/protocol/v3.md); the other requests are values, in ``requests``.

Flags are those of V2 (:class:`~protocol_specs.wire.operations.Flag`), so that callers need not know the protocol
version.  A ledger id of a scope other than 0 is split into its halves here.
"""

from bookkeeper_tx.protocol.client.v3_frames import frame
from protocol_specs import codecs
from protocol_specs import ledger_id as ids
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import Flag, V3Operation

_pack_length = codecs.RECORD_LENGTH.pack_fixed

KEPT_SIZE_MAX = 64 * 1024
"""After so many bytes of adds, or of replies, the message that encodes or decodes them is made anew.

Protobuf's C code frees what was ever set in a field only together with the message.
"""


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
    return frame(V3Operation.ADD_ENTRY, txn_id, flags, add_request=request)


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
    return frame(V3Operation.READ_ENTRY, txn_id, flags, read_request=request)
