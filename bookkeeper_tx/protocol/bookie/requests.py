"""The requests to a bookie that both protocol versions have.

The protocol versions (``v2``, ``v3``) are siblings: each has its own classes for these requests, and a request encodes
its own replies.  So the operations of the bookie do not know the protocol version.  What only V3 has is a class beside
``v3``, and no more.  Requests of the hot path come as
runs: one object for a run of frames of one operation, ledger and key.  Where ledgers alternate, one object stands for
single adds or reads of all of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from attrs import frozen

from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.wire.status import Status

Buffer: TypeAlias = bytes | bytearray | memoryview

REQUEST_BYTES: Final = 512
"""Memory of a request besides its content, more or less: the request itself may have 24 bytes."""

ID_BYTES: Final = 40
"""Memory of a number in a list."""

MIXED_ADD_BYTES: Final = 400
"""Memory of one of many adds besides key and record: its ids, objects, and what its reply echoes.  V2's take a quarter
less."""

MIXED_READ_BYTES: Final = 160
"""Memory of one of many reads: its ids, and what its reply echoes.  V2's take a fifth less."""


class AddRequests(Protocol):
    """Add the entries of a run."""

    @property
    def entries(self) -> EntryRun: ...

    master_key: bytes
    recovery: bool
    """The add of a recovering or re-replicating client: the fence does not stop it."""
    high_priority: bool
    deferred_sync: bool
    """Whether the reply need not wait for the journal's sync (V3)."""

    @property
    def content_bytes(self) -> int:
        """Memory of what came in the frames, more or less, as of every request that may have more than a few bytes."""

    def replies(self, status: Status) -> bytes:
        """Encode one reply for each entry of the run."""


OneAdd: TypeAlias = tuple[int, int, int, bytes, bytes]
"""Ledger id, entry id, last add confirmed in the entry, master key, and the entry as a record after its length.

The entry is whole, of format V1, and its id is not negative.
"""


class MixedAddRequests(Protocol):
    """Add single entries of any ledgers, under one header; a tuple each, because an object each costs more."""

    @property
    def adds(self) -> Sequence[OneAdd]: ...

    recovery: bool
    high_priority: bool

    @property
    def content_bytes(self) -> int: ...

    def replies(self, indexes: Sequence[int], status: Status) -> bytes:
        """Encode the replies to some of :attr:`adds`, in the order of ``indexes``."""


class ReadRequests(Protocol):
    """Read entries of one ledger."""

    ledger_id: int

    @property
    def entry_ids(self) -> Sequence[int]: ...

    fencing: bool
    master_key: bytes | None
    """The key of a fencing read; None when the request brought none."""
    high_priority: bool

    @property
    def content_bytes(self) -> int: ...

    def replies(self, answers: Sequence[Buffer | Status], last_add_confirmed: int) -> Sequence[Buffer]:
        """Encode the first replies: ``answers[i]`` is entry ``entry_ids[i]`` as stored, or its error status."""

    def rest(self, answered: int) -> "ReadRequests":
        """Return the request without the first ``answered`` of its several entries."""


class MixedReadRequests(Protocol):
    """Read single entries of any ledgers, without fencing, under one header."""

    @property
    def reads(self) -> Sequence[tuple[int, int]]:
        """Ledger id and entry id of each."""

    @property
    def content_bytes(self) -> int: ...

    def part(self, index: int) -> ReadRequests:
        """Return the request for one of :attr:`reads`."""

    def rest(self, answered: int) -> "MixedReadRequests":
        """Return the request without the first ``answered`` of :attr:`reads`."""

    def replies(self, indexes: Sequence[int], entries: Sequence[Buffer], confirmed: Sequence[int]) -> list[Buffer]:
        """Encode the replies to some of :attr:`reads`.

        ``entries`` are as stored, and ``confirmed`` are the last adds confirmed of their ledgers, in the order of
        ``indexes``.
        """


class BatchReadRequest(Protocol):
    """Read the entries from ``start_entry_id`` on as one reply."""

    ledger_id: int
    start_entry_id: int
    max_count: int
    max_size: int
    fencing: bool
    master_key: bytes | None
    previous_last_add_confirmed: int | None
    """The last add confirmed that must have passed first (V3); None: the reader does not wait."""
    timeout_ms: int
    """How long the reader is ready to wait for that, in milliseconds."""

    def reply(
        self, slices: Sequence[Buffer], last_add_confirmed: int, updated_at_ms: int | None = None
    ) -> list[Buffer]:
        """Encode the reply that carries ``slices`` of records.

        ``updated_at_ms`` is the time when the last add confirmed passed the reader's, in milliseconds since the epoch,
        if that ended a wait.
        """

    def error(self, status: Status) -> bytes:
        """Encode the reply without entries."""


class OneVersionRequest:
    """A request that one version has: the operation that serves it knows its class."""

    __slots__ = ()


@frozen
class Answered:
    """A request that the connection answers by itself, without the bookie."""

    reply: bytes

    @property
    def content_bytes(self) -> int:
        return len(self.reply)


@frozen
class StartTls:
    """The client asks for TLS: everything after the reply ``accepted`` is inside it."""

    accepted: bytes
    refused: bytes
    """The reply of a bookie without TLS."""
    failed: bytes
    """The reply when the handshake has failed."""


@frozen
class InContext:
    """A request (V3) that came with a context for the bookie's log: the log line of its failure shows the context."""

    request: Any
    context: str

    @property
    def content_bytes(self) -> int:
        return kept_bytes(self.request) + len(self.context)


@frozen
class Continuation:
    """The rest of a request that has waited."""

    go_on: Callable[[], None]
    content_bytes: int = 0
    """Memory of the request, if nothing else counts it while it waits for its turn."""


@frozen
class ConnectionBroken:
    """The peer broke the protocol: nothing more is read, and the connection is to be closed."""

    error: Exception


ConnectionEvent: TypeAlias = Answered | StartTls | ConnectionBroken
"""The events that the connection itself handles, whatever bookie it serves."""

Request: TypeAlias = (
    AddRequests
    | MixedAddRequests
    | ReadRequests
    | MixedReadRequests
    | BatchReadRequest
    | OneVersionRequest
    | Answered
    | StartTls
    | InContext
    | Continuation
    | ConnectionBroken
)

Replied: TypeAlias = Callable[[Request, Status, int], None]
"""Called with a request that is being answered, the status of the reply, and its size in bytes."""


def kept_bytes(request: Request) -> int:
    """Return how many bytes of memory a request keeps, more or less."""
    return REQUEST_BYTES + int(getattr(request, "content_bytes", 0))


def content_bytes_of(adds: Sequence[OneAdd]) -> int:
    """Return how many bytes of memory ``adds`` keep, more or less."""
    return sum(len(key) + len(record) for _, _, _, key, record in adds) + MIXED_ADD_BYTES * len(adds)
