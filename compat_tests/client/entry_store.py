"""The ledgers that a scripted bookie keeps in memory, and its honest answers from them."""

from __future__ import annotations

from itertools import groupby

import attrs

from compat_tests.client import client_requests as names
from compat_tests.client.answers import REFUSED, Answer
from compat_tests.client.client_requests import ClientRequest
from compat_tests.judge.case import V2
from protocol_specs import fields
from protocol_specs.codecs import Malformed
from protocol_specs.entry.version import explicit_lac_of, metadata_of
from protocol_specs.wire import entry_list, framing, v3
from protocol_specs.wire.status import (
    EBADREQ,
    EBADVERSION,
    EFENCED,
    EIO,
    ENOENTRY,
    ENOLEDGER,
    EOK,
    EREADONLY,
    EUA,
)

BATCH_OVERHEAD = 36
RECORD_OVERHEAD = 4
TOTAL_BYTES = 10**12
FREE_BYTES = 5 * 10**11


@attrs.define
class StoredLedger:
    """One ledger, as one bookie has it."""

    key: bytes
    fenced: bool = False
    entries: dict[int, bytes] = attrs.field(factory=dict)
    explicit_lac: bytes | None = None

    @property
    def last_add_confirmed(self) -> int:
        """The highest of those in the entries and the explicit one; bytes that are no entry have none."""
        known = [fields.NO_ENTRY]
        for entry in self.entries.values():
            try:
                known.append(metadata_of(entry)[2])
            except Malformed:
                continue
        if self.explicit_lac is not None:
            known.append(explicit_lac_of(self.explicit_lac)[1])
        return max(known)


