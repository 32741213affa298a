"""Mutants that are made from the tables of answers: in the state of one row, another plausible status.

Rules choose the rows and the statuses, not a person who knows the cases: see :func:`mutants`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from bookkeeper_tx.bookie.operations.dispatch import Dispatch
from bookkeeper_tx.bookie.storage.ledger import Ledger as Handle
from bookkeeper_tx.protocol.bookie import v2, v3
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol
from compat_tests.bookie.cases.states import case_id
from protocol_specs import fields
from protocol_specs.entry import v1
from protocol_specs.wire import status
from protocol_specs.wire.answers.row import V2, V3, Body, Bookie, Entry, Key, Ledger, Operation, Row, Version
from protocol_specs.wire.answers.tables import ROWS
from protocol_specs.wire.status import Status
from tests.mutants.mutant import BOOKIE, TABLE, Mutant, instead_of

AREAS = {
    Operation.ADD: ("STATE", "ADD", "FENCE"),
    Operation.READ: ("STATE", "READ", "FENCE"),
    Operation.BATCH_READ: ("STATE", "BATCH"),
    Operation.LONG_POLL: ("STATE", "POLL"),
    Operation.WRITE_LAC: ("STATE", "LAC"),
    Operation.READ_LAC: ("STATE", "LAC"),
    Operation.FORCE: ("STATE", "FORCE"),
    Operation.LIST: ("STATE", "LIST"),
    Operation.INFO: ("STATE", "INFO"),
}
"""START_TLS is not here: the connection answers it, not an operation."""

_REQUESTS: dict[Operation, tuple[type[Any], ...]] = {
    Operation.ADD: (v2.AddRequests, v3.AddRequests),
    Operation.READ: (v2.ReadRequests, v3.ReadRequests),
    Operation.BATCH_READ: (v2.BatchReadRequest, v3.BatchReadRequest),
    Operation.LONG_POLL: (v3.LongPollRequest,),
    Operation.WRITE_LAC: (v3.WriteLacRequest,),
    Operation.READ_LAC: (v3.ReadLacRequest,),
    Operation.FORCE: (v3.ForceLedgerRequest,),
    Operation.LIST: (v3.ListEntriesRequest,),
    Operation.INFO: (v3.BookieInfoRequest,),
}

_WRITES = (Operation.ADD, Operation.WRITE_LAC)


def plausible(row: Row) -> Status:
    """Return a status that a bookie with a defect might give instead."""
    right = row.answer.status
    if right is status.EOK:
        if row.request.recovery and row.ledger in (Ledger.FENCED, Ledger.FENCED_EMPTY):
            return status.EFENCED
        if row.request.high_priority and row.bookie is Bookie.READ_ONLY:
            return status.EREADONLY
        return status.EIO if row.request.operation in _WRITES else status.ENOENTRY
    others = {
        status.ENOLEDGER: status.ENOENTRY,
        status.ENOENTRY: status.ENOLEDGER,
        status.EUA: status.EBADREQ,
        status.EFENCED: status.EUA,
        status.EREADONLY: status.EIO,
        status.EBADREQ: status.EIO,
        status.EIO: status.ENOENTRY,
    }
    return others[right]  # type: ignore[index]


def mutants() -> list[Mutant]:
    """Return one mutant for each operation, kind of request, right and other status, and state of ledger and bookie.

    Rows that the operations do not see (versions, authentication, frames that are no request) are not looked at, nor
    those of a plain read that differ in the key, which it does not look at, and what is only our bookie's own.
    """
    found: dict[tuple[object, ...], Row] = {}
    for row in ROWS.values():
        if row.request.operation in AREAS and row.answer.status is not None and _is_seen(row):
            state = row.ledger if row.ledger in (Ledger.UNKNOWN, Ledger.FENCED) else None
            kind = (row.table.name, row.column.slug, row.answer.status, plausible(row))
            found.setdefault((*kind, state, row.bookie), row)
    return [
        Mutant(
            "answers-" + row.key.replace("/", "-"),
            BOOKIE,
            (case_id(row), *AREAS[row.request.operation]),
            f"{row.key} is answered {plausible(row).name} instead of {row.answer.status.name}.",  # type: ignore[union-attr]
            partial(_patch, row, plausible(row)),
            TABLE,
        )
        for row in found.values()
    ]


def _is_seen(row: Row) -> bool:
    request = row.request
    plain_read = request.operation in (Operation.READ, Operation.BATCH_READ) and not request.fencing
    return (
        row.bookie in (Bookie.SERVING, Bookie.READ_ONLY)
        and not row.answer.ours
        and request.version is Version.SPOKEN
        and request.body in (Body.WHOLE, Body.BYTES_24, *([Body.BYTES_16] * (V2 in row.dialects)))
        and not (plain_read and request.key is not Key.RIGHT)
    )


def _patch(row: Row, other: Status) -> None:
    restated: set[Any] = set()
    """Requests that are answered ``other``, whatever the operation says."""

    @instead_of(Dispatch, "serve")
    def serve(original: Any, self: Any, request: Any, connection: Any) -> None:
        if _meets(row, request, self._storage, self._availability):
            restated.add(request)
        original(self, request, connection)

    @instead_of(BookieProtocol, "reply")
    def reply(original: Any, self: Any, request: Any, said: Status, parts: Any) -> None:
        if request in restated:
            restated.discard(request)
            said, parts = other, _reply(request, other)
        original(self, request, said, parts)


def _meets(row: Row, request: Any, storage: Any, availability: Any) -> bool:
    """Tell whether a request is that of the row, and the state as well."""
    if not isinstance(request, _REQUESTS[row.request.operation]):
        return False
    if (V2 if type(request).__module__ == v2.__name__ else V3) not in row.dialects:
        return False
    if availability.read_only != (row.bookie is Bookie.READ_ONLY):
        return False
    if row.request.operation is Operation.INFO:
        return True
    ledger_id = request.entries.ledger_id if row.request.operation is Operation.ADD else request.ledger_id
    if (ledger_id < 0) != row.request.negative_ledger:
        return False
    ledger = storage.ledger(ledger_id)
    return _is_in(row.ledger, ledger) and _is_like(row, request, ledger, storage)


def _is_in(state: Ledger, ledger: Handle | None) -> bool:
    if ledger is None or state is Ledger.UNKNOWN:
        return ledger is None and state in (Ledger.UNKNOWN, Ledger.KNOWN)
    empty, fenced = ledger.last_entry_id == fields.NO_ENTRY, ledger.fenced
    return {
        Ledger.KNOWN: not empty and not fenced and ledger.explicit_lac is None,
        Ledger.KNOWN_WITH_LAC: not empty and not fenced and ledger.explicit_lac is not None,
        Ledger.FENCED: not empty and fenced,
        Ledger.FENCED_EMPTY: empty and fenced,
        Ledger.EXPLICIT_LAC: empty and not fenced,
    }[state]


def _is_like(row: Row, request: Any, ledger: Handle | None, storage: Any) -> bool:
    wanted = row.request
    for flag in ("fencing", "recovery"):
        if hasattr(request, flag) and getattr(request, flag) != getattr(wanted, flag):
            return False
    if wanted.operation is Operation.ADD and request.high_priority != wanted.high_priority:
        return False
    if (wanted.fencing or wanted.operation in _WRITES) and _key_of(request, ledger) is not wanted.key:
        return False
    if wanted.operation is Operation.ADD:
        return _entry_fits(wanted.entry, request.entries.first_entry_id, storage, ledger) and _body_fits(
            wanted.body, len(request.entries.entry(request.entries.first_entry_id))
        )
    if wanted.operation is Operation.READ:
        return _entry_fits(wanted.entry, request.entry_ids[0], storage, ledger)
    if wanted.operation is Operation.BATCH_READ:
        return _entry_fits(wanted.entry, request.start_entry_id, storage, ledger)
    if wanted.operation is Operation.LONG_POLL:
        return _poll_fits(wanted.entry, request, storage, ledger)
    return True


def _key_of(request: Any, ledger: Handle | None) -> Key:
    if request.master_key is None:
        return Key.ABSENT
    return Key.RIGHT if ledger is None or ledger.master_key == request.master_key else Key.OTHER


def _entry_fits(wanted: Entry, entry_id: int, storage: Any, ledger: Handle | None) -> bool:
    if entry_id < 0:
        last = Entry.LAST if entry_id == fields.LAST_ENTRY else Entry.BELOW
        return wanted is last or (wanted is Entry.NEGATIVE and last is Entry.BELOW) or ledger is None
    if ledger is None:
        return wanted in (Entry.NEW, Entry.STORED)
    there = _is_there(storage, ledger, entry_id)
    return wanted is Entry.STORED if there else wanted in (Entry.NEW, Entry.HOLE, Entry.BEYOND)


def _is_there(storage: Any, ledger: Handle, entry_id: int) -> bool:
    if storage._unflushed.find(ledger.ledger_id, entry_id) is not None:
        return True
    located = entry_id <= ledger.last_indexed_id and storage._loader.location(ledger.ledger_id, entry_id)
    return bool(located)


def _body_fits(wanted: Body, size: int) -> bool:
    if size >= v1.ENTRY_METADATA.sizeof():
        return wanted is Body.WHOLE
    return wanted is (Body.BYTES_24 if size >= fields.ENTRY_SIZE_MIN else Body.BYTES_16)


def _poll_fits(wanted: Entry, request: Any, storage: Any, ledger: Handle | None) -> bool:
    if (request.entry_id != fields.LAST_ENTRY) != (wanted is Entry.NEW):
        return False
    if wanted is Entry.NEW or ledger is None:
        return True
    previous = request.previous_last_add_confirmed
    if ledger.last_add_confirmed <= previous:
        return wanted in (Entry.BEYOND, Entry.STORED) if ledger.last_entry_id == -1 else wanted is Entry.BEYOND
    there = _is_there(storage, ledger, previous + 1)
    return wanted is (Entry.STORED if there else Entry.HOLE)


def _reply(request: Any, other: Status) -> Sequence[Any]:
    if isinstance(request, _REQUESTS[Operation.ADD]):
        return [request.replies(other)]
    if isinstance(request, _REQUESTS[Operation.READ]):
        return list(request.replies([other] * len(request.entry_ids), fields.NO_ENTRY))
    if isinstance(request, _REQUESTS[Operation.BATCH_READ]):
        return [request.error(other)]
    if isinstance(request, v3.LongPollRequest):
        return [request.reply(request.entry_id, other, fields.NO_ENTRY, None)]
    if isinstance(request, v3.ReadLacRequest):
        return [request.reply(other, None, None)]
    if isinstance(request, v3.ListEntriesRequest):
        return [request.reply(other, None)]
    if isinstance(request, v3.BookieInfoRequest):
        return [request.reply(other, 0, 0)]
    return [request.reply(other)]
