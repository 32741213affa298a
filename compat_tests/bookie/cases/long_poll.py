"""Long poll: the polls that are answered at once, and the reply when the time is over."""

import time
from functools import partial

from compat_tests.bookie.runs import check_part, entry_of_size, store_ids, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.bookie.waits import AT_ONCE_S, LONG_MS, SHORT_MS, expect_wait, in_time, poll
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.line import with_length
from compat_tests.wire.replies import txn_id_of
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK, ETOOMANYREQUESTS

_NEEDS = ("long-poll",)


@case(
    "BKW-POLL-001",
    MUST,
    "sec-long-poll-wait",
    sends="The first long poll ever of a ledger, with a `previous_lac` below the last add confirmed and a "
    "minute of time.",
    accepts="The answer at once.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="S6",
)
def the_first_poll_of_a_ledger_is_answered_at_once(talk: Talk) -> None:
    """A long poll MUST be answered at once if the bookie knows a last add confirmed above `previous_lac`: the first one
    of a ledger, too."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42, 43])
    frame = poll(talk, ledger, -1, LONG_MS)
    reply = in_time(talk, partial(talk.ask, frame))
    check_part(talk, reply, EOK, ledger_id=ledger, entry_id=0, body=bodies[0], max_lac=1)


@case(
    "BKW-POLL-002",
    MUST,
    "sec-long-poll-states",
    sends="Long polls with ENTRY_PIGGYBACK and each `previous_lac` below the last add confirmed.",
    accepts="EOK with the entry behind `previous_lac` under its own id, and `max_lac`; no `lac_update_timestamp`.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def the_entry_behind_previous_lac_comes_along(talk: Talk) -> None:
    """With ENTRY_PIGGYBACK the answer MUST bring the entry of `previous_lac` + 1, and say so in `entry_id`: not the
    last entry, and not the one that is confirmed last. The time of an update belongs to a wait that one has ended."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42, 43, 44, 45])
    for previous in (2, 1, -1, 0):
        reply = talk.ask(poll(talk, ledger, previous, LONG_MS))
        check_part(talk, reply, EOK, ledger_id=ledger, entry_id=previous + 1, body=bodies[previous + 1], max_lac=3)


