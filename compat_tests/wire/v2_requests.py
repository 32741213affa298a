"""V2 requests, without their length; any of them may be wrong on purpose."""

from compat_tests.wire.entries import KEY, entry
from protocol_specs import codecs
from protocol_specs.wire import framing, v2
from protocol_specs.wire.operations import Operation

REQUEST_ID = 77

_HEADER = codecs.derive("packet header", codecs.leading(v2.READ_REQUEST, "ledger_id"))
_READ = codecs.derive("read request", codecs.leading(v2.READ_REQUEST, "master_key"))
_BATCH = codecs.derive("batch read request", codecs.leading(v2.BATCH_READ_REQUEST, "master_key"))


def add(
    ledger_id: int,
    entry_id: int,
    *,
    version: int = 2,
    flags: int = 0,
    key: bytes = KEY,
    body: bytes | None = None,
) -> bytes:
    """An add; ``body`` is the whole entry, whose ids are the request's."""
    header = framing.join_header(version, Operation.ADD_ENTRY, flags)
    return _HEADER.pack_fixed(header) + key + (entry(ledger_id, entry_id, entry_id - 1) if body is None else body)


def read(ledger_id: int, entry_id: int, *, version: int = 2, flags: int = 0, key: bytes = b"") -> bytes:
    """A read, followed by any key."""
    return _READ.pack_fixed(framing.join_header(version, Operation.READ_ENTRY, flags), ledger_id, entry_id) + key


def batch_read(
    ledger_id: int,
    start: int,
    count: int,
    size: int,
    *,
    version: int = 2,
    flags: int = 0,
    key: bytes = b"",
    request_id: int = REQUEST_ID,
) -> bytes:
    """A batch read, followed by any key."""
    header = framing.join_header(version, Operation.BATCH_READ_ENTRY, flags)
    return _BATCH.pack_fixed(header, ledger_id, start, request_id, count, size) + key


def operation(code: int, *, version: int = 2, body: bytes = bytes(60)) -> bytes:
    """Any operation."""
    return _HEADER.pack_fixed(framing.join_header(version, code)) + body
