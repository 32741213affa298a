"""The answers to the operations that only V3 has (docs/protocol/last-add-confirmed.md and others)."""

from protocol_specs.wire import status
from protocol_specs.wire.answers.row import (
    V3,
    Answer,
    Body,
    Bookie,
    Column,
    Effect,
    Key,
    Ledger,
    Line,
    Operation,
    Request,
    Table,
    Version,
    changed,
)

_OK = Answer(status.EOK)
_KEPT = Answer(status.EOK, (Effect.LAC_KEPT,))
_FAILED = Answer(status.EIO)
_VERSION = Answer(status.EBADVERSION)
_GUARDED = Answer(status.EUA)
_BUSY = Answer(status.ETOOMANYREQUESTS, says="ETOOMANYREQUESTS (ours)", ours=True)
_UNSPOKEN = changed(version=Version.OTHER)
_WITHOUT = changed(body=Body.WITHOUT_PART)
_BEFORE = "before [authentication](authentication.md)"
_OLD = "header version 1 or 2"


def _one(operation: Operation) -> tuple[Column, ...]:
    return (Column("v3", "status", Request(operation), (V3,)),)


WRITE_LAC = Table(
    "write-lac",
    "sec-write-lac",
    "state, or what is sent",
    _one(Operation.WRITE_LAC),
    (
        Line("unknown", "ledger unknown", (Answer(status.EOK, (Effect.MADE, Effect.LAC_KEPT)),), Ledger.UNKNOWN),
        Line("known", "ledger known", (_KEPT,)),
        Line("fenced", "fenced", (_KEPT,), Ledger.FENCED),
        Line(
            "short",
            "a body under 16 bytes",
            (Answer(status.EBADREQ, (Effect.LAC_AS_BEFORE,)),),
            change=changed(body=Body.BYTES_15),
        ),
        Line(
            "long",
            "a body over 256 bytes",
            (Answer(status.EBADREQ, (Effect.LAC_AS_BEFORE,), "EBADREQ (ours)", ours=True),),
            change=changed(body=Body.BYTES_257),
        ),
        Line(
            "other-key",
            "another key",
            (Answer(status.EUA, (Effect.LAC_AS_BEFORE,)),),
            change=changed(key=Key.OTHER),
        ),
        Line(
            "read-only",
            "read-only bookie",
            (Answer(status.EREADONLY, (Effect.NOT_MADE,)),),
            Ledger.UNKNOWN,
            Bookie.READ_ONLY,
        ),
        Line(
            "read-only-high-priority",
            "read-only bookie, with high priority",
            (Answer(status.EREADONLY, (Effect.NOT_MADE,)),),
            Ledger.UNKNOWN,
            Bookie.READ_ONLY,
            changed(high_priority=True),
        ),
        Line("journal-fails", "the journal could not be written", (_FAILED,), bookie=Bookie.JOURNAL_FAILS),
        Line("version", _OLD, (Answer(status.EBADVERSION, (Effect.LAC_AS_BEFORE,)),), change=_UNSPOKEN),
        Line("unauthenticated", _BEFORE, (_GUARDED,), Ledger.UNKNOWN, Bookie.GUARDED),
    ),
)

READ_LAC = Table(
    "read-lac",
    "sec-read-lac",
    "the bookie has",
    _one(Operation.READ_LAC),
    (
        Line("entries", "entries, and no explicit LAC", (Answer(status.EOK, says="EOK, the last entry"),)),
        Line("both", "entries and an explicit LAC", (Answer(status.EOK, says="EOK, both"),), Ledger.KNOWN_WITH_LAC),
        Line("fenced", "entries, and is fenced", (Answer(status.EOK, says="EOK, the last entry"),), Ledger.FENCED),
        Line("nothing", "neither, and knows the ledger", (Answer(status.ENOENTRY),), Ledger.FENCED_EMPTY),
        Line("unknown", "no such ledger", (Answer(status.ENOENTRY, (Effect.NOT_MADE,)),), Ledger.UNKNOWN),
        Line(
            "explicit",
            "an explicit LAC and no entries",
            (Answer(status.EIO, says="EIO, with the body (as Java; 4.14 says ENOENTRY)"),),
            Ledger.EXPLICIT_LAC,
        ),
        Line("read-only", "entries, and is read-only", (_OK,), bookie=Bookie.READ_ONLY),
        Line("storage-fails", "storage that fails", (_FAILED,), bookie=Bookie.STORAGE_FAILS),
        Line("version", f"a request of {_OLD}", (_VERSION,), change=_UNSPOKEN),
        Line("unauthenticated", f"a request {_BEFORE}", (_GUARDED,), bookie=Bookie.GUARDED),
    ),
)

