"""Frozen values that every room shares."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple
from uuid import UUID, uuid4

from attrs import evolve, field, frozen

from bookkeeper_tx.errors import InvalidArgument
from protocol_specs import fields
from protocol_specs import ledger_id as ids
from protocol_specs.entry import digest as digests

BookieId = str
"""The name of a bookie, ``host:port`` unless it was configured otherwise."""


class LedgerId(int):
    """The id of a ledger, 128 bits wide: a scope id and a ledger id (BP-34).

    It is an integer; in scope 0, the only one that Java knows, it equals the ledger id.  Every function that takes a
    ledger id takes a plain integer as well.
    """

    __slots__ = ()

    def __new__(cls, ledger_id: int, scope_id: int = 0) -> "LedgerId":
        """Join two signed 64-bit halves; a complete 128-bit id may be given alone.

        Raises InvalidArgument for a value that is no ledger id.
        """
        for half in (ledger_id, scope_id):
            if not isinstance(half, int) or isinstance(half, bool):
                raise InvalidArgument(f"ledger id {ledger_id!r} of scope {scope_id!r}: both must be integers")
            if not -(2**63) <= half < 2**63 and (scope_id or half < ids.SCOPED_MIN or half > ids.QUALIFIED_ID_MAX):
                raise InvalidArgument(f"ledger id {ledger_id!r} of scope {scope_id!r}: each half has 64 bits, signed")
        if ledger_id < 0 and not scope_id:
            raise InvalidArgument(f"ledger id {ledger_id} must not be negative in scope 0")
        return super().__new__(cls, ids.join(scope_id, ledger_id))

    @classmethod
    def of_name(cls, name: str) -> "LedgerId":
        """Return the id with this qualified name: up to 32 hexadecimal digits.  Raises InvalidArgument."""
        try:
            return cls(ids.of_qualified_name(name))
        except ValueError as error:
            raise InvalidArgument(str(error)) from None

    @classmethod
    def of_uuid(cls, value: UUID) -> "LedgerId":
        """Return the id whose 128 bits are those of ``value``; raises InvalidArgument for one of scope 0."""
        if value.int < ids.SCOPED_MIN:
            raise InvalidArgument(f"UUID {value} has an upper half of zeros, which is scope 0")
        return cls(value.int)

    @classmethod
    def random(cls) -> "LedgerId":
        """Return a unique id in a scope of its own, a UUID of version 4; needs no id generator."""
        return cls.of_uuid(uuid4())

    @property
    def scope_id(self) -> int:
        """The upper half, signed."""
        return ids.split(self)[0]

    @property
    def ledger_id(self) -> int:
        """The lower half, signed."""
        return ids.split(self)[1]

    @property
    def qualified_name(self) -> str:
        """All 128 bits as 32 hexadecimal digits."""
        return ids.qualified_name(self)


def check_ledger_id(ledger_id: int) -> int:
    """Return ``ledger_id`` if a ledger may have it; raises InvalidArgument."""
    is_integer = isinstance(ledger_id, int) and not isinstance(ledger_id, bool)
    if not is_integer or not (
        0 <= ledger_id <= fields.LEDGER_ID_MAX or ids.SCOPED_MIN <= ledger_id <= ids.QUALIFIED_ID_MAX
    ):
        raise InvalidArgument(
            f"{ledger_id!r} is no ledger id: ledger_id must be an integer from 0 to {fields.LEDGER_ID_MAX}, "
            "or a LedgerId of a scope other than 0"
        )
    return ledger_id


def ledger_name(ledger_id: int) -> str:
    """Return the name of a ledger in messages: its number, or in scopes other than 0 its qualified name."""
    return str(int(ledger_id)) if ledger_id < ids.SCOPED_MIN else ids.qualified_name(ledger_id)


class DigestType(Enum):
    """The digest that protects entries; the value is its declaration in ``protocol_specs.entry.digest``."""

    CRC32 = digests.CRC32
    """8 bytes; against errors of disks and networks."""
    MAC = digests.MAC
    """20 bytes, HMAC-SHA1 keyed with the password; against bookies that lie."""
    CRC32C = digests.CRC32C
    """4 bytes; as CRC32, and faster.  The default."""
    DUMMY = digests.DUMMY
    """No digest at all."""


class LedgerState(Enum):
    """State of a ledger; the value is its number in the metadata."""

    OPEN = 1
    """Being written."""
    IN_RECOVERY = 2
    """Being taken over by another client than its writer."""
    CLOSED = 3
    """Complete: it never changes any more."""


def _bookie_ids(values: Iterable[BookieId]) -> tuple[BookieId, ...]:
    return tuple(values)


@frozen
class Fragment:
    """The bookies that store the entries from ``first_entry_id`` up to the next fragment."""

    first_entry_id: int
    """Id of the first entry that these bookies store."""
    ensemble: tuple[BookieId, ...] = field(converter=_bookie_ids)
    """The bookies, in the order that decides which of them an entry goes to."""


def _fragments(values: Iterable[Fragment]) -> tuple[Fragment, ...]:
    return tuple(values)


@frozen
class LedgerMetadata:
    """The record of a ledger in the metadata store.

    Invariants (docs/formats/ledger-metadata.md): ensemble size ≥ write quorum size ≥ ack quorum size ≥ 1; at least one
    fragment, each as large as the ensemble, first entry ids ascending; last entry id and length only when closed.
    """

    ensemble_size: int
    """Bookies that store a fragment."""
    write_quorum_size: int
    """Bookies that each entry goes to."""
    ack_quorum_size: int
    """Bookies that must have an entry before it is acknowledged."""
    fragments: tuple[Fragment, ...] = field(converter=_fragments)
    """In the order of their first entries."""
    digest_type: DigestType | None = None
    """None when the stored form names no password: the opener must know the digest type."""
    password: bytes | None = field(default=b"", repr=False)
    """None when the stored form has none."""
    state: LedgerState = LedgerState.OPEN
    """Open, in recovery, or closed."""
    last_entry_id: int = fields.NO_ENTRY
    """Id of the last entry; NO_ENTRY unless closed, and of a closed ledger without entries."""
    length: int = 0
    """Payload bytes of the whole ledger; 0 unless closed."""
    custom_metadata: Mapping[str, bytes] = field(factory=dict)
    """What the creator wanted to be kept with it."""
    ctime_ms: int | None = None
    """Creation time, in milliseconds since 1970, if the stored form has it."""
    create_token: int | None = None
    """Random number of the create attempt (``cToken``); 0 after an update."""
    format_version: int = 3
    """Version of the stored form; an update keeps it."""

    def __attrs_post_init__(self) -> None:
        if not self.ensemble_size >= self.write_quorum_size >= self.ack_quorum_size >= 1:
            raise InvalidArgument(
                f"ensemble size {self.ensemble_size} >= write quorum size {self.write_quorum_size} >= "
                f"ack quorum size {self.ack_quorum_size} >= 1 does not hold"
            )
        if not self.fragments:
            raise InvalidArgument("a ledger has at least one fragment")
        for fragment in self.fragments:
            if len(fragment.ensemble) != self.ensemble_size:
                raise InvalidArgument(
                    f"fragment at entry {fragment.first_entry_id} has {len(fragment.ensemble)} bookies, "
                    f"the ensemble size is {self.ensemble_size}"
                )
        firsts = [fragment.first_entry_id for fragment in self.fragments]
        if firsts != sorted(set(firsts)):
            raise InvalidArgument(f"first entry ids of the fragments do not ascend: {firsts}")

    @property
    def closed(self) -> bool:
        """Whether nothing will be appended any more."""
        return self.state is LedgerState.CLOSED

    @property
    def last_fragment(self) -> Fragment:
        """The fragment that appends go to."""
        return self.fragments[-1]

    def with_state(self, state: LedgerState) -> "LedgerMetadata":
        """Return the metadata in another state."""
        return evolve(self, state=state)

    def with_close(self, last_entry_id: int, length: int) -> "LedgerMetadata":
        """Return the metadata of the ledger closed at this entry and with this many payload bytes."""
        return evolve(self, state=LedgerState.CLOSED, last_entry_id=last_entry_id, length=length)

    def with_fragment(self, fragment: Fragment) -> "LedgerMetadata":
        """Return the metadata with ``fragment`` last; it replaces one that starts at the same entry."""
        kept = tuple(each for each in self.fragments if each.first_entry_id < fragment.first_entry_id)
        return evolve(self, fragments=(*kept, fragment))


@frozen
class Versioned:
    """Ledger metadata together with the version to compare when it is set."""

    metadata: LedgerMetadata
    version: int


@frozen
class BookieServiceInfo:
    """A bookie's own record in the metadata store: the address of its ``bookie-rpc`` endpoint."""

    host: str
    port: int
    protocol: str = "bookie-rpc"
    extensions: frozenset[str] | None = frozenset()
    """Names of the endpoint's further features, as in ``protocol_specs.metadata.bookie``.  Empty when the bookie
    publishes that it has none; None when it published nothing or only its address is known, so that a client has to
    find out on a connection of its own."""
    http: tuple[str, int] | None = None
    """Host and port of its HTTP API; None if it has none, or does not publish it."""


@frozen
class BookieDisk:
    """The disk space of a bookie's ledger directories, as the bookie reports it."""

    total_bytes: int | None
    """Of all of them; None if the bookie did not report it."""
    free_bytes: int | None
    """None if the bookie did not report it."""


@frozen
class Replication:
    """What a metadata store tells about the re-replication of a cluster's ledgers (autorecovery)."""

    auditor: BookieId | None = None
    """The bookie whose process is the auditor now; None if there is none."""
    enabled: bool = True
    """Whether it is switched on, which it is unless an operator has switched it off."""
    is_due: bool = False
    """Whether a ledger is marked as under-replicated."""


class Entry(NamedTuple):
    """One entry as a reader gets it."""

    ledger_id: int
    """The whole id; see :class:`LedgerId`."""
    entry_id: int
    """From 0 on."""
    payload: bytes
    """What the writer appended."""
    last_add_confirmed: int
    """Last add confirmed at the time the entry was written."""
    length: int
    """Payload bytes of the ledger up to and including this entry."""
