"""Recovery, where bookies fail: what counts as absence of an entry, and what does not."""

import time

from compat_tests.client.cases.recovery import check_closed
from compat_tests.client.records import IN_RECOVERY, OPEN
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, case
from protocol_specs import fields
from protocol_specs.wire.status import EIO, EUA, EUNKNOWNLEDGERSTATE

SOON_S = 8.0
"""Less than the time-outs of a client whose requests are held: one that waits for a silent bookie takes longer."""


@case(
    "BKW-CREC-008",
    MUST,
    "sec-quorums-rules",
    sends="Two of three bookies say ENOENTRY, the third one does not answer any read of an entry, with A = 2.",
    accepts="The ledger is closed before the entry; that without waiting for the third is not asked of all.",
    limit_s=45.0,
    provenance="BK#1067",
)
def one_silent_bookie_does_not_stop_a_recovery(stage: Stage) -> None:
    """A client MUST take an entry as absent when W - A + 1 bookies of its write set say so, SHOULD without waiting."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=2, ack=2)
    bookies[1].on("read").silence()
    began = time.monotonic()
    stage.held_client().open(ledger.ledger_id)
    check_closed(stage, ledger.ledger_id, 1, ledger.length)
    if time.monotonic() - began > SOON_S:
        stage.tolerate("the client has waited for the bookie that is silent")


def _expect_open(stage: Stage, opening: str, ledger_id: int) -> None:
    record = stage.metadata(ledger_id)
    stage.check_one_of(f"the state after {opening}", record.state, (IN_RECOVERY, OPEN))


_NO_ABSENCE = (EIO, EUA, EUNKNOWNLEDGERSTATE)


@case(
    "BKW-CREC-009",
    MUST,
    "sec-recovery-steps",
    sends="One of three bookies says ENOENTRY of an entry; two say EIO, EUA or EUNKNOWNLEDGERSTATE, with A = 2.",
    accepts="The client cannot open the ledger, which stays in recovery.",
    provenance="BK#2908",
)
def an_error_is_no_absence(stage: Stage) -> None:
    """A client MUST NOT take an error for "no such entry": the entry may have been acknowledged."""
    bookies = stage.bookies(3)
    for status in _NO_ABSENCE:
        ledger = stage.ledger(bookies, entries=2, ack=2)
        stage.on_all(bookies[1:], "read", ledger_id=ledger.ledger_id, entry_id=2).answer(status)
        stage.expect_error(stage.client.begin_open(ledger.ledger_id))
        _expect_open(stage, status.name, ledger.ledger_id)


@case(
    "BKW-CREC-010",
    MUST,
    "sec-recovery-steps",
    sends="One of three bookies says ENOENTRY of an entry; two are silent, or close the connection, with A = 2.",
    accepts="The client cannot open the ledger, which stays in recovery.",
    limit_s=40.0,
    provenance="BK#2908",
)
def silence_is_no_absence(stage: Stage) -> None:
    """A client MUST NOT take a bookie that does not answer for one that has nothing."""
    bookies = stage.bookies(3)
    client = stage.impatient_client()
    for what in ("silence", "closed connections"):
        ledger = stage.ledger(bookies, entries=2, ack=2)
        rule = stage.on_all(bookies[1:], "read", ledger_id=ledger.ledger_id, entry_id=2)
        _ = rule.silence() if what == "silence" else rule.close()
        stage.expect_error(client.begin_open(ledger.ledger_id))
        _expect_open(stage, what, ledger.ledger_id)


@case(
    "BKW-CREC-011",
    MUST,
    "sec-recovery-steps",
    sends="The last entry is on two bookies of three, and corrupt on both; the third says ENOENTRY, with A = 2.",
    accepts="The client cannot open the ledger, which stays in recovery; no copy is written anywhere.",
    provenance="BK#2908",
)
def a_corrupt_copy_is_no_absence(stage: Stage) -> None:
    """A client MUST NOT take a copy with a wrong digest for absence, nor write it back."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=3, ack=2)
    corrupt = ledger.entries[2][:-1] + b"?"
    ledger.store(2, corrupt, bookies[0], bookies[1])
    ledger.forget(2, bookies[2])
    stage.expect_error(stage.client.begin_open(ledger.ledger_id))
    _expect_open(stage, "corrupt copies", ledger.ledger_id)
    stage.check("adds", [str(add) for bookie in bookies for add in bookie.requests("add", entry_id=2)], [])


