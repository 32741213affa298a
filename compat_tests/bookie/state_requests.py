"""The frames of the rows of the tables of answers (``protocol_specs/wire/answers``)."""

from collections.abc import Callable
from typing import Any

from compat_tests.judge.case import Dialect
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY, entry, explicit_lac
from compat_tests.wire.requests import Requests
from protocol_specs import fields
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.answers.row import Body, Entry, Key, Operation, Request, Version
from protocol_specs.wire.operations import Flag, V3Operation

STORED_IDS = (0, 1, 3)
"""The entries of a ledger that has some."""
HOLE, NEW, ABSENT = 2, 4, 70
LAST_ADD_CONFIRMED = 2
"""The last add confirmed in the last of those entries."""
EXPLICIT_LAC = 1

POLL_TIME_OUT_MS = 150
BATCH_SIZE = 10_000

_ENTRY_IDS = {
    Entry.NEW: NEW,
    Entry.STORED: 0,
    Entry.HOLE: HOLE,
    Entry.BEYOND: ABSENT,
    Entry.LAST: fields.LAST_ENTRY,
    Entry.BELOW: -2,
    Entry.NEGATIVE: -3,
}
_PREVIOUS = {Entry.STORED: 0, Entry.HOLE: HOLE - 1, Entry.BEYOND: LAST_ADD_CONFIRMED, Entry.NEW: 0}
"""The ``previous_lac`` of a poll: its next entry is stored, missing, or not confirmed; NEW: it names another entry."""
_KEYS = {Key.RIGHT: KEY, Key.OTHER: OTHER_KEY, Key.ABSENT: None}
_SIZES = {Body.BYTES_10: 10, Body.BYTES_15: 15, Body.BYTES_16: 16, Body.BYTES_23: 23, Body.BYTES_24: 24}
_V2_VERSIONS = {Version.SPOKEN: 2, Version.OTHER: 3, Version.KEYLESS: 1}
_V3_VERSIONS = {Version.SPOKEN: 3, Version.OTHER: 2}
_OPERATIONS = {
    Operation.ADD: V3Operation.ADD_ENTRY,
    Operation.FORCE: V3Operation.FORCE_LEDGER,
}


def entry_id_of(request: Request) -> int:
    """The entry that the request names."""
    return _ENTRY_IDS[request.entry]


def body_of(request: Request, ledger_id: int) -> bytes:
    """The entry that an add brings; its bytes differ from those of a stored entry with the same id."""
    whole = entry(ledger_id, entry_id_of(request), entry_id_of(request) - 1, b"state")
    size = _SIZES.get(request.body)
    return whole if size is None else whole[:size]


def lac_body_of(request: Request, ledger_id: int) -> bytes:
    """The body of a WRITE_LAC."""
    whole = explicit_lac(ledger_id, EXPLICIT_LAC)
    if request.body is Body.BYTES_257:
        return whole + bytes(257 - len(whole))
    size = _SIZES.get(request.body)
    return whole if size is None else whole[:size]


def frame_of(request: Request, ledger_id: int, requests: Requests) -> bytes:
    """The request as bytes, in the protocol version of ``requests``."""
    if request.negative_ledger:
        ledger_id = -ledger_id
    if requests.dialect is Dialect.V2:
        return _v2(request, ledger_id, requests)
    return _v3(request, ledger_id, requests)


