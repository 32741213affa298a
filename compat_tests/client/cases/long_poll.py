"""Following a ledger that is being written: long polls."""

import time
from typing import Any

import attrs

from compat_tests.client import client_requests as names
from compat_tests.client import faults
from compat_tests.client.client_requests import ClientRequest
from compat_tests.client.driven_client import PendingCall
from compat_tests.client.driver_output import number, octets
from compat_tests.client.readable_ledger import ReadableLedger, Reader, readable_ledger
from compat_tests.client.records import CLOSED
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, V3, case
from compat_tests.judge.verdict import Mismatch, Unsupported
from protocol_specs import fields
from protocol_specs.wire.status import EIO

PAYLOADS = (b"zero", b"one", b"two", b"three")
POLL: dict[str, Any] = {"previous_lac": lambda previous: previous is not None}
"""The field by which a long poll differs from other reads."""


def _polls(stage: Stage, ledger: ReadableLedger, **wanted: Any) -> list[ClientRequest]:
    """Wait for long polls of the client.

    It need not send any: it may ask again and again, as over V2.  Raises Unsupported then.
    """

    def polls() -> list[ClientRequest]:
        return ledger.requests(names.READ, **POLL, **wanted)

    try:
        stage.wait_until(lambda: bool(polls()), "a long poll")
    except Mismatch:
        if len(ledger.requests()) > _ASKED_AGAIN:
            raise Unsupported("the client waits without long polls: it asks again and again") from None
        raise
    return polls()


_ASKED_AGAIN = 6
"""More requests than it takes to open a ledger on three bookies."""


def _append(ledger: ReadableLedger, *payloads: bytes) -> None:
    """The writer appends: every bookie gets the entries, and ends the polls that wait for them."""
    for entry in ledger.staged.next_entries(*payloads):
        ledger_id, entry_id = ledger.id, int.from_bytes(entry[8:16], "big")
        request = ClientRequest(
            dialect=V3,
            operation=names.ADD,
            raw=b"",
            version=3,
            ledger_id=ledger_id,
            entry_id=entry_id,
            key=ledger.staged.key,
            body=entry,
        )
        for bookie in ledger.bookies:
            bookie.carry_out(request)


def _wait(reader: Reader, entry_id: int, timeout_ms: int) -> PendingCall:
    return reader.handle.begin("await_entry", entry=entry_id, timeout_ms=timeout_ms)


def _found(pending: PendingCall) -> tuple[str, bytes]:
    reply = pending.result()
    return reply["found"], octets(reply.get("body", ""))


@case(
    "BKW-CTAIL-001",
    MUST,
    "sec-long-poll-wait",
    dialects=(V3,),
    sends="The client waits for entry 3 of an open ledger whose last add confirmed is 2.",
    accepts="Reads with previous_lac 2, without key, of entry -1 with ENTRY_PIGGYBACK; one at least with a time_out.",
    provenance="seen with Java's client 4.18.0",
)
def a_wait_is_a_read_with_previous_lac(stage: Stage) -> None:
    """A client that waits by long polls MUST name the last add confirmed that it knows, and how long it would wait."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    stage.check("the last add confirmed", reader.last_add_confirmed, 2)
    waiting = _wait(reader, 3, 10_000)
    _polls(stage, ledger, timeout_ms=lambda timeout_ms: timeout_ms > 0)
    for each in ledger.requests(names.READ, **POLL):
        stage.check("previous LAC, fencing, key", (each.previous_lac, each.fencing, each.key), (2, False, None))
        if each.piggyback:
            stage.check("the entry of a poll with ENTRY_PIGGYBACK", each.entry_id, fields.LAST_ENTRY)
        else:
            stage.tolerate("the client polls without ENTRY_PIGGYBACK, and has to read the entry besides")
    _append(ledger, b"four")
    stage.check("what came", _found(waiting), ("true", b"three"))


@case(
    "BKW-CTAIL-002",
    MUST,
    "sec-flow-tailing",
    sends="The client waits for entry 3; the writer appends entry 4, which confirms it.",
    accepts="Entry 3 is returned long before the wait is over.",
    provenance="BK#2747",
    dialects=(V3,),
)
def an_entry_is_returned_when_it_is_confirmed(stage: Stage) -> None:
    """A client that waits for an entry MUST return it when it is confirmed."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    waiting = _wait(ledger.open(), 3, 8000)
    _polls(stage, ledger)
    stage.wait(0.2)
    stage.check("whether it still waits", waiting.done, False)
    _append(ledger, b"four")
    stage.check("what came", _found(waiting), ("true", b"three"))


