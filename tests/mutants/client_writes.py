"""Defects of a client: what it writes, acknowledges and recovers."""

from itertools import accumulate
from typing import Any

from attrs import evolve

from bookkeeper_tx.client import ensemble_change, ledger_writer, writers_metadata
from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.last_add_confirmed import LastEntriesRead
from bookkeeper_tx.client.recovery import Recovery, RecoveryRead
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, LedgerFenced, NoSuchEntry
from bookkeeper_tx.model import LedgerMetadata
from bookkeeper_tx.protocol.client.v2_bulk_adds import AddRun
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs.wire.operations import Flag
from tests.mutants.mutant import CLIENT, Defects, instead_of

DEFECTS = Defects(CLIENT)
defect = DEFECTS.defect


def _seals(change: Any) -> None:
    """Change the metadata of entries; ``change`` maps last add confirmed, length and payload size to the first two."""

    @instead_of(EntryDigest, "seal")
    def seal(original: Any, self: Any, ledger_id: int, entry_id: int, last: int, length: int, payload: bytes) -> bytes:
        sealed: bytes = original(self, ledger_id, entry_id, *change(last, length, len(payload)), payload)
        return sealed

    @instead_of(EntryDigest, "seal_run")
    def seal_run(_: Any, self: Any, ledger_id: int, first: int, last: int, length: int, payloads: Any) -> list[bytes]:
        ends = accumulate(map(len, payloads), initial=length)
        return [
            self.seal(ledger_id, entry_id, last, end, payload)
            for entry_id, (payload, end) in enumerate(zip(payloads, [*ends][1:], strict=True), first)
        ]


@defect("CWRITE")
def entries_tell_a_last_add_confirmed_too_high() -> None:
    """The last add confirmed in an entry is one more than what is acknowledged."""
    _seals(lambda last, length, size: (last + 1, length))


@defect("CWRITE")
def entries_tell_the_length_of_their_payload() -> None:
    """The length in an entry is that of its payload, instead of that of the ledger up to it."""
    _seals(lambda last, length, size: (last, size))


