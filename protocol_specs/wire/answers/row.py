"""The parts of the tables of answers.

A table has a line for each state and a column for each kind of request; the answer stands where they meet.  A
:class:`Row` is one such place, with everything that a test needs to produce that state and request.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from protocol_specs.wire.status import Status

V2, V3 = "V2", "V3"
BOTH = (V2, V3)


class Ledger(Enum):
    """The state of the ledger on the bookie."""

    UNKNOWN = "a ledger that the bookie does not know"
    KNOWN = "a ledger with entries 0, 1 and 3"
    FENCED = "a fenced ledger with entries 0, 1 and 3"
    FENCED_EMPTY = "a ledger that was fenced before anything was added"
    EXPLICIT_LAC = "a ledger with an explicit last add confirmed and no entries"
    KNOWN_WITH_LAC = "a ledger with entries 0, 1 and 3 and an explicit last add confirmed"


class Bookie(Enum):
    """The state of the bookie."""

    SERVING = "a bookie"
    READ_ONLY = "a read-only bookie"
    GUARDED = "a bookie that asks for authentication, before it"
    TLS = "a bookie that has TLS"
    JOURNAL_FAILS = "a bookie whose journal cannot be written"
    STORAGE_FAILS = "a bookie whose storage fails"
    BUSY = "a bookie with too much to do"


class Operation(Enum):
    """The operation of a request."""

    ADD = "add"
    READ = "read"
    BATCH_READ = "batch read"
    LONG_POLL = "long poll"
    WRITE_LAC = "WRITE_LAC"
    READ_LAC = "READ_LAC"
    FORCE = "FORCE_LEDGER"
    LIST = "list of entries"
    INFO = "GET_BOOKIE_INFO"
    START_TLS = "START_TLS"


class Entry(Enum):
    """The entry that the request names: that which a read wants, or that after a long poll's ``previous_lac``."""

    NEW = "of a new entry"
    STORED = "of an entry that is there"
    HOLE = "of an entry that is not there"
    BEYOND = "of an entry behind the last one"
    LAST = "of entry -1, the last one"
    BELOW = "of entry -2"
    NEGATIVE = "with a negative entry id"


class Key(Enum):
    """The master key in the request."""

    RIGHT = "with the ledger's key"
    OTHER = "with another key"
    ABSENT = "without a key"


class Version(Enum):
    """The version in the header."""

    SPOKEN = ""
    OTHER = "of a version that is not spoken"
    KEYLESS = "of packet version 1"


class Body(Enum):
    """The size or form of the request's body, or of its key."""

    WHOLE = ""
    BYTES_10 = "of 10 bytes"
    BYTES_16 = "of 16 bytes"
    BYTES_23 = "of 23 bytes"
    BYTES_24 = "of 24 bytes"
    BYTES_15 = "of 15 bytes"
    BYTES_257 = "of 257 bytes"
    WITHOUT_PART = "without its part"
    KEY_21 = "whose key has 21 bytes"


class Request(NamedTuple):
    """A request."""

    operation: Operation
    entry: Entry = Entry.STORED
    key: Key = Key.RIGHT
    fencing: bool = False
    recovery: bool = False
    high_priority: bool = False
    piggyback: bool = True
    """Of a long poll: whether its reply brings the next entry."""
    version: Version = Version.SPOKEN
    body: Body = Body.WHOLE
    negative_ledger: bool = False


class Effect(Enum):
    """A condition that must hold after the answer."""

    STORED = "the entry is stored"
    NOT_STORED = "nothing is stored"
    FIRST_STAYS = "the first copy stays"
    MADE = "the ledger is known"
    NOT_MADE = "the ledger is not made"
    FENCED = "the ledger is fenced"
    NOT_FENCED = "nothing is fenced"
    LAC_KEPT = "the body is kept"
    LAC_AS_BEFORE = "the body is not kept"


class Answer(NamedTuple):
    """The reply, and its effects."""

    status: Status | None
    """None: the connection is closed without an answer."""
    effects: tuple[Effect, ...] = ()
    says: str = ""
    """The text in the reference, if it is not status and effects."""
    ours: bool = False
    """Whether only our bookie answers so, and others may answer otherwise."""


class Column(NamedTuple):
    """A kind of request."""

    slug: str
    title: str
    request: Request
    dialects: tuple[str, ...] = BOTH


class Line(NamedTuple):
    """A state, or a special request, and the answers in the order of the columns."""

    slug: str
    text: str
    """In the words of the reference: Markdown."""
    answers: tuple[Answer | None, ...]
    """None where there is no such request."""
    ledger: Ledger = Ledger.KNOWN
    bookie: Bookie = Bookie.SERVING
    change: tuple[tuple[str, object], ...] = ()
    """Fields of the request that are not as in the column."""
    dialects: tuple[str, ...] = BOTH


class Table(NamedTuple):
    """A table of answers."""

    name: str
    section: str
    """The label of the section of the reference that it is in."""
    head: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]


class Row(NamedTuple):
    """One place of a table: a request in a state, and the answer to it."""

    key: str
    """Never changes: ``add-entry/fenced/plain``."""
    table: Table
    line: Line
    column: Column
    request: Request
    ledger: Ledger
    bookie: Bookie
    dialects: tuple[str, ...]
    answer: Answer

    def __str__(self) -> str:
        return self.key


def rows_of(table: Table) -> Iterator[Row]:
    """Yield the rows of a table, line by line."""
    for line in table.lines:
        for column, answer in zip(table.columns, line.answers, strict=True):
            if answer is not None:
                yield Row(
                    f"{table.name}/{line.slug}/{column.slug}",
                    table,
                    line,
                    column,
                    column.request._replace(**dict(line.change)),  # type: ignore[arg-type]
                    line.ledger,
                    line.bookie,
                    tuple(dialect for dialect in column.dialects if dialect in line.dialects),
                    answer,
                )


def changed(**fields: object) -> tuple[tuple[str, object], ...]:
    """Return the fields that a line changes in the requests of its columns."""
    return tuple(fields.items())
