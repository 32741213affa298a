"""Force, and adds whose sync is deferred."""

from typing import Any

from compat_tests.bookie.pipeline import ask_all
from compat_tests.bookie.runs import check_part, entry_of_size
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import OTHER_KEY
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

_NEEDS = ("force",)


@case(
    "BKW-FORCE-001",
    MUST,
    "sec-force-ledger-v3",
    sends="Adds with deferred sync, each acknowledged, then a force, twice.",
    accepts="EOK each, with nothing but status and ledger id; the entries are read as they were added.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_force_behind_deferred_adds_is_answered(talk: Talk) -> None:
    """An add with deferred sync MUST be acknowledged and readable as any other; a force of its ledger MUST then be
    answered EOK, as often as it is asked for."""
    ledger = talk.new_ledger()
    bodies = [entry_of_size(talk, ledger, entry_id, 41) for entry_id in range(5)]
    for entry_id, body in enumerate(bodies):
        talk.expect(_add_deferred(talk, ledger, entry_id, body), EOK, entry_id=entry_id)
        talk.expect(talk.requests.read(ledger, entry_id), EOK, body=body)
    for _ in range(2):
        check_part(talk, talk.ask(_force(talk, ledger)), EOK, ledger_id=ledger)
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.read(ledger, entry_id), EOK, body=body)


