"""Shared by the cases of ledger scopes: entries of format V2, requests with a scope, replies that echo it."""

from typing import Any, Final

from compat_tests.bookie.talk import Talk
from compat_tests.wire.entries import entry
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply
from protocol_specs import codecs, fields
from protocol_specs.entry import v2
from protocol_specs.entry.digest import CRC32C, compute
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EOK, Status

NEEDS: Final = ("scopes",)

SCOPES: Final = (1, 2, -1)
"""Scopes, beside 0, for ledgers with the same lower half of their ids."""

_ENTRY = codecs.derive("entry", v2.ENTRY_METADATA)
_LAC = codecs.derive("explicit last add confirmed", v2.LAC_METADATA)


def scoped_entry(
    scope: int, ledger: int, entry_id: int, last_add_confirmed: int | None = None, payload: bytes = b""
) -> bytes:
    """An entry of this scope, sealed with CRC32C: of format V2, or V1 in scope 0. Payloads tell scopes apart."""
    confirmed = entry_id - 1 if last_add_confirmed is None else last_add_confirmed
    payload = payload or b"%d/%d/%d" % (scope, ledger, entry_id)
    if not scope:
        return entry(ledger, entry_id, confirmed, payload, digest="crc32c")
    head = _ENTRY.pack_fixed(v2.flags_of(CRC32C.number), scope, ledger, entry_id, confirmed, len(payload))
    return head + compute(CRC32C, b"", head + payload) + payload


def scoped_lac(scope: int, ledger: int, last_add_confirmed: int) -> bytes:
    """The body of a WRITE_LAC in a scope other than 0."""
    head = _LAC.pack_fixed(v2.flags_of(CRC32C.number), scope, ledger, last_add_confirmed)
    return head + compute(CRC32C, b"", head)


def within(scope: int | None, frame: bytes) -> bytes:
    """A V3 request with this scope in its part; scope 0, as None, means that the field is left out."""
    return with_scope_field(scope or None, frame)


def with_scope_field(scope: int | None, frame: bytes) -> bytes:
    """A V3 request with exactly this scope in its part, even 0; None leaves the field out."""
    message = v3_pb2.Request.FromString(frame)
    for field, part in message.ListFields():
        if scope is not None and field.name.endswith("_request"):
            part.ledger_scope_id = scope
    return message.SerializeToString()


def expect_within(
    talk: Talk, scope: int, frame: bytes, status: Status = EOK, on: Line | None = None, **wanted: Any
) -> Reply:
    """Ask within a scope; require this status, and the scope echoed, or absent if it is 0."""
    return talk.expect(within(scope, frame), status, on, ledger_scope_id=scope or None, **wanted)


def add_within(talk: Talk, scope: int, ledger: int, entry_id: int, status: Status = EOK, **options: Any) -> Reply:
    """Add an entry of a scope, or try to."""
    body = scoped_entry(scope, ledger, entry_id)
    return expect_within(talk, scope, talk.requests.add(ledger, entry_id, body=body, **options), status)


def read_within(
    talk: Talk, scope: int, ledger: int, entry_id: int, status: Status = EOK, body: bytes | None = None
) -> Reply:
    """Read an entry of a scope, and require its bytes if it is there."""
    wanted = scoped_entry(scope, ledger, entry_id) if body is None and status is EOK else body or b""
    return expect_within(talk, scope, talk.requests.read(ledger, entry_id), status, entry_id=entry_id, body=wanted)


def fence_within(talk: Talk, scope: int, ledger: int, status: Status = EOK, body: bytes = b"") -> Reply:
    """Fence a ledger of a scope."""
    frame = talk.requests.fence(ledger)
    return expect_within(talk, scope, frame, status, entry_id=fields.LAST_ENTRY, body=body)
