"""Long poll: what ends a wait, what does not, and that waiting harms nobody."""

import time
from functools import partial

from compat_tests.bookie.lacs import expect_written
from compat_tests.bookie.runs import WRITER, check_part, entry_of_size, store, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.bookie.waits import LONG_MS, SETTLES_S, SHORT_MS, expect_wait, in_time, poll, with_update_time
from compat_tests.judge.case import MUST, SHOULD, V3, case
from compat_tests.wire.entries import entry
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply, Silence
from protocol_specs.fields import NO_ENTRY
from protocol_specs.wire.status import EOK

_NEEDS = ("long-poll",)
_PATIENCE_S = 2.0
"""How long the reply may take after the event that ends the wait."""
_CLOCKS_APART_S = 24 * 3600
"""How far the bookie's clock may be from ours."""


@case(
    "BKW-POLL-013",
    MUST,
    "sec-long-poll-wait",
    sends="A long poll with ENTRY_PIGGYBACK that has to wait, then on another connection an add that confirms "
    "the next entry.",
    accepts="Nothing before; then the entry behind `previous_lac`, `max_lac`, and the time of the update.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="capture of Java 4.9.2 to 4.18.0, BK#2747",
)
def an_add_that_confirms_ends_the_wait(talk: Talk) -> None:
    """A wait MUST end when an add carries a last add confirmed above `previous_lac`, with the entry behind that, and
    with the time of the update, in ms since 1970."""

    def attempt(settle_s: float) -> Reply:
        ledger = talk.new_ledger()
        bodies = store_run(talk, ledger, [41, 42])
        reader, frame = _start_wait(talk, ledger, 0, settle_s=settle_s)
        store(talk, ledger, {2: entry_of_size(talk, ledger, 2, 43)})
        reply = _expect_wake(talk, reader, frame)
        return talk.check_reply(reply, EOK, ledger_id=ledger, entry_id=1, body=bodies[1], max_lac=1)

    stamp = with_update_time(talk, attempt)
    near = abs(stamp / 1000 - time.time()) < _CLOCKS_APART_S
    talk.check_that(near, "lac_update_timestamp", f"about {time.time() * 1000:.0f}", stamp)