@defect("CWRITE")
def an_append_is_acknowledged_too_early() -> None:
    """An append is complete with one acknowledgement fewer than the ack quorum."""

    @instead_of(Adds, "__init__")
    def init(original: Any, self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        self._ack_quorum_size = max(1, self._ack_quorum_size - 1)


@defect("CWRITE")
def appends_complete_out_of_order() -> None:
    """An append is complete with its own ack quorum, though one before it is not."""

    @instead_of(Adds, "_replied")
    def replied(original: Any, self: Any, add: Any, slot: Any, error: Any, _: Any) -> None:
        original(self, add, slot, error, _)
        if error is None and add.missing == 0 and add in self.pending and add.deferred is not None:
            deferred, add.deferred = add.deferred, None
            deferred.callback(add.result)

    @instead_of(AddRun, "take")
    def take(original: Any, self: Any, start: int, stop: int) -> Any:
        taken = original(self, start, stop)
        self.next = max(self.next, min(stop, self.last + 1))
        return taken


@defect("CENS", "CWRITE")
def entries_go_to_the_wrong_bookies() -> None:
    """The write set of an entry starts one bookie too late, so readers by the rules look in the wrong places."""

    @instead_of(Quorum, "__init__")
    def init(original: Any, self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        self.write_sets = (*self.write_sets[1:], self.write_sets[0])


@defect("CENS")
def a_replaced_bookie_still_counts() -> None:
    """Late acknowledgements of a replaced bookie count for the new fragment, which it is not in."""

    @instead_of(Adds, "_replied")
    def replied(original: Any, self: Any, add: Any, slot: Any, error: Any, _: Any) -> None:
        replaced, slot.replaced = slot.replaced, False
        original(self, add, slot, error, _)
        slot.replaced = replaced


@defect("CENS")
def a_new_fragment_starts_too_late() -> None:
    """The new fragment of an ensemble change starts one entry too late."""

    @instead_of(ledger_writer, "change_ensemble")
    async def change(
        original: Any, context: Any, ledger_id: int, versioned: Any, broken: Any, first: int, avoided: Any
    ) -> Any:
        return await original(context, ledger_id, versioned, broken, first + 1, avoided)


@defect("CENS", "CREC")
def an_ensemble_change_overwrites_the_metadata() -> None:
    """The metadata are written whatever version they have, so a recovery that has begun is undone."""

    @instead_of(ensemble_change, "_write")
    async def write(original: Any, context: Any, ledger_id: int, metadata: Any, version: int) -> Any:
        found = await context.store.read_ledger(ledger_id)
        return await original(context, ledger_id, metadata, found.version)


@defect("CENS")
def an_ensemble_change_is_not_written_down() -> None:
    """A failed bookie is replaced without telling the metadata store."""

    @instead_of(ensemble_change, "_write")
    async def write(original: Any, context: Any, ledger_id: int, metadata: Any, version: int) -> Any:
        found = await context.store.read_ledger(ledger_id)
        return evolve(found, metadata=metadata)


@defect("CENS", "CWRITE")
def pending_entries_are_not_sent_again() -> None:
    """After an ensemble change the new bookies are not sent what was pending, and it is acknowledged all the same."""

    @instead_of(Adds, "_adopt")
    def adopt(original: Any, self: Any, ensemble: Any) -> None:
        pending = list(self.pending)
        self.pending.clear()
        original(self, ensemble)
        for add in pending:
            add.missing = 0
        self.pending.extend(pending)


@defect("CWRITE", "CREC")
def efenced_is_taken_for_a_failed_bookie() -> None:
    """A writer that receives EFENCED replaces the bookie and goes on."""

    @instead_of(Adds, "_failed")
    def failed(original: Any, self: Any, add: Any, slot: Any, error: Any) -> None:
        original(self, add, slot, BookieUnavailable("fenced") if isinstance(error, LedgerFenced) else error)


@defect("CWRITE", "CREC", "CENS")
def a_writer_closes_a_ledger_that_is_recovered() -> None:
    """A writer that finds its ledger IN_RECOVERY closes it all the same."""
    writers_metadata.require_open = lambda ledger_id, metadata: None  # type: ignore[assignment]


@defect("CWRITE", "CREC")
def a_ledger_is_closed_at_a_wrong_length() -> None:
    """The length in the metadata of a closed ledger is one byte more than there is."""

    @instead_of(LedgerMetadata, "with_close")
    def with_close(original: Any, self: Any, last_entry_id: int, length: int) -> Any:
        return original(self, last_entry_id, length + 1)


@defect("CREC")
def recovery_does_not_fence() -> None:
    """Recovery asks for the last entries with plain reads, and reads on with plain ones."""

    @instead_of(LastEntriesRead, "__init__")
    def init(original: Any, self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        self._fence = False

    _rules(reads_fence=False)


def _rules(**changes: bool) -> None:
    @instead_of(Recovery, "__init__")
    def init(original: Any, self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        self._rules = evolve(self._rules, **changes)


@defect("CREC")
def recovery_reads_do_not_fence() -> None:
    """Only the reads of the last entry fence, not those that recovery goes on with (BK#2614)."""
    _rules(reads_fence=False)


@defect("CREC")
def recovery_starts_before_the_last_fragment() -> None:
    """Recovery reads on from a last add confirmed below the last fragment (BK#2615)."""
    _rules(floor_at_last_fragment=False)


@defect("CREC")
def recovery_closes_at_the_last_add_confirmed() -> None:
    """Recovery does not look for entries after the last add confirmed, so acknowledged ones are cut off."""

    @instead_of(Recovery, "_write_back")
    async def write_back(original: Any, self: Any, fragment: Any, floor: int, adds: Any) -> int:
        return floor


@defect("CREC")
def an_error_counts_as_absence() -> None:
    """In recovery any error of a bookie counts as "no such entry" (BK#2908)."""

    @instead_of(RecoveryRead, "_replied")
    def replied(original: Any, self: Any, bookie_id: Any, error: Any, entry: Any) -> None:
        original(self, bookie_id, None if error is None else NoSuchEntry("an error"), entry)


@defect("CREC")
def one_absence_ends_recovery() -> None:
    """One bookie that lacks an entry is enough for recovery to close before it."""
    Quorum.absence_size = property(lambda self: 1)  # type: ignore[assignment]


@defect("CREC")
def recovery_does_not_write_back() -> None:
    """Recovery counts the entries that it finds, and does not write them back to their write sets."""

    @instead_of(Adds, "push")
    def push(original: Any, self: Any, entry_id: int, entry: bytes, length: int, *rest: Any) -> None:
        if self._flags & Flag.RECOVERY_ADD:
            self.last_add_confirmed, self.length = entry_id, length
        else:
            original(self, entry_id, entry, length, *rest)


@defect("CREC")
def recovery_adds_lack_their_flag() -> None:
    """Recovery writes back with plain adds, which a fenced bookie refuses."""

    @instead_of(Adds, "__init__")
    def init(original: Any, self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        self._flags = 0


@defect("CREC")
def recovery_does_not_mark_the_ledger() -> None:
    """Recovery does not set IN_RECOVERY first, so the writer may go on changing the ensemble."""

    @instead_of(Recovery, "_enter")
    async def enter(original: Any, self: Any) -> None:
        return None
