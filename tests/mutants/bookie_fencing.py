"""Defects of a bookie: who may add, and what outlives a crash or a stop."""

from bisect import bisect_right
from typing import Any

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.journal import records
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.operations.add_entry import AddEntry
from bookkeeper_tx.bookie.operations.batch_read import BatchRead
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.last_add_confirmed import WriteLac
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.operations.read_entry import ReadEntry
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.ledger_table import LedgerTable
from bookkeeper_tx.bookie.storage.write_cache import LedgerRuns
from bookkeeper_tx.protocol.bookie import v2, v3, v3_read_entry
from protocol_specs.wire import status
from tests.mutants.mutant import BOOKIE, Defects, instead_of

DEFECTS = Defects(BOOKIE)
defect = DEFECTS.defect


def _unjournaled(record: str) -> None:
    """Leave a kind of record out of the journal, and report it as written."""

    class Dropped(bytes):
        pass

    @instead_of(records, record)
    def dropped(original: Any, *arguments: Any) -> bytes:
        return Dropped(original(*arguments))

    @instead_of(Journal, "append")
    def append(original: Any, self: Any, records: Any, done: Any) -> None:
        kept = [each for each in records if not isinstance(each, Dropped)]
        if kept:
            original(self, kept, done)
        else:
            done(None)


@defect("BKW-CRASH-007", "CRASH", "FENCE", "STATE")
def a_fence_is_lost_in_a_crash() -> None:
    """The fence of a known ledger is not journaled: it holds until the bookie is killed."""
    _unjournaled("fence_record")


@defect("FENCE", "CRASH", "STATE")
def a_fence_is_lost_by_a_clean_stop() -> None:
    """The fence is in the journal, but not in the index header, which is all that a clean stop leaves."""
    header = Ledger.header

    def unfenced(self: Ledger) -> Any:
        fenced, self.fenced = self.fenced, False
        try:
            return header(self)
        finally:
            self.fenced = fenced

    Ledger.header = unfenced  # type: ignore[method-assign]


@defect("BKW-CRASH-012", "FENCE", "CRASH")
def the_fence_of_an_unknown_ledger_is_lost_in_a_crash() -> None:
    """The fence of a ledger that was unknown is journaled without the key before it; replay skips it (D14)."""

    @instead_of(Fencing, "fence")
    def fence(original: Any, self: Any, ledger_id: int, master_key: Any, connection: Any, then: Any) -> None:
        keys = self._keys

        class Keyless:
            def open(self, *arguments: Any) -> Any:
                return keys.open(*arguments)[0], []

            recorded = keys.recorded

        self._keys = Keyless()
        try:
            original(self, ledger_id, master_key, connection, then)
        finally:
            self._keys = keys


@defect("FENCE", "BATCH", "STATE")
def a_fencing_batch_read_does_not_fence() -> None:
    """A batch read with the fencing flag reads, and fences nothing."""

    @instead_of(BatchRead, "serve")
    def serve(original: Any, self: Any, request: Any, connection: Any) -> None:
        if request.fencing and request.master_key is not None:
            self._read(request, connection, status.EOK)
        else:
            original(self, request, connection)


@defect("FENCE", "READ", "STATE")
def a_fencing_read_with_high_priority_does_not_fence() -> None:
    """A single fencing read that finds an entry is served as a plain one."""

    @instead_of(ReadEntry, "serve")
    def serve(original: Any, self: Any, request: Any, connection: Any) -> None:
        ledger = self._storage.ledger(request.ledger_id)
        if request.fencing and ledger is not None and ledger.master_key == request.master_key:
            self._read(request, connection, status.EOK)
        else:
            original(self, request, connection)


@defect("FENCE", "STATE", "READ")
def a_fencing_read_leaves_an_unknown_ledger_unknown() -> None:
    """A fencing read of a ledger that the bookie does not know makes nothing, and answers "no such ledger"."""

    @instead_of(Fencing, "fence")
    def fence(original: Any, self: Any, ledger_id: int, master_key: Any, connection: Any, then: Any) -> None:
        if master_key is not None and self._storage.ledger(ledger_id) is None:
            then(status.ENOLEDGER)
        else:
            original(self, ledger_id, master_key, connection, then)


@defect("ADD", "STATE", "FENCE")
def recovery_adds_are_refused_when_fenced() -> None:
    """The recovery flag of an add is not looked at."""
    for kind in (v2.AddRequests, v3.AddRequests):

        @instead_of(kind, "__init__")
        def init(original: Any, self: Any, *arguments: Any) -> None:
            original(self, *arguments)
            self.recovery = False


@defect("ADD", "STATE", "FENCE")
def high_priority_passes_a_fence() -> None:
    """An add with high priority counts as one of recovery, so the old writer gets past the fence."""

    @instead_of(AddEntry, "_add")
    def add(original: Any, self: Any, request: Any, connection: Any) -> Any:
        request.recovery = request.recovery or request.high_priority
        return original(self, request, connection)


@defect("ADD", "STATE")
def a_read_only_bookie_ignores_high_priority() -> None:
    """A read-only bookie refuses every add, those of recovery and re-replication included."""
    Availability.refuses_add = lambda self, high_priority: self.read_only  # type: ignore[method-assign]