@case(
    "BKW-CTAIL-003",
    MUST,
    "sec-digests",
    dialects=(V3,),
    sends="The bookie asked first brings a damaged copy of the entry that is waited for; the others are right.",
    accepts="The undamaged entry.",
    provenance="seen with Java's client 4.18.0",
)
def a_damaged_entry_that_comes_with_a_poll_is_not_returned(stage: Stage) -> None:
    """A client MUST check the digest of an entry that a long poll brings along."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    damaged = faults.with_bit_flipped(ledger.entries[3], -1)
    reader = ledger.open()
    stage.on_first(ledger.bookies, names.READ, **POLL).answer(entry_id=3, body=damaged, max_lac=3)
    waiting = _wait(reader, 3, 10_000)
    _polls(stage, ledger)
    _append(ledger, b"four")
    stage.check("what came", _found(waiting), ("true", b"three"))


@case(
    "BKW-CTAIL-004",
    MUST,
    "sec-long-poll-states",
    dialects=(V3,),
    sends="A bookie knows that entry 3 is confirmed, but does not have it: EOK, entry -1, max_lac 3.",
    accepts="Entry 3, read from a bookie that has it.",
    provenance="the table of answers: EOK without the entry",
)
def a_last_add_confirmed_without_its_entry_means_a_read(stage: Stage) -> None:
    """A client MUST read the entry itself when a long poll tells that it is confirmed but does not bring it."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    stage.on_first(ledger.bookies, names.READ, **POLL).answer(entry_id=fields.LAST_ENTRY, max_lac=3)
    waiting = _wait(reader, 3, 10_000)
    if waiting.result()["found"] != "true":
        stage.tolerate("the last add confirmed is returned, and the entry is for the caller to read")
        stage.check("the last add confirmed", number(waiting.result()["last_add_confirmed"]), 3)
        stage.check("the payload", reader.read_entry(3), b"three")
        return
    stage.check("what came", _found(waiting), ("true", b"three"))


@case(
    "BKW-CTAIL-005",
    MUST,
    "sec-long-poll-wait",
    dialects=(V3,),
    sends="The client waits 1 s for an entry that never comes.",
    accepts="After 1 s, and no later than 10 s: no entry, no error, and the last add confirmed of before.",
    provenance="seen with Java's client 4.18.0",
)
def that_the_time_is_over_is_no_error(stage: Stage) -> None:
    """A client MUST end a wait that is over without an error, with the last add confirmed of that moment."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    began = time.monotonic()
    reply = _wait(reader, 3, 1000).result()
    took_s = time.monotonic() - began
    stage.check("whether an entry was found", reply["found"], "false")
    stage.check("the last add confirmed", number(reply["last_add_confirmed"]), 2)
    stage.check_that(0.9 <= took_s <= 10.0, "the time it took", "1 to 10 s", f"{took_s:.1f} s")


@case(
    "BKW-CTAIL-006",
    MUST,
    "sec-lac-client",
    dialects=(V3,),
    sends="A long poll is answered with max_lac 0, below the 2 that the client knows.",
    accepts="The client still knows 2, and reads entry 2.",
    provenance="S7",
)
def the_last_add_confirmed_never_goes_back(stage: Stage) -> None:
    """A client MUST keep the highest last add confirmed that it has learnt of."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    stage.on_all(ledger.bookies, names.READ, **POLL).do(
        lambda ask: ask.later(0.3, lambda: ask.send(ask.frame(entry_id=fields.LAST_ENTRY, max_lac=0)))
    )
    reply = _wait(reader, 3, 1000).result()
    stage.check("the last add confirmed of the wait", number(reply["last_add_confirmed"]), 2)
    stage.check("the last add confirmed of the handle", reader.handle.last_add_confirmed(), 2)
    stage.check("the payload of entry 2", reader.read_entry(2), b"two")