@case(
    "BKW-CREC-012",
    MUST,
    "sec-recovery-steps",
    sends="The last entry is corrupt on two bookies of three, and whole on one.",
    accepts="The ledger is closed with it, and what is written back is the whole copy.",
    limit_s=30.0,
    provenance="seen with Java's client 4.18.0",
)
def a_whole_copy_counts_beside_corrupt_ones(stage: Stage) -> None:
    """A client MUST go on to another copy when one is corrupt, and write back only what has the right digest."""
    bookies = stage.bookies(3)
    for place in range(3):
        ledger = stage.ledger(bookies, entries=3, ack=2)
        corrupt = ledger.entries[2][:-1] + b"?"
        others = [bookie for bookie in bookies if bookie is not bookies[place]]
        stage.on_all(others, "read", ledger_id=ledger.ledger_id, entry_id=2).answer(body=corrupt)
        stage.client.open(ledger.ledger_id)
        check_closed(stage, ledger.ledger_id, 2, ledger.length)
        for bookie in bookies:
            adds = bookie.requests("add", ledger_id=ledger.ledger_id, entry_id=2)
            payloads = {ledger.seal.payload_of(add.body) for add in adds}
            stage.check_that(payloads <= {ledger.payloads[2]}, "what is written back", "the whole copy", payloads)


@case(
    "BKW-CREC-013",
    MUST,
    "sec-recovery-steps",
    sends="No bookie has entry 2 of a ledger; one has entry 3.",
    accepts="The ledger is closed at entry 1: what lies behind a hole was never acknowledged.",
    provenance="seen with Java's client 4.18.0",
)
def a_ledger_ends_before_a_hole(stage: Stage) -> None:
    """A client MUST close a ledger before the first entry that is surely absent, whatever lies behind."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=4, ack=2, lag=3)
    ledger.forget(2)
    ledger.forget(3, bookies[0], bookies[1])
    reader = stage.client.open(ledger.ledger_id)
    check_closed(stage, ledger.ledger_id, 1, sum(map(len, ledger.payloads[:2])))
    stage.check("the last add confirmed", reader.opened_at, 1)


@case(
    "BKW-CREC-015",
    MUST,
    "sec-quorums-rules",
    sends="Two of three bookies do not answer the fencing reads of a recovery, with A = 2.",
    accepts="The client cannot open the ledger, which stays in recovery.",
    limit_s=30.0,
    provenance="seen with Java's client 4.18.0",
)
def too_few_fenced_bookies_are_no_recovery(stage: Stage) -> None:
    """A client MUST NOT go on with a recovery while A or more bookies of any write set are silent."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=2, ack=2)
    stage.on_all(bookies[:2], "read", entry_id=fields.LAST_ENTRY).silence()
    stage.expect_error(stage.impatient_client().begin_open(ledger.ledger_id))
    _expect_open(stage, "too few answers", ledger.ledger_id)


@case(
    "BKW-CREC-017",
    MUST,
    "sec-quorums-rules",
    sends="One bookie of three answers every fencing read with EIO, with A = 2.",
    accepts="The ledger is closed at its last entry, with the other two.",
    provenance="seen with Java's client 4.18.0",
)
def one_failing_bookie_does_not_stop_a_recovery(stage: Stage) -> None:
    """A client MUST recover with the bookies that answer, as long as they cover the ensemble."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=2, ack=2)
    bookies[0].on("read", fencing=True).answer(EIO)
    stage.client.open(ledger.ledger_id)
    check_closed(stage, ledger.ledger_id, 1, ledger.length)
