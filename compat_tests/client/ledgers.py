"""Ledgers that the suite itself writes: their records in the metadata, their entries on scripted bookies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from compat_tests.client.entry_store import StoredLedger
from compat_tests.client.records import CLOSED, LedgerRecord
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.sealing import Seal, master_key
from protocol_specs import fields


@attrs.frozen
class StagedLedger:
    """A ledger as an honest writer would have left it."""

    ledger_id: int
    seal: Seal
    payloads: tuple[bytes, ...]
    entries: tuple[bytes, ...]
    """Sealed, by id."""
    fragments: Mapping[int, tuple[ScriptedBookie, ...]]
    write: int

    @property
    def key(self) -> bytes:
        """The master key."""
        return master_key(self.seal.password)

    @property
    def last_entry(self) -> int:
        """The id of the last entry; -1 if there is none."""
        return len(self.entries) - 1

    @property
    def length(self) -> int:
        """Payload bytes."""
        return sum(map(len, self.payloads))

    def ensemble_of(self, entry_id: int) -> tuple[ScriptedBookie, ...]:
        """The bookies of the fragment that an entry is in."""
        return self.fragments[max(first for first in self.fragments if first <= max(entry_id, 0))]

    def write_set(self, entry_id: int) -> list[ScriptedBookie]:
        """The bookies that should have an entry, in the order of their places."""
        ensemble = self.ensemble_of(entry_id)
        return [ensemble[(entry_id + place) % len(ensemble)] for place in range(self.write)]

    def store(self, entry_id: int, entry: bytes | None = None, *bookies: ScriptedBookie) -> None:
        """Give an entry to its write set, or to these bookies; ``entry`` is for other bytes than the honest ones."""
        for bookie in bookies or self.write_set(entry_id):
            self.ledger_on(bookie).entries[entry_id] = self.entries[entry_id] if entry is None else entry

    def ledger_on(self, bookie: ScriptedBookie) -> StoredLedger:
        """The ledger as one bookie has it; made if the bookie does not know it."""
        with bookie.lock:
            return bookie.store.ledgers.setdefault(self.ledger_id, StoredLedger(self.key))

    def forget(self, entry_id: int, *bookies: ScriptedBookie) -> None:
        """Take an entry away from its write set, or from these bookies."""
        for bookie in bookies or self.write_set(entry_id):
            self.ledger_on(bookie).entries.pop(entry_id, None)

    def next_entries(self, *payloads: bytes, lag: int = 1) -> list[bytes]:
        """Entries after the last one, as the writer would have sealed them; no bookie has them yet."""
        return self.seal.run(self.ledger_id, payloads, len(self.entries), lag, self.length)


def stage_ledger(
    ledger_id: int,
    fragments: Mapping[int, Sequence[ScriptedBookie]],
    payloads: Sequence[bytes],
    seal: Seal,
    write: int,
    lag: int = 1,
) -> StagedLedger:
    """Seal the payloads and give them to the bookies of their write sets."""
    entries = tuple(seal.run(ledger_id, payloads, lag=lag))
    placed = {first: tuple(ensemble) for first, ensemble in fragments.items()}
    ledger = StagedLedger(ledger_id, seal, tuple(payloads), entries, placed, write)
    for entry_id in range(len(entries)):
        ledger.store(entry_id)
    return ledger


def record_of(ledger: StagedLedger, ack: int, state: str, **changes: object) -> LedgerRecord:
    """The record of a staged ledger; ``changes`` are further fields of it."""
    closed = state == CLOSED
    ensembles = {first: tuple(each.bookie_id for each in bookies) for first, bookies in ledger.fragments.items()}
    record = LedgerRecord(
        ensemble=len(next(iter(ensembles.values()))),
        write=ledger.write,
        ack=ack,
        fragments=ensembles,
        state=state,
        last_entry=ledger.last_entry if closed else fields.NO_ENTRY,
        length=ledger.length if closed else 0,
        digest=ledger.seal.digest,
        password=ledger.seal.password,
    )
    return attrs.evolve(record, **changes)  # type: ignore[arg-type]