@case(
    "BKW-CTAIL-007",
    MUST,
    "sec-flow-tailing",
    dialects=(V3,),
    sends="The bookie at which the client waits vanishes; then entry 3 is confirmed at the others.",
    accepts="Entry 3.",
    provenance="seen with Java's client 4.18.0",
)
def a_wait_outlives_its_bookie(stage: Stage) -> None:
    """A client that waits MUST go on at another bookie when the one at which it waits is lost."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    waiting = _wait(ledger.open(), 3, 8000)
    _polls(stage, ledger)
    gone = next(each for each in ledger.bookies if each.requests(names.READ, **POLL))
    stage.wait(0.2)
    gone.stop()
    stage.wait(0.2)
    _append(ledger, b"four")
    stage.check("what came", _found(waiting), ("true", b"three"))


@case(
    "BKW-CTAIL-008",
    SHOULD,
    "sec-flow-tailing",
    dialects=(V3,),
    sends="While the client waits for entry 4, the ledger is closed at entry 3.",
    accepts="The wait ends within 10 s of its 15 s, without an entry; entry 3 can be read.",
    provenance="our client; Java's waits on",
)
def closing_the_ledger_ends_a_wait(stage: Stage) -> None:
    """A client SHOULD end a wait when the ledger is closed in front of the entry that is waited for."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    waiting = _wait(reader, 4, 15_000)
    _polls(stage, ledger)
    _close(stage, ledger)
    stage.check("whether an entry was found", waiting.result(10.0)["found"], "false")
    stage.check("the payload of entry 3", reader.read_entry(3), b"three")


def _close(stage: Stage, ledger: ReadableLedger) -> None:
    record = stage.metadata(ledger.id)
    closed = attrs.evolve(record, state=CLOSED, last_entry=3, length=ledger.staged.length)
    stage.root.write(ledger.id, closed)


@case(
    "BKW-CTAIL-009",
    MUST,
    "sec-flow-tailing",
    dialects=(V3,),
    sends="The bookie asked first answers the long poll with EIO; entry 3 is confirmed at the others.",
    accepts="Entry 3.",
    provenance="seen with Java's client 4.18.0",
)
def an_error_of_one_bookie_does_not_end_a_wait(stage: Stage) -> None:
    """A client that waits MUST go on at another bookie when one answers with an error."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    stage.on_first(ledger.bookies, names.READ, **POLL).answer(EIO)
    waiting = _wait(ledger.open(), 3, 8000)
    stage.wait_until(lambda: len(ledger.requests(names.READ, **POLL)) > 1, "a second long poll")
    _append(ledger, b"four")
    stage.check("what came", _found(waiting), ("true", b"three"))


@case(
    "BKW-CTAIL-010",
    SHOULD,
    "sec-flow-tailing",
    dialects=(V3,),
    sends="The client waits for entry 0 of a ledger that no bookie knows; then entries 0 and 1 come.",
    accepts="Entry 0.",
    provenance="BK#2273",
)
def a_wait_begins_before_there_are_entries(stage: Stage) -> None:
    """A client SHOULD be able to wait at a ledger that has no entries yet: absence is no error there."""
    ledger = readable_ledger(stage, (), closed=False)
    waiting = _wait(ledger.open(), 0, 8000)
    _polls(stage, ledger)
    stage.wait(0.3)
    _append(ledger, b"first", b"second")
    stage.check("what came", _found(waiting), ("true", b"first"))