@case(
    "BKW-POLL-014",
    MUST,
    "sec-long-poll-wait",
    sends="A long poll of 900 ms, then adds that carry a last add confirmed no higher, and adds to another "
    "ledger that do.",
    accepts="Nothing before its time is over; then EOK without entry, with the old `max_lac`.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def what_confirms_nothing_does_not_end_it(talk: Talk) -> None:
    """An add that confirms nothing above `previous_lac`, or something in another ledger, MUST NOT end a wait."""
    ledger, other = talk.new_ledger(), talk.new_ledger()
    store_run(talk, ledger, [41, 42])
    started = time.monotonic()
    reader, frame = _start_wait(talk, ledger, 0, 3 * SHORT_MS)
    store(talk, ledger, {2: entry(ledger, 2, 0), 3: entry(ledger, 3, -1)})
    store_run(talk, other, [41, 41, 41])
    reply = talk.answer(frame, reader)
    waited_ms = (time.monotonic() - started) * 1000
    talk.check_that(waited_ms > 2.9 * SHORT_MS, "the wait", f"{3 * SHORT_MS} ms", f"{waited_ms:.0f} ms")
    check_part(talk, reply, EOK, ledger_id=ledger, entry_id=NO_ENTRY, max_lac=0)


@case(
    "BKW-POLL-015",
    MUST,
    "sec-long-poll-wait",
    sends="A long poll that has to wait, then on another connection a WRITE_LAC of what is above `previous_lac`.",
    accepts="The entry behind `previous_lac`, `max_lac`, and the time of the update.",
    dialects=(V3,),
    needs=("long-poll", "explicit-lac"),
    limit_s=20.0,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def an_explicit_last_add_confirmed_ends_the_wait(talk: Talk) -> None:
    """A wait MUST end when a WRITE_LAC raises the last add confirmed above `previous_lac`."""

    def attempt(settle_s: float) -> Reply:
        ledger = talk.new_ledger()
        bodies = store_run(talk, ledger, [41, 42])
        reader, frame = _start_wait(talk, ledger, 0, settle_s=settle_s)
        expect_written(talk, ledger, 1)
        reply = _expect_wake(talk, reader, frame)
        return talk.check_reply(reply, EOK, ledger_id=ledger, entry_id=1, body=bodies[1], max_lac=1)

    with_update_time(talk, attempt)


@case(
    "BKW-POLL-016",
    MUST,
    "sec-long-poll-wait",
    sends="A long poll of 900 ms, then a WRITE_LAC of what the bookie knows; of another ledger one whose "
    "`previous_lac` the bookie does not know yet, then a WRITE_LAC that goes on, but not so far.",
    accepts="Nothing before their time is over; then EOK without entry, with `max_lac`.",
    dialects=(V3,),
    needs=("long-poll", "explicit-lac"),
    provenance="BKW-POLL-014 for WRITE_LAC; seen of Java 4.18.0",
)
def an_explicit_last_add_confirmed_that_passes_nothing_does_not_end_it(talk: Talk) -> None:
    """A WRITE_LAC that confirms nothing above `previous_lac` MUST NOT end a wait: its reader would take the empty
    answer for the end of its time."""
    for previous_lac, written in ((0, 0), (2, 1)):
        ledger = talk.new_ledger()
        store_run(talk, ledger, [41, 42])
        started = time.monotonic()
        reader, frame = _start_wait(talk, ledger, previous_lac, 3 * SHORT_MS)
        expect_written(talk, ledger, written)
        reply = talk.answer(frame, reader)
        waited_ms = (time.monotonic() - started) * 1000
        talk.check_that(waited_ms > 2.9 * SHORT_MS, "the wait", f"{3 * SHORT_MS} ms", f"{waited_ms:.0f} ms")
        check_part(talk, reply, EOK, ledger_id=ledger, entry_id=NO_ENTRY, max_lac=written)


@case(
    "BKW-POLL-017",
    MUST,
    "sec-long-poll-wait",
    sends="A long poll that has to wait, then on another connection a fencing read.",
    accepts="EOK at once: `entry_id` -1, no entry, `max_lac`, no `lac_update_timestamp`.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_fence_ends_the_wait(talk: Talk) -> None:
    """A wait MUST end when the ledger is fenced: its writer will confirm nothing more."""
    for settle_s in SETTLES_S:
        ledger = talk.new_ledger()
        bodies = store_run(talk, ledger, [41, 42])
        reader, frame = _start_wait(talk, ledger, 0, settle_s=settle_s)
        talk.expect(talk.requests.fence(ledger), EOK, body=bodies[1])
        outcome = reader.receive_for(frame, _PATIENCE_S)
        if not isinstance(outcome, Silence):
            break  # otherwise the poll may have arrived after the fence, and wait for the adds of recovery
    check_part(talk, talk.expect_reply(outcome), EOK, ledger_id=ledger, entry_id=NO_ENTRY, max_lac=0)


@case(
    "BKW-POLL-018",
    MUST,
    "sec-long-poll-wait",
    sends="Nine long polls of one ledger on three connections, then an add that confirms.",
    accepts="An answer to each, under its own transaction id, with the entry.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def all_that_wait_for_it_are_answered(talk: Talk) -> None:
    """What ends a wait MUST end all waits that it concerns, on every connection."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42])
    waiting = [(talk.line(name), poll(talk, ledger, 0, LONG_MS)) for name in ("first", "second", "third") * 3]
    for line, frame in waiting:
        line.send(frame)
    expect_wait(talk, *waiting[-1])
    store(talk, ledger, {2: entry_of_size(talk, ledger, 2, 43)})
    for line, frame in waiting:
        talk.check_reply(_expect_wake(talk, line, frame), EOK, entry_id=1, body=bodies[1], max_lac=1)


@case(
    "BKW-POLL-019",
    MUST,
    "sec-long-poll-wait",
    sends="A long poll, and behind it on the same connection an add to another ledger, reads, and a poll that "
    "need not wait.",
    accepts="All of these are answered while the first still waits; that is answered when its ledger goes on.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_connection_that_waits_is_served(talk: Talk) -> None:
    """A waiting poll MUST NOT hold up other requests on its connection."""
    ledger, other = talk.new_ledger(), talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42])
    reader, frame = _start_wait(talk, ledger, 0)
    talk.expect(talk.requests.add(other, 0), EOK, reader)
    for entry_id in (0, 1):
        talk.expect(talk.requests.read(ledger, entry_id), EOK, reader, body=bodies[entry_id], max_lac=0)
    talk.expect(poll(talk, ledger, -1, LONG_MS), EOK, reader, entry_id=0, body=bodies[0])
    expect_wait(talk, reader, frame)
    talk.expect(talk.requests.add(ledger, 2), EOK, reader)
    talk.check_reply(_expect_wake(talk, reader, frame), EOK, entry_id=1, body=bodies[1], max_lac=1)


@case(
    "BKW-POLL-020",
    MUST,
    "sec-long-poll-wait",
    sends="Long polls of one ledger on three connections, of which one is closed and one reset; then an add.",
    accepts="The add is taken, the poll that is left is answered, and the bookie serves on.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def a_client_that_goes_while_it_waits_harms_none(talk: Talk) -> None:
    """A bookie MUST drop the waits of a closed connection; those of others, and the adds that end them, MUST go on."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42])
    frames = {name: poll(talk, ledger, 0, LONG_MS) for name in ("closing", "resetting", "staying")}
    for name, frame in frames.items():
        talk.line(name).send(frame)
    expect_wait(talk, talk.line("staying"), frames["staying"])
    talk.line("closing").close()
    talk.line("resetting").reset()
    store(talk, ledger, {2: entry_of_size(talk, ledger, 2, 43)})
    reply = _expect_wake(talk, talk.line("staying"), frames["staying"])
    talk.check_reply(reply, EOK, entry_id=1, body=bodies[1], max_lac=1)
    talk.expect(talk.requests.add(ledger, 3), EOK, talk.line(WRITER))


@case(
    "BKW-POLL-021",
    MUST,
    "sec-long-poll-wait",
    sends="A writer that adds ten entries one by one, and a reader that polls for each behind the one it has.",
    accepts="Each entry once, in order, while it is written; none before it is confirmed.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="BK#2747",
)
def a_reader_follows_a_writer_entry_by_entry(talk: Talk) -> None:
    """By long polls alone a reader MUST get each entry as soon as it is confirmed, once, and in order."""
    ledger, count = talk.new_ledger(), 10
    bodies = [entry_of_size(talk, ledger, entry_id, 40 + entry_id) for entry_id in range(count + 1)]
    store(talk, ledger, {0: bodies[0]})
    reader = talk.line("reader")
    for known in range(-1, count - 1):
        frame = poll(talk, ledger, known, LONG_MS)
        reader.send(frame)
        store(talk, ledger, {known + 2: bodies[known + 2]})
        reply = in_time(talk, partial(talk.answer, frame, reader))
        talk.check_reply(reply, EOK, entry_id=known + 1, body=bodies[known + 1], max_lac=known + 1)


@case(
    "BKW-POLL-023",
    SHOULD,
    "sec-long-poll-wait",
    sends="A long poll whose `previous_lac` is above the last add confirmed by one; an add that confirms as "
    "much, one that confirms more.",
    accepts="Nothing after the first add; after the second the entry behind `previous_lac`, with the time of the "
    "update.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="a rule of this reference; Java 4.18.0 was seen to forget such a poll",
)
def a_reader_who_knows_more_than_the_bookie_is_not_forgotten(talk: Talk) -> None:
    """An update that does not yet pass `previous_lac` SHOULD NOT end the wait, but leave it waiting for the next:
    another bookie may have told the reader more than this one knows."""
    ledger = talk.new_ledger()
    bodies = [
        *store_run(talk, ledger, [41, 42]),
        entry_of_size(talk, ledger, 2, 43),
        entry_of_size(talk, ledger, 3, 44),
    ]
    reader, frame = _start_wait(talk, ledger, 1, 8000, SETTLES_S[2])
    store(talk, ledger, {2: bodies[2]})
    expect_wait(talk, reader, frame)
    store(talk, ledger, {3: bodies[3]})
    reply = talk.answer(frame, reader)
    talk.check_reply(reply, EOK, entry_id=2, body=bodies[2], max_lac=2)
    woken = reply.part.HasField("lac_update_timestamp")
    talk.check_that(woken, "what ended the wait", "the update", "the end of its time")


def _start_wait(
    talk: Talk, ledger: int, previous_lac: int, time_out: int = LONG_MS, settle_s: float = SETTLES_S[0]
) -> tuple[Line, bytes]:
    """Send a poll on a connection of its own, and require that it waits."""
    reader, frame = talk.line("reader"), poll(talk, ledger, previous_lac, time_out)
    reader.send(frame)
    expect_wait(talk, reader, frame, settle_s=settle_s)
    return reader, frame


def _expect_wake(talk: Talk, line: Line, frame: bytes) -> Reply:
    """The answer to a poll whose wait has ended."""
    return in_time(talk, partial(talk.answer, frame, line))
