"""Defects of clients."""

from collections.abc import Callable
from typing import Any
from unittest.mock import PropertyMock, patch

from bookkeeper_tx.client import add_entry, recovery, tailing, write_handle
from bookkeeper_tx.client.append_queue import AppendQueue
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.errors import AuthenticationFailed, NoSuchEntry
from bookkeeper_tx.model import Fragment
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.transport import client_link
from bookkeeper_tx.transport.last_known_address import LastKnownAddress
from tests.simulation.defect import Patch, Planted, around
from tests.simulation.world import machine


def _rules(**rules: bool) -> Patch:
    def begin(make: Any, self: Any, context: Any, ledger_id: int, versioned: Any, digest: Any, _: Any) -> None:
        make(self, context, ledger_id, versioned, digest, recovery.RecoveryRules(**rules))

    return recovery.Recovery, "__init__", around(recovery.Recovery.__init__, begin)


def _any_error_is_absence(replied: Any, read: Any, bookie_id: str, error: Any, entry: Any) -> None:
    replied(read, bookie_id, NoSuchEntry() if error is not None else None, entry)


async def _nothing_written_back(write_back: Any, self: Any, fragment: Fragment, floor: int, adds: Any) -> int:
    def push(entry_id: int, entry: bytes, length: int, deferred: Any, result: Any) -> None:
        adds.last_add_confirmed, adds.length = entry_id, length

    with patch.object(adds, "push", push):
        last: int = await write_back(self, fragment, floor, adds)
    return last


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


def _of_clients(reactor: Any) -> float:
    machine = reactor._machine
    seconds: float = machine.clock if machine.address.startswith("10.0.1.") else machine.monotonic
    return seconds


async def _asks_the_store(address: Any) -> Any:
    return await address._ask()


def _gives_up_if_closed(
    after_failure: Any, view: Any, entry_id: int, tried: Any, again: Any, give_up: Callable[[], None]
) -> None:
    if view.closed:
        give_up()
    else:
        after_failure(view, entry_id, tried, again, give_up)


def _silence_is_no_reason(judge: Any, link: Any, now: float) -> None:
    link._unanswered_since = None
    judge(link, now)


DEFECTS = (
    Planted(
        "recovery-reads-do-not-fence",
        "the TLA+ model, BK#2614",
        "Only the reads of the last entry fence, not those of recovery",
        (_rules(reads_fence=False),),
    ),
    Planted(
        "recovery-below-the-last-fragment",
        "the TLA+ model, BK#2615",
        "Recovery reads below the last fragment when its bookies know no entry",
        (_rules(floor_at_last_fragment=False),),
    ),
    Planted(
        "any-error-is-absence",
        "BK#2908",
        "Recovery takes any error for the absence of an entry",
        ((recovery.RecoveryRead, "_replied", around(recovery.RecoveryRead._replied, _any_error_is_absence)),),
    ),
    Planted(
        "one-absence-is-enough",
        "mutant",
        "One bookie without an entry is enough to end a ledger",
        ((Quorum, "absence_size", PropertyMock(return_value=1)),),
    ),
    Planted(
        "nothing-written-back",
        "mutant",
        "Recovery does not write entries back to their write sets",
        ((recovery.Recovery, "_write_back", around(recovery.Recovery._write_back, _nothing_written_back)),),
    ),
    Planted(
        "confirms-while-the-ensemble-changes",
        "mutant",
        "The last add confirmed moves while the ensemble changes",
        ((add_entry.Adds, "_complete", around(add_entry.Adds._complete, _goes_on_while_it_changes)),),
    ),
    Planted(
        "a-fragment-too-late",
        "mutant",
        "A new fragment starts one entry too late",
        ((write_handle, "change_ensemble", around(write_handle.change_ensemble, _a_fragment_too_late)),),
    ),
    Planted(
        "not-sent-again",
        "mutant",
        "Pending entries are not sent to a bookie that takes the place of another",
        ((add_entry.Adds, "_send_again", lambda adds, changed: None),),
    ),
    Planted(
        "replaced-bookies-count",
        "mutant",
        "Replies of a bookie that was replaced, errors as well, count as those of the new one",
        ((add_entry.Adds, "_replied", around(add_entry.Adds._replied, _counts_replaced)),),
    ),
    Planted(
        "one-acknowledgement-is-enough",
        "mutant",
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
        "wall-clock-client",
        "ours",
        "The time-outs of clients hang on the time of day, as Twisted's own do",
        ((machine.Reactor, "seconds", _of_clients),),
    ),
    Planted(
        "a-tail-ends-early",
        "ours",
        "A tail ends as soon as no replica answers",
        ((tailing, "MAY_ANSWER_LATER", ()),),
    ),
    Planted(
        "a-lost-login-is-a-wrong-password",
        "ours",
        "A connection that is lost, or a bookie that hangs, during a login is a wrong password",
        ((client_link, "AuthenticationUnanswered", AuthenticationFailed),),
    ),
    Planted(
        "a-writer-without-a-bound",
        "ours",
        "A writer sends whatever it is given, however much is on its way",
        ((AppendQueue, "_find_room", lambda _: True),),
    ),
    Planted(
        "addresses-are-forgotten",
        "ours",
        "A client has no addresses of bookies while the store is away",
        ((LastKnownAddress, "resolve", _asks_the_store),),
    ),
    Planted(
        "closed-ledgers-stay-where-they-were",
        "ours",
        "The handle of a closed ledger never reads the metadata again",
        ((LedgerView, "after_failure", around(LedgerView.after_failure, _gives_up_if_closed)),),
    ),
    Planted(
        "silent-connections-stay",
        "ours",
        "A connection that brings nothing any more is never given up",
        ((client_link.ClientLink, "_judge", around(client_link.ClientLink._judge, _silence_is_no_reason)),),
    ),
)