@defect("LAC", "STATE")
def a_read_only_bookie_takes_write_lac() -> None:
    """WRITE_LAC is carried out by a read-only bookie."""

    @instead_of(WriteLac, "_write")
    def write(original: Any, self: Any, request: Any, connection: Any) -> Any:
        availability, self._availability = self._availability, Availability()
        try:
            return original(self, request, connection)
        finally:
            self._availability = availability


@defect("STATE", "ADD", "READ", "FENCE")
def the_key_is_not_compared() -> None:
    """A wrong key opens a ledger as the right one does."""

    @instead_of(LedgerStorage, "open_for")
    def open_for(original: Any, self: Any, ledger_id: int, master_key: bytes) -> Any:
        ledger = self._ledgers.find(ledger_id)
        return original(self, ledger_id, master_key if ledger is None else ledger.master_key)


@defect("CRASH", "ADD")
def the_key_is_forgotten_by_a_clean_stop() -> None:
    """The first key that is offered after a restart is taken for the ledger's (S3)."""

    @instead_of(LedgerTable, "_load")
    def load(original: Any, self: Any, *arguments: Any) -> Ledger:
        ledger: Ledger = original(self, *arguments)
        ledger.master_key = b"forgotten"
        return ledger

    @instead_of(LedgerStorage, "open_for")
    def open_for(original: Any, self: Any, ledger_id: int, master_key: bytes) -> Any:
        ledger = self._ledgers.find(ledger_id)
        if ledger is not None and ledger.master_key == b"forgotten":
            ledger.master_key = master_key
        return original(self, ledger_id, master_key)


@defect("READ", "STATE")
def a_plain_read_wants_the_key() -> None:
    """A plain read that brings a wrong key is refused, though reads need none."""

    @instead_of(v3_read_entry.ReadRequests, "__init__")
    def keep_the_key(original: Any, self: Any, message: Any) -> None:
        original(self, message)
        if message.read_request.HasField("master_key"):
            self.master_key = message.read_request.master_key

    @instead_of(ReadEntry, "serve")
    def serve(original: Any, self: Any, request: Any, connection: Any) -> None:
        ledger = self._storage.ledger(request.ledger_id)
        if ledger is not None and request.master_key not in (None, ledger.master_key):
            replies = request.replies([status.EUA] * len(request.entry_ids), -1)
            connection.reply(request, status.EUA, replies)
        else:
            original(self, request, connection)


@defect("CRASH", "ADD", "FORCE")
def adds_are_acknowledged_without_the_journal() -> None:
    """Nothing is written to the journal before the answer, so a crash loses what was acknowledged."""

    @instead_of(Journal, "append")
    def append(original: Any, self: Any, records: Any, done: Any) -> None:
        done(None)


@defect("ADD", "STATE", "READ")
def an_acknowledged_add_is_not_stored() -> None:
    """An add is acknowledged and journaled, but reads do not find it."""

    @instead_of(LedgerStorage, "add")
    def add(original: Any, self: Any, ledger: Any, run: Any) -> Any:
        return [run.buffer]


@defect("ADD", "STATE")
def the_last_copy_of_an_entry_stays() -> None:
    """An entry that is added again takes the place of the first copy."""

    LedgerStorage._is_stored = lambda self, *arguments: False  # type: ignore[method-assign]

    @instead_of(LedgerRuns, "_add")
    def add(original: Any, self: Any, first: int, last: int, held: Any) -> None:
        if first > self.last_entry_id:
            original(self, first, last, held)
        else:
            at = bisect_right(self.firsts, first)
            self.firsts.insert(at, first)
            self.held.insert(at, held)


@defect("ADD", "STATE")
def a_refused_add_is_stored() -> None:
    """An add to a fenced ledger is answered EFENCED, and stored all the same."""

    @instead_of(AddEntry, "_add")
    def add(original: Any, self: Any, request: Any, connection: Any) -> Any:
        answer = original(self, request, connection)
        if answer is status.EFENCED:
            self._storage.add(self._storage.ledger(request.entries.ledger_id), request.entries)
        return answer


@defect("FORCE", "STATE")
def force_makes_an_unknown_ledger() -> None:
    """FORCE_LEDGER of an unknown ledger makes it, so reads say "no such entry" afterwards."""
    from bookkeeper_tx.bookie.operations.dispatch import Dispatch

    @instead_of(Dispatch, "serve")
    def serve(original: Any, self: Any, request: Any, connection: Any) -> None:
        if isinstance(request, v3.ForceLedgerRequest) and self._storage.ledger(request.ledger_id) is None:
            self._storage.open_for(request.ledger_id, bytes(20))
        original(self, request, connection)


@defect("CRASH", "LAC")
def the_explicit_lac_is_lost_in_a_crash() -> None:
    """The body of a WRITE_LAC is not journaled."""
    _unjournaled("explicit_lac_record")


@defect("CRASH", "ADD")
def no_key_record_is_journaled() -> None:
    """The key of a new ledger is not journaled: replay takes its entries for those of a deleted ledger."""

    @instead_of(LedgerKeys, "open")
    def open_(original: Any, self: Any, ledger_id: int, master_key: bytes) -> Any:
        return original(self, ledger_id, master_key)[0], []