FORCE_LEDGER = Table(
    "force-ledger",
    "sec-force-ledger-states",
    "state",
    _one(Operation.FORCE),
    (
        Line("known", "ledger known: all that was acknowledged before is on disk", (_OK,)),
        Line("unknown", "ledger unknown", (Answer(status.EOK, (Effect.NOT_MADE,)),), Ledger.UNKNOWN),
        Line("fenced", "fenced", (_OK,), Ledger.FENCED),
        Line("read-only", "read-only bookie", (_OK,), bookie=Bookie.READ_ONLY),
        Line(
            "journal-fails",
            "the journal could not be synced, or has lost an acknowledged add",
            (_FAILED,),
            bookie=Bookie.JOURNAL_FAILS,
        ),
        Line("busy", "more than 10 000 requests wait for the journal", (_BUSY,), bookie=Bookie.BUSY),
        Line("version", _OLD, (_VERSION,), change=_UNSPOKEN),
        Line(
            "no-part",
            "without `force_ledger_request`: ledger 0",
            (Answer(status.EOK, says="EOK (Java 4.18 closes)", ours=True),),
            change=_WITHOUT,
        ),
        Line("unauthenticated", _BEFORE, (_GUARDED,), bookie=Bookie.GUARDED),
    ),
)

LIST_ENTRIES = Table(
    "list-entries",
    "sec-list-entries-states",
    "state",
    _one(Operation.LIST),
    (
        Line("unknown", "ledger unknown", (Answer(status.ENOLEDGER, (Effect.NOT_MADE,)),), Ledger.UNKNOWN),
        Line(
            "empty",
            "ledger known, without entries",
            (Answer(status.EOK, says="EOK, a list without groups"),),
            Ledger.FENCED_EMPTY,
        ),
        Line("there", "entries there", (_OK,)),
        Line("fenced", "entries there, and fenced", (_OK,), Ledger.FENCED),
        Line("read-only", "entries there, read-only bookie", (_OK,), bookie=Bookie.READ_ONLY),
        Line("storage-fails", "the index cannot be read", (_FAILED,), bookie=Bookie.STORAGE_FAILS),
        Line(
            "too-large",
            "the list does not fit a frame, or the ledger is too large to be listed",
            (Answer(status.EBADREQ, says="EBADREQ (ours)", ours=True),),
            bookie=Bookie.BUSY,
        ),
        Line("busy", "too many requests wait", (_BUSY,), bookie=Bookie.BUSY),
        Line("version", _OLD, (_VERSION,), change=_UNSPOKEN),
        Line("unauthenticated", _BEFORE, (_GUARDED,), bookie=Bookie.GUARDED),
    ),
)

BOOKIE_INFO = Table(
    "bookie-info",
    "sec-bookie-info-states",
    "state",
    _one(Operation.INFO),
    (
        Line("serving", "any", (_OK,)),
        Line("read-only", "read-only bookie", (_OK,), bookie=Bookie.READ_ONLY),
        Line("storage-fails", "the file system cannot be asked", (_FAILED,), bookie=Bookie.STORAGE_FAILS),
        Line("version", _OLD, (_VERSION,), change=_UNSPOKEN),
        Line("unauthenticated", _BEFORE, (_GUARDED,), bookie=Bookie.GUARDED),
    ),
)

START_TLS = Table(
    "start-tls",
    "sec-start-tls-states",
    "state",
    _one(Operation.START_TLS),
    (
        Line("tls", "TLS configured, in clear", (_OK,), bookie=Bookie.TLS),
        Line(
            "no-tls",
            "no TLS configured",
            (Answer(status.EBADREQ, says="EBADREQ, connection stays"),),
        ),
        Line(
            "unauthenticated",
            "no TLS configured, unauthenticated: START_TLS comes before AUTH",
            (Answer(status.EBADREQ, says="EBADREQ, connection stays"),),
            bookie=Bookie.GUARDED,
        ),
    ),
)