def _v2(request: Request, ledger_id: int, requests: Requests) -> bytes:
    version, key, entry_id = _V2_VERSIONS[request.version], _KEYS[request.key] or b"", entry_id_of(request)
    flags = (Flag.RECOVERY_ADD if request.recovery else 0) | (Flag.HIGH_PRIORITY if request.high_priority else 0)
    if request.operation is Operation.ADD:
        body = body_of(request, ledger_id)
        return v2_requests.add(ledger_id, entry_id, version=version, flags=flags, key=key, body=body)
    if request.fencing:
        flags |= Flag.FENCING
    if not request.fencing or request.version is Version.KEYLESS:
        key = b""  # there is no room for one
    if request.operation is Operation.READ:
        return v2_requests.read(ledger_id, entry_id, version=version, flags=flags, key=key)
    count = 1 if request.entry is Entry.LAST else len(STORED_IDS)
    return v2_requests.batch_read(
        ledger_id,
        entry_id,
        count,
        BATCH_SIZE,
        version=version,
        flags=flags,
        key=key,
        request_id=requests.number(),
    )


def _v3(request: Request, ledger_id: int, requests: Requests) -> bytes:
    options: dict[str, Any] = {
        "txn_id": requests.number(),
        "version": _V3_VERSIONS[request.version],
        "priority": 100 if request.high_priority else 0,
    }
    if request.body is Body.WITHOUT_PART:
        return v3_requests.request(_OPERATIONS[request.operation], **options)
    return _V3_FRAMES[request.operation](request, ledger_id, options)


def _v3_add(request: Request, ledger_id: int, options: dict[str, Any]) -> bytes:
    key = bytes(21) if request.body is Body.KEY_21 else _KEYS[request.key]
    flag = v3_pb2.AddRequest.RECOVERY_ADD if request.recovery else None
    return v3_requests.add(ledger_id, entry_id_of(request), body_of(request, ledger_id), key=key, flag=flag, **options)


def _v3_read(request: Request, ledger_id: int, options: dict[str, Any]) -> bytes:
    flag = v3_pb2.ReadRequest.FENCE_LEDGER if request.fencing else None
    return v3_requests.read(ledger_id, entry_id_of(request), flag=flag, **_key(request), **options)


def _v3_batch_read(request: Request, ledger_id: int, options: dict[str, Any]) -> bytes:
    flag = v3_pb2.BatchReadRequest.FENCE_LEDGER if request.fencing else None
    count = 1 if request.entry is Entry.LAST else len(STORED_IDS)
    named = {**_key(request), **options}
    return v3_requests.batch_read(ledger_id, entry_id_of(request), count, BATCH_SIZE, flag=flag, **named)


def _v3_poll(request: Request, ledger_id: int, options: dict[str, Any]) -> bytes:
    if request.entry is Entry.NEW:
        options["entry_id"] = 0
    return v3_requests.poll(ledger_id, _PREVIOUS[request.entry], POLL_TIME_OUT_MS, **options)


def _v3_write_lac(request: Request, ledger_id: int, options: dict[str, Any]) -> bytes:
    body = lac_body_of(request, ledger_id)
    return v3_requests.write_lac(ledger_id, EXPLICIT_LAC, body, key=_KEYS[request.key], **options)


def _key(request: Request) -> dict[str, Any]:
    """The key of a read, if it has one: a fencing read has, and a read that is to have a wrong one."""
    key = _KEYS[request.key]
    return {} if key is None or (not request.fencing and request.key is Key.RIGHT) else {"key": key}


_V3_FRAMES: dict[Operation, Callable[[Request, int, dict[str, Any]], bytes]] = {
    Operation.ADD: _v3_add,
    Operation.READ: _v3_read,
    Operation.BATCH_READ: _v3_batch_read,
    Operation.LONG_POLL: _v3_poll,
    Operation.WRITE_LAC: _v3_write_lac,
    Operation.READ_LAC: lambda request, ledger_id, options: v3_requests.read_lac(ledger_id, **options),
    Operation.FORCE: lambda request, ledger_id, options: v3_requests.force(ledger_id, **options),
    Operation.LIST: lambda request, ledger_id, options: v3_requests.list_entries(ledger_id, **options),
    Operation.INFO: lambda request, ledger_id, options: v3_requests.info(3, **options),
    Operation.START_TLS: lambda request, ledger_id, options: v3_requests.start_tls(**options),
}