@case(
    "BKW-POLL-004",
    MUST,
    "sec-long-poll-wait",
    sends="Long polls of 300 ms with a `previous_lac` that is the last add confirmed, and one far above it.",
    accepts="After 300 ms, and not much later: EOK, `entry_id` -1, no entry, `max_lac`, no `lac_update_timestamp`.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_wait_that_is_over_is_no_error(talk: Talk) -> None:
    """When `time_out` is over the bookie MUST answer, not before and with no error: what it knows at that moment."""
    ledger = talk.new_ledger()
    store_run(talk, ledger, [41, 42, 43])
    frames = {talk.line(f"{previous}"): poll(talk, ledger, previous, SHORT_MS) for previous in (1, 10**6)}
    started = time.monotonic()
    for line, frame in frames.items():
        line.send(frame)
    for line, frame in frames.items():
        reply = talk.answer(frame, line)
        waited_s = time.monotonic() - started
        check_part(talk, reply, EOK, ledger_id=ledger, entry_id=NO_ENTRY, max_lac=1)
        is_over = SHORT_MS * 0.9 < waited_s * 1000 < SHORT_MS + AT_ONCE_S * 1000
        talk.check_that(is_over, "the wait", f"{SHORT_MS} ms", f"{waited_s * 1000:.0f} ms")


@case(
    "BKW-POLL-005",
    MUST,
    "sec-long-poll-wait",
    sends="Long polls with nothing new to tell and without `time_out`, with 0, -1 and -2^63.",
    accepts="EOK at once: `entry_id` -1, no entry, `max_lac`.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def without_time_to_wait_the_answer_comes_at_once(talk: Talk) -> None:
    """A long poll whose `time_out` is absent, 0 or less MUST be answered at once."""
    ledger = talk.new_ledger()
    store_run(talk, ledger, [41, 42, 43])
    for time_out in (None, 0, -1, -(2**63)):
        frame = poll(talk, ledger, 1, time_out)
        reply = in_time(talk, partial(talk.ask, frame))
        check_part(talk, reply, EOK, ledger_id=ledger, entry_id=NO_ENTRY, max_lac=1)


@case(
    "BKW-POLL-006",
    MUST,
    "sec-long-poll-wait",
    sends="A long poll with a `time_out` of 2^63 - 1, then an add that confirms on another connection.",
    accepts="No answer before the add, and the entry after it.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def the_longest_time_out_waits(talk: Talk) -> None:
    """A `time_out` of any size MUST be taken; a bookie bounds it, and MUST NOT let it overflow into none."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42])
    reader, frame = talk.line("reader"), poll(talk, ledger, 0, 2**63 - 1)
    reader.send(frame)
    expect_wait(talk, reader, frame)
    talk.expect(talk.requests.add(ledger, 2), EOK)
    talk.expect_answer(frame, EOK, reader, entry_id=1, body=bodies[1], max_lac=1)


@case(
    "BKW-POLL-007",
    MUST,
    "sec-long-poll-states",
    sends="Long polls of an unknown ledger with a minute of time, with and without ENTRY_PIGGYBACK; then a plain read.",
    accepts="ENOLEDGER at once, without `max_lac`; the ledger stays unknown.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def an_unknown_ledger_is_not_waited_for(talk: Talk) -> None:
    """A long poll of a ledger that the bookie does not know MUST be answered ENOLEDGER at once, and MUST NOT make
    it."""
    ledger = talk.new_ledger()
    for options in ({}, {"flag": None, "entry_id": 0}):
        frame = poll(talk, ledger, 0, LONG_MS, **options)
        reply = in_time(talk, partial(talk.ask, frame))
        check_part(talk, reply, ENOLEDGER, ledger_id=ledger, entry_id=options.get("entry_id", LAST_ENTRY))
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)


@case(
    "BKW-POLL-008",
    MUST,
    "sec-long-poll-states",
    sends="Long polls of 300 ms, and without time, of a ledger that was fenced before it had entries.",
    accepts="ENOENTRY without entry, after that time at the latest.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_ledger_without_entries_is_no_entry(talk: Talk) -> None:
    """A long poll with ENTRY_PIGGYBACK of a known ledger without entries MUST end with ENOENTRY."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger), ENOENTRY)
    for time_out in (SHORT_MS, None):
        reply = in_time(talk, partial(talk.ask, poll(talk, ledger, NO_ENTRY, time_out)))
        talk.check_reply(reply, ENOENTRY, ledger_id=ledger, body=b"", lac_update_timestamp=None)


@case(
    "BKW-POLL-009",
    MUST,
    "sec-long-poll-states",
    sends="Long polls without ENTRY_PIGGYBACK of a stored, the last and a missing entry; answered at once and "
    "by the end of their time.",
    accepts="What a read of that entry brings, under the id asked for, with `max_lac`; ENOENTRY for the missing one.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def without_piggyback_it_is_a_read_after_the_wait(talk: Talk) -> None:
    """Without ENTRY_PIGGYBACK a long poll MUST be, after its wait, an ordinary read of the entry it names."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42, 43, 44])
    for previous, time_out in ((1, LONG_MS), (2, 0)):
        for entry_id, body in ((0, bodies[0]), (LAST_ENTRY, bodies[3])):
            reply = talk.ask(poll(talk, ledger, previous, time_out, entry_id=entry_id, flag=None))
            check_part(talk, reply, EOK, ledger_id=ledger, entry_id=entry_id, body=body, max_lac=2)
        reply = talk.ask(poll(talk, ledger, previous, time_out, entry_id=9, flag=None))
        talk.check_reply(reply, ENOENTRY, ledger_id=ledger, entry_id=9, body=b"")
    started = time.monotonic()
    reply = talk.ask(poll(talk, ledger, 2, SHORT_MS, entry_id=1, flag=None))
    check_part(talk, reply, EOK, ledger_id=ledger, entry_id=1, body=bodies[1], max_lac=2)
    waited_ms = (time.monotonic() - started) * 1000
    talk.check_that(waited_ms > SHORT_MS * 0.9, "the wait", f"{SHORT_MS} ms", f"{waited_ms:.0f} ms")


@case(
    "BKW-POLL-011",
    MUST,
    "sec-long-poll-states",
    sends="Reads with ENTRY_PIGGYBACK, or with a minute of `time_out`, but without `previous_lac`.",
    accepts="What a plain read brings, at once.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def only_previous_lac_makes_a_long_poll(talk: Talk) -> None:
    """A read without `previous_lac` MUST be answered at once as an ordinary one, whatever its flag or `time_out`."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42, 43])
    piggyback = v3_pb2.ReadRequest.ENTRY_PIGGYBACK
    for options in ({"flag": piggyback}, {"time_out": LONG_MS}, {"flag": piggyback, "time_out": LONG_MS}):
        for entry_id, body in ((1, bodies[1]), (LAST_ENTRY, bodies[2])):
            frame = v3_requests.read(ledger, entry_id, txn_id=talk.requests.number(), **options)
            reply = in_time(talk, partial(talk.ask, frame))
            check_part(talk, reply, EOK, ledger_id=ledger, entry_id=entry_id, body=body, max_lac=1)


@case(
    "BKW-POLL-012",
    MUST,
    "sec-long-poll-wait",
    sends="A fencing read with a `previous_lac` far ahead and a minute of `time_out`, then an add.",
    accepts="The entry at once, without `max_lac`; the add is EFENCED.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_fencing_read_does_not_wait(talk: Talk) -> None:
    """A read that fences MUST NOT wait, whatever its `previous_lac`: a recovery must not hang on a writer."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41])
    frame = v3_requests.fence(ledger, 0, txn_id=talk.requests.number(), previous_lac=10**6, time_out=LONG_MS)
    reply = in_time(talk, partial(talk.ask, frame))
    check_part(talk, reply, EOK, ledger_id=ledger, entry_id=0, body=bodies[0])
    talk.expect(talk.requests.add(ledger, 1), EFENCED)


@case(
    "BKW-POLL-010",
    MUST,
    "sec-long-poll-wait",
    sends="1200 long polls on one connection that have to wait, then an add that confirms, on another one.",
    accepts="EOK with the entry for each, or ETOOMANYREQUESTS for what is more than a bookie lets wait; the "
    "connection serves on.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="the source of Java 4.9 to 4.18",
)
def very_many_that_wait_are_served_or_refused(talk: Talk) -> None:
    """A bookie MAY bound how many polls of a connection wait; one more MUST be answered ETOOMANYREQUESTS, neither
    dropped nor paid for with the connection."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42])
    reader, frames = talk.line("reader"), [poll(talk, ledger, 0, LONG_MS) for _ in range(1200)]
    reader.send_bytes(b"".join(map(with_length, frames)))
    read = talk.requests.read(ledger, 0)
    reader.send(read)
    talk.expect_answer(read, EOK, reader)
    store_ids(talk, ledger, (2,))
    open_ids = set(map(txn_id_of, frames))
    while open_ids:
        reply = talk.expect_reply(reader.receive())
        talk.check_that(reply.request_id in open_ids, "a reply", "that to a poll that is still open", reply)
        open_ids.remove(reply.request_id)
        if reply.status is not ETOOMANYREQUESTS:
            talk.check_reply(reply, EOK, entry_id=1, body=bodies[1], max_lac=1)
    talk.expect_open(reader)


@case(
    "BKW-POLL-022",
    MUST,
    "sec-long-poll-states",
    sends="Long polls without ENTRY_PIGGYBACK of an entry that is there and one that is added later; an add "
    "that confirms.",
    accepts="After the add what reads of these entries bring, with `max_lac` and without `lac_update_timestamp`.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def without_piggyback_the_read_is_of_after_the_wait(talk: Talk) -> None:
    """Without ENTRY_PIGGYBACK the entry MUST be read after the wait: one that came meanwhile is found."""
    ledger = talk.new_ledger()
    bodies = [*store_run(talk, ledger, [41, 42]), entry_of_size(talk, ledger, 2, 43)]
    reader = talk.line("reader")
    frames = [poll(talk, ledger, 0, LONG_MS, entry_id=entry_id, flag=None) for entry_id in (1, 2)]
    reader.send(*frames)
    expect_wait(talk, reader, *frames)
    talk.expect(talk.requests.add(ledger, 2, body=bodies[2]), EOK)
    for entry_id, frame in zip((1, 2), frames, strict=True):
        reply = talk.answer(frame, reader)
        check_part(talk, reply, EOK, ledger_id=ledger, entry_id=entry_id, body=bodies[entry_id], max_lac=1)
