"""The answers to reads, single and in batches, and to long polls (docs/protocol/read-entry.md and others)."""

from protocol_specs.wire import status
from protocol_specs.wire.answers.row import (
    V2,
    V3,
    Answer,
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

_NO_LEDGER = Answer(status.ENOLEDGER, (Effect.NOT_MADE,))
_NO_ENTRY = Answer(status.ENOENTRY)
_HERE = Answer(status.EOK)
_HERE_FENCED = Answer(status.EOK, (Effect.FENCED,))
_NO_ENTRY_FENCED = Answer(status.ENOENTRY, (Effect.FENCED,))
_MADE_FENCED = Answer(status.ENOENTRY, (Effect.MADE, Effect.FENCED))
_REFUSED = Answer(status.EUA, (Effect.NOT_FENCED,))
_REFUSED_UNKNOWN = Answer(status.EUA, (Effect.NOT_MADE,))
_FAILED = Answer(status.EIO)
_BUSY = Answer(status.ETOOMANYREQUESTS, ours=True)
_VERSION = Answer(status.EBADVERSION)
_VERSION_FENCING = Answer(status.EBADVERSION, (Effect.NOT_FENCED,))
_GUARDED = Answer(status.EUA)
_CLOSED = Answer(None, says="**the connection is closed**")

_READ = Request(Operation.READ)
_BATCH = Request(Operation.BATCH_READ)
_HOLE = changed(entry=Entry.HOLE)
_LAST = changed(entry=Entry.LAST)
_UNSPOKEN = changed(version=Version.OTHER)

_OF_KEYS = (
    Line("no-key", "no key (V3)", (_HERE, _REFUSED), change=changed(key=Key.ABSENT), dialects=(V3,)),
    Line(
        "no-key-unknown",
        "no key (V3), and the ledger unknown",
        (_NO_LEDGER, _REFUSED_UNKNOWN),
        Ledger.UNKNOWN,
        change=changed(key=Key.ABSENT),
        dialects=(V3,),
    ),
    Line(
        "no-key-v2",
        "no key (V2), in a packet version that has one: the frame is too short",
        (None, Answer(None, (Effect.NOT_FENCED,))),
        change=changed(key=Key.ABSENT),
        dialects=(V2,),
    ),
    Line(
        "no-key-by-version",
        "packet version 1 (V2), which carries no key",
        (_HERE, _REFUSED),
        change=changed(version=Version.KEYLESS),
        dialects=(V2,),
    ),
    Line("other-key", "another key", (_HERE, _REFUSED), change=changed(key=Key.OTHER)),
    Line(
        "other-key-fenced",
        "another key, and fenced",
        (_HERE, Answer(status.EUA, (Effect.FENCED,))),
        Ledger.FENCED,
        change=changed(key=Key.OTHER),
    ),
)
"""The lines about a key that is wrong or missing: the same for a single read and a batch."""


def _shared(first: str) -> tuple[Line, ...]:
    """Return the lines that single and batch reads have in common, with the name of the entry that they look for."""
    return (
        Line(
            "unknown",
            "ledger unknown: never added to, fenced, or given an explicit last add confirmed here",
            (_NO_LEDGER, _MADE_FENCED),
            Ledger.UNKNOWN,
        ),
        Line("absent", f"ledger known, {first} absent", (_NO_ENTRY, _NO_ENTRY_FENCED), change=_HOLE),
        Line("there", f"{first} there", (_HERE, _HERE_FENCED)),
        Line("last", "-1 of a ledger with entries", (_HERE, _HERE_FENCED), change=_LAST),
        Line(
            "last-of-none",
            "-1 of a ledger without entries",
            (_NO_ENTRY, _NO_ENTRY_FENCED),
            Ledger.FENCED_EMPTY,
            change=_LAST,
        ),
        Line("fenced", f"fenced, {first} there", (_HERE, _HERE_FENCED), Ledger.FENCED),
        Line("fenced-absent", f"fenced, {first} absent", (_NO_ENTRY, _NO_ENTRY_FENCED), Ledger.FENCED, change=_HOLE),
        *_OF_KEYS,
        Line(
            "below",
            "an entry id below -1",
            (Answer(status.EBADREQ), Answer(status.EBADREQ)),
            change=changed(entry=Entry.BELOW),
        ),
        Line("read-only", f"read-only bookie, {first} there", (_HERE, _HERE_FENCED), Ledger.KNOWN, Bookie.READ_ONLY),
        Line(
            "read-only-unknown",
            "read-only bookie, ledger unknown",
            (_NO_LEDGER, _MADE_FENCED),
            Ledger.UNKNOWN,
            Bookie.READ_ONLY,
        ),
        Line("version", "version not spoken", (_VERSION, _VERSION_FENCING), change=_UNSPOKEN),
    )


READ_ENTRY = Table(
    "read-entry",
    "sec-read-entry-states",
    "state of bookie and ledger",
    (Column("plain", "plain read", _READ), Column("fencing", "fencing read", _READ._replace(fencing=True))),
    (
        *_shared("entry"),
        Line(
            "negative-ledger",
            "a negative ledger id",
            (Answer(status.ENOLEDGER), Answer(status.EBADREQ)),
            change=changed(negative_ledger=True),
        ),
        Line(
            "storage-fails",
            "storage fails, or holds something else where the entry should be",
            (_FAILED, _FAILED),
            bookie=Bookie.STORAGE_FAILS,
        ),
        Line(
            "journal-fails",
            "the fence cannot be journaled",
            (None, Answer(status.EIO, says="EIO: fenced for now, tried again by the next")),
            bookie=Bookie.JOURNAL_FAILS,
        ),
        Line("busy", "too many reads wait for the disk", (_BUSY, _BUSY), bookie=Bookie.BUSY),
        Line(
            "unauthenticated",
            "before [authentication](authentication.md)",
            (_GUARDED, Answer(status.EUA, (Effect.NOT_FENCED,))),
            bookie=Bookie.GUARDED,
        ),
    ),
)

BATCH_READ = Table(
    "batch-read",
    "sec-batch-read-states",
    "state of bookie and ledger",
    (Column("plain", "plain", _BATCH), Column("fencing", "fencing", _BATCH._replace(fencing=True))),
    (
        *_shared("first entry"),
        Line(
            "storage-fails",
            "storage fails at the first entry; at a later one it is EOK, with what came before it",
            (_FAILED, _FAILED),
            bookie=Bookie.STORAGE_FAILS,
        ),
        Line("busy", "a V3 request that would wait as one too many", (_BUSY, None), bookie=Bookie.BUSY),
        Line(
            "unauthenticated-v2",
            "before [authentication](authentication.md), V2",
            (_CLOSED, _CLOSED),
            bookie=Bookie.GUARDED,
            dialects=(V2,),
        ),
        Line(
            "unauthenticated-v3",
            "before [authentication](authentication.md), V3",
            (_GUARDED, Answer(status.EUA, (Effect.NOT_FENCED,))),
            bookie=Bookie.GUARDED,
            dialects=(V3,),
        ),
    ),
)

_POLL = Request(Operation.LONG_POLL)
_NEWS = "EOK, `entry_id` = `previous_lac` + 1, the entry, `max_lac`"
_NO_NEWS = "EOK, `entry_id` -1, no entry, `max_lac`"

LONG_POLL = Table(
    "long-poll",
    "sec-long-poll-states",
    "the bookie",
    (Column("piggyback", "answers", _POLL, (V3,)),),
    (
        Line("news", "knows a higher last add confirmed and has that entry", (Answer(status.EOK, says=_NEWS),)),
        Line(
            "news-elsewhere",
            "knows a higher one, but does not have the entry",
            (Answer(status.EOK, says=_NO_NEWS),),
            change=_HOLE,
        ),
        Line(
            "no-news",
            "knows no higher one, when the time is over",
            (Answer(status.EOK, says=_NO_NEWS),),
            change=changed(entry=Entry.BEYOND),
        ),
        Line("no-entries", "has no entries of the ledger", (_NO_ENTRY,), Ledger.FENCED_EMPTY),
        Line(
            "unknown",
            "does not know the ledger",
            (Answer(status.ENOLEDGER, (Effect.NOT_MADE,), "ENOLEDGER, at once"),),
            Ledger.UNKNOWN,
        ),
        Line(
            "other-entry",
            "gets ENTRY_PIGGYBACK with another entry id than -1",
            (Answer(status.EBADREQ),),
            change=changed(entry=Entry.NEW),
        ),
        Line(
            "busy",
            "has let too many wait, of this connection or of all",
            (Answer(status.ETOOMANYREQUESTS, says="ETOOMANYREQUESTS (ours)", ours=True),),
            bookie=Bookie.BUSY,
        ),
        Line("version", "gets header version 1 or 2", (_VERSION,), change=_UNSPOKEN),
        Line(
            "unauthenticated",
            "gets it before [authentication](authentication.md)",
            (_GUARDED,),
            bookie=Bookie.GUARDED,
        ),
    ),
)
