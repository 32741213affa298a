"""The answers to adds (docs/protocol/add-entry.md)."""

from protocol_specs.wire import status
from protocol_specs.wire.answers.row import (
    V2,
    V3,
    Answer,
    Body,
    Bookie,
    Column,
    Effect,
    Entry,
    Key,
    Ledger,
    Line,
    Operation,
    Request,
    Table,
    Version,
    changed,
)

_STORED = Answer(status.EOK, (Effect.STORED,))
_REFUSED = Answer(status.EUA, (Effect.NOT_STORED,))
_FENCED = Answer(status.EFENCED, (Effect.NOT_STORED,))
_AGAIN = Answer(status.EOK, (Effect.FIRST_STAYS,))
_AGAIN_FENCED = Answer(status.EFENCED, (Effect.FIRST_STAYS,))
_READ_ONLY = Answer(status.EREADONLY, (Effect.NOT_STORED,))
_BAD = Answer(status.EBADREQ, (Effect.NOT_STORED,))
_FAILED = Answer(status.EIO, says="EIO: the entry may be there or not")

_ADD = Request(Operation.ADD, Entry.NEW)
_OTHER_KEY = changed(key=Key.OTHER)
_AGAIN_ADDED = changed(entry=Entry.STORED)
_FIRST = changed(high_priority=True)

ADD_ENTRY = Table(
    "add-entry",
    "sec-add-entry-states",
    "state of bookie and ledger",
    (Column("plain", "plain add", _ADD), Column("recovery", "recovery add", _ADD._replace(recovery=True))),
    (
        Line(
            "unknown",
            "ledger unknown",
            (Answer(status.EOK, (Effect.STORED, Effect.MADE)), Answer(status.EOK, (Effect.STORED, Effect.MADE))),
            Ledger.UNKNOWN,
        ),
        Line("known", "ledger known", (_STORED, _STORED)),
        Line("other-key", "known, another key", (_REFUSED, _REFUSED), change=_OTHER_KEY),
        Line("fenced", "fenced", (_FENCED, _STORED), Ledger.FENCED),
        Line("fenced-high-priority", "fenced, with high priority", (_FENCED, _STORED), Ledger.FENCED, change=_FIRST),
        Line("fenced-empty", "fenced before anything was added", (_FENCED, _STORED), Ledger.FENCED_EMPTY),
        Line("fenced-other-key", "fenced, another key", (_REFUSED, _REFUSED), Ledger.FENCED, change=_OTHER_KEY),
        Line("again", "entry stored already", (_AGAIN, _AGAIN), change=_AGAIN_ADDED),
        Line(
            "again-fenced", "entry stored already, fenced", (_AGAIN_FENCED, _AGAIN), Ledger.FENCED, change=_AGAIN_ADDED
        ),
        Line("high-priority", "ledger known, with high priority", (_STORED, _STORED), change=_FIRST),
        Line("read-only", "read-only bookie", (_READ_ONLY, _READ_ONLY), Ledger.UNKNOWN, Bookie.READ_ONLY),
        Line(
            "read-only-high-priority",
            "read-only bookie, with high priority and room",
            (_STORED, _STORED),
            Ledger.UNKNOWN,
            Bookie.READ_ONLY,
            _FIRST,
        ),
        Line(
            "read-only-fenced",
            "read-only bookie, with high priority, fenced",
            (_FENCED, _STORED),
            Ledger.FENCED,
            Bookie.READ_ONLY,
            _FIRST,
        ),
        Line(
            "read-only-other-key",
            "read-only bookie, another key",
            (_READ_ONLY, _READ_ONLY),
            Ledger.KNOWN,
            Bookie.READ_ONLY,
            _OTHER_KEY,
        ),
        Line(
            "read-only-high-priority-other-key",
            "read-only bookie, with high priority, another key",
            (_REFUSED, _REFUSED),
            Ledger.KNOWN,
            Bookie.READ_ONLY,
            changed(high_priority=True, key=Key.OTHER),
        ),
        Line("journal-fails", "journal cannot be written", (_FAILED, _FAILED), Ledger.KNOWN, Bookie.JOURNAL_FAILS),
        Line(
            "unauthenticated",
            "before [authentication](authentication.md), where that is asked for",
            (_REFUSED, _REFUSED),
            Ledger.UNKNOWN,
            Bookie.GUARDED,
        ),
    ),
)

_CLOSED = Answer(None, (Effect.NOT_STORED,), says="closed")
_SHORT = Answer(status.EOK, (Effect.STORED,), says="EOK: stored, even without a digest")
_VERSION = Answer(status.EBADVERSION, (Effect.NOT_STORED,))
_NEGATIVE = Answer(status.EBADREQ, (Effect.NOT_STORED,), says="EBADREQ; Java stores some of them")

ADD_ENTRY_WRONG = Table(
    "add-entry-wrong",
    "sec-add-entry-states",
    "what is wrong with the request",
    (Column("v2", "V2", _ADD, (V2,)), Column("v3", "V3", _ADD, (V3,))),
    (
        Line("10-bytes", "entry of fewer than 16 bytes", (_CLOSED, _BAD), change=changed(body=Body.BYTES_10)),
        Line("16-bytes", "16 bytes", (_BAD, _BAD), change=changed(body=Body.BYTES_16)),
        Line("23-bytes", "up to 23 bytes", (_BAD, _BAD), change=changed(body=Body.BYTES_23)),
        Line("24-bytes", "24 bytes and more", (_SHORT, _SHORT), change=changed(body=Body.BYTES_24)),
        Line("negative-entry", "a negative entry id", (_NEGATIVE, _NEGATIVE), change=changed(entry=Entry.NEGATIVE)),
        Line("negative-ledger", "a negative ledger id", (_NEGATIVE, _NEGATIVE), change=changed(negative_ledger=True)),
        Line(
            "version",
            "version 3 and above (V2), 1 and 2 (V3)",
            (_VERSION, _VERSION),
            change=changed(version=Version.OTHER),
        ),
        Line(
            "no-part",
            "no `add_request`",
            (None, Answer(status.EBADREQ, says="as an empty one: EBADREQ; Java 4.18 closes", ours=True)),
            change=changed(body=Body.WITHOUT_PART),
        ),
        Line(
            "key-21-bytes",
            "a key of more than 20 bytes",
            (None, Answer(status.EBADREQ, (Effect.NOT_STORED,), "ours: EBADREQ; Java takes it as it is", ours=True)),
            Ledger.UNKNOWN,
            change=changed(body=Body.KEY_21),
        ),
    ),
)
