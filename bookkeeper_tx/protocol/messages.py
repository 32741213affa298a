"""What a bookie is asked, whichever dialect asked it.

The dialects (``v2``, ``v3``) are siblings: each has its own classes for these requests, and a request encodes its own
replies, so nothing behind this room knows the dialect.  Requests of the hot path come as runs: one object for a run of
frames of one operation, ledger and key.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from attrs import frozen

from bookkeeper_tx.entry_run import EntryRun
from protocol_specs.wire.status import Status

Buffer: TypeAlias = bytes | bytearray | memoryview


class AddRequests(Protocol):
    """Add the entries of a run."""

    entries: EntryRun
    master_key: bytes
    recovery: bool
    """The add of a recovering or re-replicating client: the fence does not stop it."""
    high_priority: bool
    deferred_sync: bool
    """Whether the reply need not wait for the journal's sync (V3)."""

    def replies(self, status: Status) -> bytes:
        """Encode one reply for each entry of the run."""


class ReadRequests(Protocol):
    """Read entries of one ledger."""

    ledger_id: int
    entry_ids: Sequence[int]
    fencing: bool
    master_key: bytes | None
    """The key of a fencing read; None when the request brought none."""
    high_priority: bool
    previous_last_add_confirmed: int | None
    """Set by a long poll (V3)."""
    piggyback: bool
    """Whether a long poll (V3) wants the entry after ``previous_last_add_confirmed`` with the answer."""
    timeout_ms: int | None
    """How long a long poll (V3) may wait, in milliseconds; None: not at all."""

    def replies(self, answers: Sequence[Buffer | Status], last_add_confirmed: int) -> Sequence[Buffer]:
        """Encode the first replies: ``answers[i]`` is entry ``entry_ids[i]`` as stored, or why it cannot be had."""

    def rest(self, answered: int) -> "ReadRequests":
        """Return the request without the first ``answered`` of its several entries."""


class BatchReadRequest(Protocol):
    """Read the entries from ``start_entry_id`` on as one reply."""

    ledger_id: int
    start_entry_id: int
    max_count: int
    max_size: int
    fencing: bool
    master_key: bytes | None

    def reply(self, slices: Sequence[Buffer]) -> list[Buffer]:
        """Encode the reply that carries ``slices`` of records."""

    def error(self, status: Status) -> bytes:
        """Encode the reply without entries."""


class ReadLacRequest(Protocol):
    """Read the explicit last add confirmed and the last entry."""

    ledger_id: int

    def reply(self, status: Status, explicit_lac: bytes | None, last_entry: bytes | None) -> bytes: ...


class WriteLacRequest(Protocol):
    """Store an explicit last add confirmed."""

    ledger_id: int
    last_add_confirmed: int
    master_key: bytes
    body: bytes

    def reply(self, status: Status) -> bytes: ...


class BookieInfoRequest(Protocol):
    """Tell the disk space of the bookie: bit 0 of ``requested`` asks for the total, bit 1 for what is free."""

    requested: int

    def reply(self, status: Status, total_bytes: int, free_bytes: int) -> bytes: ...


class ForceLedgerRequest(Protocol):
    """Reply when all that was added to the ledger before is durable."""

    ledger_id: int

    def reply(self, status: Status) -> bytes: ...


class ListEntriesRequest(Protocol):
    """Tell which entries of a ledger are stored here."""

    ledger_id: int

    def reply(self, status: Status, availability: bytes | None) -> bytes:
        """Encode the reply; ``availability`` is the list of entries as ``protocol_specs.wire.entry_list`` has it."""


@frozen
class Answered:
    """A request that needs no bookie to be answered."""

    reply: bytes


@frozen
class ConnectionBroken:
    """The peer broke the protocol: nothing more is read, and the connection is to be closed."""

    error: Exception


Request: TypeAlias = (
    AddRequests
    | ReadRequests
    | BatchReadRequest
    | ReadLacRequest
    | WriteLacRequest
    | BookieInfoRequest
    | ForceLedgerRequest
    | ListEntriesRequest
    | Answered
    | ConnectionBroken
)