@attrs.define
class EntryStore:
    """All ledgers of one bookie.  Not thread-safe: the bookie has the lock."""

    ledgers: dict[int, StoredLedger] = attrs.field(factory=dict)
    serves_batch_read: bool = True
    read_only: bool = False
    batch_size_max: int = fields.FRAME_SIZE_MAX

    def answer(self, request: ClientRequest) -> Answer:
        """Carry out a request as the reference says, and give the reply to it."""
        spoken = request.version == v3.VERSION if request.dialect != V2 else request.version <= framing.VERSION_MAX
        if not spoken and request.operation not in (names.AUTH, names.START_TLS):
            return Answer(status=EBADVERSION)
        operation = _OPERATIONS.get(request.operation)
        return REFUSED if operation is None else operation(self, request)

    def waits(self, request: ClientRequest) -> bool:
        """Whether a request is a long poll that has to wait."""
        if request.previous_lac is None or request.fencing or request.timeout_ms <= 0:
            return False
        ledger = self.ledgers.get(request.ledger_id)
        return ledger is not None and not ledger.fenced and ledger.last_add_confirmed <= request.previous_lac

    def _add(self, request: ClientRequest) -> Answer:
        if self.read_only and not (request.recovery or request.high_priority):
            return Answer(status=EREADONLY)
        if len(request.body) < fields.ENTRY_SIZE_MIN or request.ledger_id < 0 or request.entry_id < 0:
            return Answer(status=EBADREQ)
        ledger = self.ledgers.setdefault(request.ledger_id, StoredLedger(request.key or b""))
        if ledger.key != request.key:
            return Answer(status=EUA)
        if ledger.fenced and not request.recovery:
            return Answer(status=EFENCED)
        ledger.entries.setdefault(request.entry_id, request.body)
        return Answer()

    def _read(self, request: ClientRequest) -> Answer:
        if request.entry_id < fields.LAST_ENTRY:
            return Answer(status=EBADREQ)
        if request.previous_lac is not None and request.piggyback:
            return self._piggyback(request)
        refused = self._fence(request)
        if refused is not None:
            return refused
        ledger = self.ledgers.get(request.ledger_id)
        if ledger is None:
            return Answer(status=ENOLEDGER)
        entry_id = request.entry_id
        if entry_id == fields.LAST_ENTRY and ledger.entries:
            entry_id = max(ledger.entries)
        if entry_id not in ledger.entries:
            return Answer(status=ENOENTRY)
        max_lac = None if request.fencing else ledger.last_add_confirmed
        return Answer(body=ledger.entries[entry_id], max_lac=max_lac)

    def _piggyback(self, request: ClientRequest) -> Answer:
        ledger = self.ledgers.get(request.ledger_id)
        if ledger is None:
            return Answer(status=ENOLEDGER)
        if not ledger.entries:
            return Answer(status=ENOENTRY)
        known = ledger.last_add_confirmed
        wanted = (request.previous_lac or 0) + 1
        if known >= wanted and wanted in ledger.entries:
            return Answer(entry_id=wanted, body=ledger.entries[wanted], max_lac=known)
        return Answer(entry_id=fields.LAST_ENTRY, max_lac=known)

    def _fence(self, request: ClientRequest) -> Answer | None:
        if not request.fencing:
            return None
        if not request.key:
            return Answer(status=EUA)
        ledger = self.ledgers.setdefault(request.ledger_id, StoredLedger(request.key))
        if ledger.key != request.key:
            return Answer(status=EUA)
        ledger.fenced = True
        return None

    def _batch_read(self, request: ClientRequest) -> Answer:
        if not self.serves_batch_read or (request.message is not None and not request.message.HasField(_BATCH_PART)):
            return REFUSED
        first = self._read(attrs.evolve(request, previous_lac=None))
        if first.status != EOK:
            return attrs.evolve(first, entry_id=request.entry_id)
        ledger = self.ledgers[request.ledger_id]
        entries = [first.body or b""]
        budget = min(request.max_size, self.batch_size_max)
        used = BATCH_OVERHEAD + RECORD_OVERHEAD + len(entries[0])
        while request.max_count <= 0 or len(entries) < request.max_count:
            following = ledger.entries.get(request.entry_id + len(entries))
            if following is None or used + RECORD_OVERHEAD + len(following) > budget:
                break
            used += RECORD_OVERHEAD + len(following)
            entries.append(following)
        return Answer(entries=tuple(entries), max_lac=first.max_lac)

    def _write_lac(self, request: ClientRequest) -> Answer:
        try:
            ledger_id, _ = explicit_lac_of(request.body)
        except Malformed:
            return Answer(status=EBADREQ)
        ledger = self.ledgers.setdefault(ledger_id, StoredLedger(request.key or b""))
        if ledger.key != request.key:
            return Answer(status=EUA)
        ledger.explicit_lac = request.body
        return Answer()

    def _read_lac(self, request: ClientRequest) -> Answer:
        ledger = self.ledgers.get(request.ledger_id)
        if ledger is None or (not ledger.entries and ledger.explicit_lac is None):
            return Answer(status=ENOENTRY)
        if not ledger.entries:
            return Answer(status=EIO, lac_body=ledger.explicit_lac)
        return Answer(lac_body=ledger.explicit_lac, last_entry_body=ledger.entries[max(ledger.entries)])

    def _list(self, request: ClientRequest) -> Answer:
        ledger = self.ledgers.get(request.ledger_id)
        return Answer(status=ENOLEDGER) if ledger is None else Answer(entry_list=encode_entry_list(ledger.entries))

    def _info(self, request: ClientRequest) -> Answer:
        total = TOTAL_BYTES if request.requested & v3.BookieInfo.TOTAL_DISK_CAPACITY else None
        free = FREE_BYTES if request.requested & v3.BookieInfo.FREE_DISK_SPACE else None
        return Answer(total_bytes=total, free_bytes=free)

    def _nothing(self, request: ClientRequest) -> Answer:
        return Answer()

    def _no_tls(self, request: ClientRequest) -> Answer:
        return Answer(status=EIO, part=False)


_BATCH_PART = "batch_read_request"

_OPERATIONS = {
    names.ADD: EntryStore._add,
    names.READ: EntryStore._read,
    names.BATCH_READ: EntryStore._batch_read,
    names.WRITE_LAC: EntryStore._write_lac,
    names.READ_LAC: EntryStore._read_lac,
    names.LIST: EntryStore._list,
    names.INFO: EntryStore._info,
    names.FORCE: EntryStore._nothing,
    names.AUTH: EntryStore._nothing,
    names.START_TLS: EntryStore._no_tls,
}


def encode_entry_list(ids: dict[int, bytes]) -> bytes:
    """The list of entries, a group for each run of consecutive ids, as Java writes it."""
    groups = []
    for _, run in groupby(enumerate(sorted(ids)), key=lambda numbered: numbered[1] - numbered[0]):
        members = [entry_id for _, entry_id in run]
        groups.append(
            {
                "first_sequence_start": members[0],
                "last_sequence_start": members[0],
                "sequence_size": len(members),
                "sequence_period": 0,
            }
        )
    header = {"version": entry_list.VERSION, "group_count": len(groups), "reserved": bytes(entry_list.RESERVED_SIZE)}
    return bytes(entry_list.ENTRY_LIST.build({**header, "groups": groups}))
