"""Defects that were made once, here or elsewhere, put back to see whether the simulation notices."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import PropertyMock, patch

from attrs import frozen

from bookkeeper_tx.bookie import sync_thread
from bookkeeper_tx.bookie.journal import writer
from bookkeeper_tx.bookie.operations import fencing
from bookkeeper_tx.bookie.storage import entry_log
from bookkeeper_tx.client import add_entry, recovery, write_handle
from bookkeeper_tx.errors import NoSuchEntry
from bookkeeper_tx.model import Fragment
from bookkeeper_tx.quorums.quorum import Quorum
from tests.simulation.world import machine
from tests.simulation.world.simulation import Outcome, Simulation

Patch = tuple[Any, str, Any]


@frozen
class Planted:
    """One defect."""

    name: str
    text: str
    patches: tuple[Patch, ...]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Have the defect."""
        with ExitStack() as stack:
            for target, name, replacement in self.patches:
                stack.enter_context(patch.object(target, name, replacement))
            yield


def first_found(defect: Planted, seeds: Iterable[int]) -> Outcome | None:
    """Return what the first of the seeds that notices a defect came to; None if none does."""
    with defect.in_place():
        outcomes = (Simulation(seed).run() for seed in seeds)
        return next((outcome for outcome in outcomes if outcome.violation is not None), None)


def around(function: Any, call: Callable[..., Any]) -> Any:
    """Return ``function`` replaced by ``call(function, *its arguments)``."""

    @wraps(function)
    def replaced(*arguments: Any, **named: Any) -> Any:
        return call(function, *arguments, **named)

    return replaced


# Recovery ------------------------------------------------------------------------------------------------------------


def _rules(**rules: bool) -> Patch:
    # The rules are the default of the last argument.
    return recovery.Recovery.__init__, "__defaults__", (recovery.RecoveryRules(**rules),)


def _any_error_is_absence(replied: Any, read: Any, bookie_id: str, error: Any, entry: Any) -> None:
    replied(read, bookie_id, NoSuchEntry() if error is not None else None, entry)


async def _nothing_written_back(write_back: Any, self: Any, fragment: Fragment, floor: int, adds: Any) -> int:
    def push(entry_id: int, entry: bytes, length: int, deferred: Any, result: Any) -> None:
        adds.last_add_confirmed, adds.length = entry_id, length

    with patch.object(adds, "push", push):
        last: int = await write_back(self, fragment, floor, adds)
    return last


# Ensemble change -----------------------------------------------------------------------------------------------------


def _goes_on_while_it_changes(complete: Any, adds: Any) -> None:
    changing, adds._changing = adds._changing, False
    try:
        complete(adds)
    finally:
        adds._changing = changing


async def _a_fragment_too_late(
    change: Any, context: Any, ledger_id: int, versioned: Any, broken: Any, first: int, *arguments: Any
) -> Any:
    return await change(context, ledger_id, versioned, broken, first + 1, *arguments)


def _counts_replaced(replied: Any, adds: Any, add: Any, slot: Any, error: Any, value: Any) -> None:
    before, slot.replaced = slot.replaced, False
    try:
        replied(adds, add, slot, error, value)
    finally:
        slot.replaced = before


def _one_acknowledgement(
    make: Any, add: Any, entry_id: int, entry: bytes, length: int, missing: int, *rest: Any
) -> None:
    make(add, entry_id, entry, length, 1, *rest)


# Journal, mark and storage -------------------------------------------------------------------------------------------


def _mark_of_the_end(checkpoint: Any, thread: Any) -> Any:
    """The mark is sampled after the flush: what was journaled meanwhile is not flushed."""
    flush = thread._storage.flush

    def late(sample: Any) -> Any:
        return flush(sample).addCallback(lambda _: sample())

    with patch.object(thread._storage, "flush", late):
        return checkpoint(thread)


def _fence_not_journaled(fence: Any, self: Any, ledger_id: int, key: bytes, connection: Any, then: Any) -> None:
    ledger, _ = self._keys.open(ledger_id, key)
    self._storage.fence(ledger)
    then(fencing.statuses.EOK)


DEFECTS = {
    each.name: each
    for each in (
        Planted(
            "recovery-reads-do-not-fence",
            "Only the reads of the last entry fence, not those of recovery (BK#2614)",
            (_rules(reads_fence=False),),
        ),
        Planted(
            "recovery-below-the-last-fragment",
            "Recovery reads below the last fragment when its bookies know no entry (BK#2615)",
            (_rules(floor_at_last_fragment=False),),
        ),
        Planted(
            "any-error-is-absence",
            "Recovery takes any error for the absence of an entry (BK#2908)",
            ((recovery.RecoveryRead, "_replied", around(recovery.RecoveryRead._replied, _any_error_is_absence)),),
        ),
        Planted(
            "one-absence-is-enough",
            "One bookie without an entry is enough to end a ledger",
            ((Quorum, "absence_size", PropertyMock(return_value=1)),),
        ),
        Planted(
            "nothing-written-back",
            "Recovery does not write entries back to their write sets",
            ((recovery.Recovery, "_write_back", around(recovery.Recovery._write_back, _nothing_written_back)),),
        ),
        Planted(
            "confirms-while-the-ensemble-changes",
            "The last add confirmed moves while the ensemble changes",
            ((add_entry.Adds, "_complete", around(add_entry.Adds._complete, _goes_on_while_it_changes)),),
        ),
        Planted(
            "a-fragment-too-late",
            "A new fragment starts one entry too late",
            ((write_handle, "change_ensemble", around(write_handle.change_ensemble, _a_fragment_too_late)),),
        ),
        Planted(
            "not-sent-again",
            "Pending entries are not sent to a bookie that takes the place of another",
            ((add_entry.Adds, "_send_again", lambda adds, changed: None),),
        ),
        Planted(
            "replaced-bookies-count",
            "Replies of a bookie that was replaced count as those of the new one",
            ((add_entry.Adds, "_replied", around(add_entry.Adds._replied, _counts_replaced)),),
        ),
        Planted(
            "one-acknowledgement-is-enough",
            "An entry is acknowledged when one bookie has it",
            (
                (
                    add_entry.PendingAdd,
                    "__init__",
                    around(add_entry.PendingAdd.__init__, _one_acknowledgement),
                ),
                (
                    add_entry.PendingRun,
                    "__init__",
                    around(add_entry.PendingRun.__init__, _one_acknowledgement),
                ),
            ),
        ),
        Planted(
            "acknowledged-before-the-sync",
            "The journal acknowledges what it has not synced",
            ((writer.JournalWriter, "_sync", lambda self, file: None),),
        ),
        Planted(
            "mark-after-the-flush",
            "The mark is that of the end of a flush, not of its beginning",
            (
                (
                    sync_thread.SyncThread,
                    "_checkpoint",
                    around(sync_thread.SyncThread._checkpoint, _mark_of_the_end),
                ),
            ),
        ),
        Planted(
            "wall-clock-timers",
            "Timers hang on the time of day, as Twisted's own do",
            ((machine.Reactor, "seconds", lambda reactor: reactor._machine.clock),),
        ),
        Planted(
            "fence-not-journaled",
            "A fence is answered before it is durable",
            ((fencing.Fencing, "_fence", around(fencing.Fencing._fence, _fence_not_journaled)),),
        ),
        Planted(
            "entry-log-not-synced",
            "The mark moves on though the entry logs are not synced",
            ((entry_log.EntryLogWriter, "_sync", lambda self, *_: None),),
        ),
    )
}