@case(
    "BKW-FORCE-002",
    MUST,
    "sec-force-ledger-bookie",
    sends="A force of an unknown ledger, of ledger 2^63 - 1 and of -1; then reads of the first.",
    accepts="EOK each, with the ledger id; ENOLEDGER for the reads.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def an_unknown_ledger_is_forced_and_stays_unknown(talk: Talk) -> None:
    """A force says that nothing acknowledged is left unsynced: of a ledger that the bookie does not know it MUST be
    answered EOK, and MUST NOT make it."""
    unknown = talk.new_ledger()
    for ledger in (unknown, 2**63 - 1, -1):
        check_part(talk, talk.ask(_force(talk, ledger)), EOK, ledger_id=ledger)
    talk.expect(talk.requests.read(unknown, 0), ENOLEDGER)


@case(
    "BKW-FORCE-003",
    MUST,
    "sec-force-ledger-bookie",
    sends="A deferred add, a fence, a force; then a plain add, a deferred one, and a deferred recovery add.",
    accepts="EOK for the force; EFENCED for the plain and the deferred add, EOK for the recovery add and a force "
    "of it.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_fence_makes_no_difference_to_a_force(talk: Talk) -> None:
    """A fenced ledger MUST be forced as any other, without a key; and deferred sync MUST NOT carry an add past a
    fence."""
    ledger = talk.new_ledger()
    talk.expect(_add_deferred(talk, ledger, 0), EOK)
    talk.expect(talk.requests.fence(ledger), EOK)
    talk.expect(_force(talk, ledger), EOK)
    talk.expect(talk.requests.add(ledger, 1), EFENCED)
    talk.expect(_add_deferred(talk, ledger, 1), EFENCED)
    talk.expect(talk.requests.read(ledger, 1), ENOENTRY)
    recovery = v3_pb2.AddRequest.RECOVERY_ADD
    talk.expect(_add_deferred(talk, ledger, 1, flag=recovery), EOK)
    talk.expect(_force(talk, ledger), EOK)
    talk.expect(talk.requests.read(ledger, 1), EOK)


@case(
    "BKW-FORCE-004",
    MUST,
    "sec-force-ledger-bookie",
    sends="In one piece: thirty deferred adds, with a force behind every tenth.",
    accepts="EOK for each, once, under its own transaction id; all entries are read.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def forces_among_adds_on_their_way_are_told_apart(talk: Talk) -> None:
    """Adds and forces in flight beside each other MUST each be answered, under their own transaction ids."""
    ledger = talk.new_ledger()
    frames: list[bytes] = []
    for entry_id in range(30):
        frames.append(_add_deferred(talk, ledger, entry_id))
        if entry_id % 10 == 9:
            frames.append(_force(talk, ledger))
    for reply in ask_all(talk.line("together"), frames):
        talk.check_reply(reply, EOK, ledger_id=ledger)
    for reply in ask_all(talk.main, [talk.requests.read(ledger, entry_id) for entry_id in range(30)]):
        talk.check_reply(reply, EOK)


@case(
    "BKW-FORCE-005",
    MUST,
    "sec-force-ledger-bookie",
    sends="Deferred adds on one connection; forces of this and of other ledgers on three others, of high priority too.",
    accepts="EOK for each, on the connection that asked.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def a_force_may_come_over_any_connection(talk: Talk) -> None:
    """A force concerns all adds of its ledger, whatever connection they came over, and MUST be answered where it was
    asked."""
    ledgers = [talk.new_ledger() for _ in range(3)]
    for ledger in ledgers:
        talk.expect(_add_deferred(talk, ledger, 0), EOK)
    requests = [
        (talk.line(name), _force(talk, ledger, priority=priority))
        for name in ("first", "second", "third")
        for ledger in ledgers
        for priority in (0, v3.PRIORITY_HIGH)
    ]
    for line, frame in requests:
        line.send(frame)
    for line, frame in requests:
        talk.expect_answer(frame, EOK, line)


@case(
    "BKW-FORCE-006",
    MUST,
    "sec-force-ledger-bookie",
    sends="Deferred adds with another key, and of an entry that is there; reads of these.",
    accepts="EUA and EOK, as for plain adds; nothing of the first is stored.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def a_deferred_add_is_refused_like_any_other(talk: Talk) -> None:
    """Deferred sync is about when an add is acknowledged, not whether: what is refused otherwise MUST be refused."""
    ledger = talk.new_ledger()
    body = entry_of_size(talk, ledger, 0, 41)
    talk.expect(_add_deferred(talk, ledger, 0, body), EOK)
    talk.expect(_add_deferred(talk, ledger, 1, key=OTHER_KEY), EUA)
    talk.expect(talk.requests.read(ledger, 1), ENOENTRY)
    talk.expect(_add_deferred(talk, ledger, 0, body), EOK)
    talk.expect(_force(talk, ledger), EOK)
    talk.expect(talk.requests.read(ledger), EOK, body=body)


@case(
    "BKW-FORCE-007",
    MUST,
    "sec-force-ledger-bookie",
    sends="Deferred adds on a connection that is reset at their acknowledgement, and forces on connections that"
    " are reset at once; then a force.",
    accepts="EOK for that one, and all entries are there; the bookie serves on.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def what_was_acknowledged_to_a_lost_client_is_forced_too(talk: Talk) -> None:
    """A force concerns adds of connections that are gone; and a client that goes while its force waits MUST harm
    none."""
    ledger = talk.new_ledger()
    writer = talk.line("writer")
    bodies = [entry_of_size(talk, ledger, entry_id, 41) for entry_id in range(10)]
    for reply in ask_all(writer, [_add_deferred(talk, ledger, entry_id, body) for entry_id, body in enumerate(bodies)]):
        talk.check_reply(reply, EOK)
    writer.reset()
    for name in ("first", "second", "third"):
        line = talk.line(name)
        line.send(*(_force(talk, ledger) for _ in range(5)))
        line.reset()
    talk.expect(_force(talk, ledger), EOK)
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.read(ledger, entry_id), EOK, body=body)


def _add_deferred(talk: Talk, ledger: int, entry_id: int, body: bytes | None = None, **options: Any) -> bytes:
    deferred = int(v3.WriteFlag.DEFERRED_SYNC)
    return v3_requests.add(ledger, entry_id, body, write_flags=deferred, txn_id=talk.requests.number(), **options)


def _force(talk: Talk, ledger: int, **options: int) -> bytes:
    return v3_requests.force(ledger, txn_id=talk.requests.number(), **options)
