"""What a scripted bookie keeps, in memory, and how it answers when nobody tells it otherwise."""

from __future__ import annotations

from itertools import groupby

import attrs

from compat_tests.client import client_requests as names
from compat_tests.client.answers import REFUSED, Answer
from compat_tests.client.client_requests import Asked
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
    """What one bookie has of one ledger."""

    key: bytes
    fenced: bool = False
    entries: dict[int, bytes] = attrs.field(factory=dict)
    explicit_lac: bytes | None = None

    @property
    def last_add_confirmed(self) -> int:
        """The highest that the entries and the explicit one tell; bytes that are no entry tell nothing."""
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
class Stored:
    """All ledgers of one bookie.  Not thread-safe: the bookie has the lock."""

    ledgers: dict[int, StoredLedger] = attrs.field(factory=dict)
    serves_batch_read: bool = True
    read_only: bool = False
    batch_size_max: int = fields.FRAME_SIZE_MAX

    def answer(self, asked: Asked) -> Answer:
        """Carry out a request as the reference says, and give the reply to it."""
        spoken = asked.version == v3.VERSION if asked.dialect != V2 else asked.version <= framing.VERSION_MAX
        if not spoken and asked.operation not in (names.AUTH, names.START_TLS):
            return Answer(status=EBADVERSION)
        operation = _OPERATIONS.get(asked.operation)
        return REFUSED if operation is None else operation(self, asked)

    def waits(self, asked: Asked) -> bool:
        """Whether a long poll has nothing to tell yet."""
        if asked.previous_lac is None or asked.fencing or asked.timeout_ms <= 0:
            return False
        ledger = self.ledgers.get(asked.ledger_id)
        return ledger is not None and not ledger.fenced and ledger.last_add_confirmed <= asked.previous_lac

    def _add(self, asked: Asked) -> Answer:
        if self.read_only and not (asked.recovery or asked.high_priority):
            return Answer(status=EREADONLY)
        if len(asked.body) < fields.ENTRY_SIZE_MIN or asked.ledger_id < 0 or asked.entry_id < 0:
            return Answer(status=EBADREQ)
        ledger = self.ledgers.setdefault(asked.ledger_id, StoredLedger(asked.key or b""))
        if ledger.key != asked.key:
            return Answer(status=EUA)
        if ledger.fenced and not asked.recovery:
            return Answer(status=EFENCED)
        ledger.entries.setdefault(asked.entry_id, asked.body)
        return Answer()

    def _read(self, asked: Asked) -> Answer:
        if asked.entry_id < fields.LAST_ENTRY:
            return Answer(status=EBADREQ)
        if asked.previous_lac is not None and asked.piggyback:
            return self._piggyback(asked)
        refused = self._fence(asked)
        if refused is not None:
            return refused
        ledger = self.ledgers.get(asked.ledger_id)
        if ledger is None:
            return Answer(status=ENOLEDGER)
        entry_id = asked.entry_id
        if entry_id == fields.LAST_ENTRY and ledger.entries:
            entry_id = max(ledger.entries)
        if entry_id not in ledger.entries:
            return Answer(status=ENOENTRY)
        max_lac = None if asked.fencing else ledger.last_add_confirmed
        return Answer(body=ledger.entries[entry_id], max_lac=max_lac)

    def _piggyback(self, asked: Asked) -> Answer:
        ledger = self.ledgers.get(asked.ledger_id)
        if ledger is None:
            return Answer(status=ENOLEDGER)
        if not ledger.entries:
            return Answer(status=ENOENTRY)
        known = ledger.last_add_confirmed
        wanted = (asked.previous_lac or 0) + 1
        if known >= wanted and wanted in ledger.entries:
            return Answer(entry_id=wanted, body=ledger.entries[wanted], max_lac=known)
        return Answer(entry_id=fields.LAST_ENTRY, max_lac=known)

    def _fence(self, asked: Asked) -> Answer | None:
        if not asked.fencing:
            return None
        if not asked.key:
            return Answer(status=EUA)
        ledger = self.ledgers.setdefault(asked.ledger_id, StoredLedger(asked.key))
        if ledger.key != asked.key:
            return Answer(status=EUA)
        ledger.fenced = True
        return None

    def _batch_read(self, asked: Asked) -> Answer:
        if not self.serves_batch_read or (asked.message is not None and not asked.message.HasField(_BATCH_PART)):
            return REFUSED
        first = self._read(attrs.evolve(asked, previous_lac=None))
        if first.status != EOK:
            return attrs.evolve(first, entry_id=asked.entry_id)
        ledger = self.ledgers[asked.ledger_id]
        entries = [first.body or b""]
        budget = min(asked.max_size, self.batch_size_max)
        used = BATCH_OVERHEAD + RECORD_OVERHEAD + len(entries[0])
        while asked.max_count <= 0 or len(entries) < asked.max_count:
            following = ledger.entries.get(asked.entry_id + len(entries))
            if following is None or used + RECORD_OVERHEAD + len(following) > budget:
                break
            used += RECORD_OVERHEAD + len(following)
            entries.append(following)
        return Answer(entries=tuple(entries), max_lac=first.max_lac)

    def _write_lac(self, asked: Asked) -> Answer:
        try:
            ledger_id, _ = explicit_lac_of(asked.body)
        except Malformed:
            return Answer(status=EBADREQ)
        ledger = self.ledgers.setdefault(ledger_id, StoredLedger(asked.key or b""))
        if ledger.key != asked.key:
            return Answer(status=EUA)
        ledger.explicit_lac = asked.body
        return Answer()

    def _read_lac(self, asked: Asked) -> Answer:
        ledger = self.ledgers.get(asked.ledger_id)
        if ledger is None or (not ledger.entries and ledger.explicit_lac is None):
            return Answer(status=ENOENTRY)
        if not ledger.entries:
            return Answer(status=EIO, lac_body=ledger.explicit_lac)
        return Answer(lac_body=ledger.explicit_lac, last_entry_body=ledger.entries[max(ledger.entries)])

    def _list(self, asked: Asked) -> Answer:
        ledger = self.ledgers.get(asked.ledger_id)
        return Answer(status=ENOLEDGER) if ledger is None else Answer(entry_list=listed(ledger.entries))

    def _info(self, asked: Asked) -> Answer:
        total = TOTAL_BYTES if asked.requested & v3.BookieInfo.TOTAL_DISK_CAPACITY else None
        free = FREE_BYTES if asked.requested & v3.BookieInfo.FREE_DISK_SPACE else None
        return Answer(total_bytes=total, free_bytes=free)

    def _nothing(self, asked: Asked) -> Answer:
        return Answer()

    def _no_tls(self, asked: Asked) -> Answer:
        return Answer(status=EIO, part=False)


_BATCH_PART = "batch_read_request"

_OPERATIONS = {
    names.ADD: Stored._add,
    names.READ: Stored._read,
    names.BATCH_READ: Stored._batch_read,
    names.WRITE_LAC: Stored._write_lac,
    names.READ_LAC: Stored._read_lac,
    names.LIST: Stored._list,
    names.INFO: Stored._info,
    names.FORCE: Stored._nothing,
    names.AUTH: Stored._nothing,
    names.START_TLS: Stored._no_tls,
}


def listed(ids: dict[int, bytes]) -> bytes:
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
