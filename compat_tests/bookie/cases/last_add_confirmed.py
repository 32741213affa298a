"""Explicit last add confirmed: what it changes, and which replies report it."""

from compat_tests.bookie.lacs import expect_lac, expect_written, read_lac, write_lac
from compat_tests.bookie.pipeline import ask_all
from compat_tests.bookie.runs import store, store_ids, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire.entries import OTHER_KEY, entry, explicit_lac
from protocol_specs.wire.status import EFENCED, EIO, ENOENTRY, EOK, EUA

_NEEDS = ("explicit-lac",)


@case(
    "BKW-LAC-001",
    MUST,
    "sec-read-lac",
    sends="READ_LAC of a ledger with entries, with and without an explicit last add confirmed.",
    accepts="EOK with the last entry whole; the body of the WRITE_LAC only once there is one.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def both_last_add_confirmeds_are_told(talk: Talk) -> None:
    """READ_LAC MUST bring the last entry, in which the piggybacked last add confirmed is, and the body of the last
    WRITE_LAC, each if there is one."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 57, 48])
    expect_lac(talk, ledger, last=bodies[2])
    expect_written(talk, ledger, 2)
    expect_lac(talk, ledger, explicit=explicit_lac(ledger, 2), last=bodies[2])


@case(
    "BKW-LAC-002",
    MUST,
    "sec-read-lac",
    sends="Adds of the entries 5, 9, 2 and 7, where 2 confirms more than the others, and READ_LAC after each.",
    accepts="The entry of the highest id each time.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def the_last_entry_is_the_one_of_the_highest_id(talk: Talk) -> None:
    """`last_entry_body` MUST be the stored entry of the highest id: not the one that came last, nor the one that
    confirms most."""
    ledger = talk.new_ledger()
    bodies = {entry_id: entry(ledger, entry_id, 4 if entry_id == 2 else 1) for entry_id in (5, 9, 2, 7)}
    for entry_id, highest in ((5, 5), (9, 9), (2, 9), (7, 9)):
        store(talk, ledger, {entry_id: bodies[entry_id]})
        expect_lac(talk, ledger, last=bodies[highest])


@case(
    "BKW-LAC-004",
    MUST,
    "sec-read-lac",
    sends="READ_LAC, with no key, of an open ledger, then an add; of a fenced one, then an add.",
    accepts="EOK both times; the first add is taken, the second EFENCED.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def reading_it_neither_fences_nor_minds_a_fence(talk: Talk) -> None:
    """READ_LAC asks for no key; it MUST NOT fence, and a fence makes no difference to it."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41])
    expect_lac(talk, ledger, last=bodies[0])
    store(talk, ledger, {1: (second := entry(ledger, 1, 0))})
    talk.expect(talk.requests.fence(ledger), EOK)
    expect_lac(talk, ledger, last=second)
    talk.expect(talk.requests.add(ledger, 2), EFENCED)


@case(
    "BKW-LAC-005",
    MUST,
    "sec-read-lac",
    sends="WRITE_LAC of a ledger without entries, then READ_LAC.",
    accepts="EIO with the body, and no entry.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="S8",
)
def an_explicit_lac_without_entries_is_told_with_eio(talk: Talk) -> None:
    """Where there is an explicit last add confirmed but no entry, READ_LAC MUST bring its body, with EIO: it is no \"no
    such entry\", of which a client would conclude that nothing was written."""
    ledger = talk.new_ledger()
    expect_written(talk, ledger, 5)
    expect_lac(talk, ledger, EIO, explicit=explicit_lac(ledger, 5))


@case(
    "BKW-LAC-006",
    MUST,
    "sec-write-lac",
    sends="WRITE_LAC of an unknown ledger; then reads, and adds and another WRITE_LAC with another key.",
    accepts="EOK; then ENOENTRY for reads, EUA for what has another key, EOK for an add with the right one.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def writing_it_makes_the_ledger_and_keeps_its_key(talk: Talk) -> None:
    """WRITE_LAC of a ledger that the bookie does not know MUST make it, with the key of the request."""
    ledger = talk.new_ledger()
    expect_written(talk, ledger, 0)
    talk.expect(talk.requests.read(ledger, 0), ENOENTRY)
    talk.expect(talk.requests.add(ledger, 0, key=OTHER_KEY), EUA)
    talk.expect(write_lac(talk, ledger, 1, key=OTHER_KEY), EUA)
    talk.expect(talk.requests.add(ledger, 0), EOK)


@case(
    "BKW-LAC-007",
    MUST,
    "sec-write-lac",
    sends="WRITE_LAC with another key, and with an empty one, of a ledger that has an explicit last add confirmed.",
    accepts="EUA; READ_LAC brings the body from before, and reads the `max_lac` from before.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def a_wrong_key_writes_nothing(talk: Talk) -> None:
    """WRITE_LAC MUST be refused with EUA unless its key is that of the ledger, and what was written before MUST
    stay."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41, 41])
    expect_written(talk, ledger, 1)
    for key in (OTHER_KEY, b""):
        talk.expect(write_lac(talk, ledger, 2, key=key), EUA, ledger_id=ledger)
    expect_lac(talk, ledger, explicit=explicit_lac(ledger, 1), last=bodies[2])
    talk.expect(talk.requests.read(ledger, 0), EOK, max_lac=1)


@case(
    "BKW-LAC-008",
    MUST,
    "sec-write-lac",
    sends="WRITE_LAC of a ledger that a read has fenced, then an add.",
    accepts="EOK, and READ_LAC brings its body; the add is EFENCED.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def a_fenced_ledger_takes_it(talk: Talk) -> None:
    """A fence MUST NOT stop WRITE_LAC, and WRITE_LAC MUST NOT lift a fence."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41])
    talk.expect(talk.requests.fence(ledger), EOK)
    expect_written(talk, ledger, 1)
    expect_lac(talk, ledger, explicit=explicit_lac(ledger, 1), last=bodies[1])
    talk.expect(talk.requests.add(ledger, 2), EFENCED)


@case(
    "BKW-LAC-009",
    MUST,
    "sec-write-lac",
    sends="WRITE_LAC of 4, then of 1, a read after each, and a READ_LAC.",
    accepts="EOK each. After the second READ_LAC still brings the body of the 4, and the read a `max_lac` of 4.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="a rule of this reference; Java keeps what was written last",
)
def a_lower_one_does_not_replace_a_higher_one(talk: Talk) -> None:
    """The last add confirmed never goes back: a WRITE_LAC that arrives late, with a lower one, MUST be acknowledged,
    and MUST NOT replace the higher one."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41] * 5)
    expect_written(talk, ledger, 4)
    talk.expect(talk.requests.read(ledger, 0), EOK, max_lac=4)
    expect_written(talk, ledger, 1)
    talk.expect(talk.requests.read(ledger, 0), EOK, max_lac=4)
    expect_lac(talk, ledger, explicit=explicit_lac(ledger, 4), last=bodies[4])


@case(
    "BKW-LAC-010",
    MUST,
    "sec-write-lac",
    sends="Adds and WRITE_LACs in turn, and after each a read.",
    accepts="`max_lac` of the read is the highest that any of them has told so far.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="BK#2747, the source of Java 4.9 to 4.18",
)
def reads_tell_the_highest_of_both(talk: Talk) -> None:
    """What a bookie knows is the highest of all that entries carry and WRITE_LACs say, and reads MUST tell it in
    `max_lac`: above the last entry stored too, as in a striped ledger."""
    ledger = talk.new_ledger()
    steps = (("add", 0, -1), ("write", 0, 0), ("add", 1, 0), ("add", 2, 1), ("write", 2, 2), ("add", 3, 0))
    highest = -1
    for step, entry_id, lac in (*steps, ("write", 0, 7), ("add", 4, 3), ("add", 9, 20), ("write", 0, 12)):
        if step == "add":
            store(talk, ledger, {entry_id: entry(ledger, entry_id, lac)})
        else:
            expect_written(talk, ledger, lac)
        highest = max(highest, lac)
        talk.expect(talk.requests.read(ledger, 0), EOK, max_lac=highest)


@case(
    "BKW-LAC-011",
    MUST,
    "sec-write-lac",
    sends="WRITE_LAC of 9 for a ledger that has the entries 0 and 1, then reads of the entries 2 and 9.",
    accepts="ENOENTRY for both; the last entry stays 1.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def it_makes_no_entries(talk: Talk) -> None:
    """An explicit last add confirmed says what a writer knows, not what this bookie holds: it MUST NOT change which
    entries there are."""
    ledger = talk.new_ledger()
    bodies = store_ids(talk, ledger, (0, 1))
    expect_written(talk, ledger, 9)
    for entry_id in (2, 9):
        talk.expect(talk.requests.read(ledger, entry_id), ENOENTRY)
    talk.expect(talk.requests.read(ledger, -1), EOK, body=bodies[1], max_lac=9)


@case(
    "BKW-LAC-012",
    MUST,
    "sec-write-lac",
    sends="Twenty WRITE_LACs of rising last add confirmeds in one piece, adds and READ_LACs among them.",
    accepts="Each is answered once, by its transaction id; in the end the highest is told.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def several_in_flight_are_told_apart(talk: Talk) -> None:
    """WRITE_LACs and READ_LACs in flight beside each other and beside adds MUST each be answered, under their own
    transaction ids."""
    ledger = talk.new_ledger()
    store_run(talk, ledger, [41])
    frames: list[bytes] = []
    for number in range(20):
        frames += [write_lac(talk, ledger, number), talk.requests.add(ledger, number + 1), read_lac(talk, ledger)]
    for reply in ask_all(talk.line("together"), frames):
        talk.check_reply(reply, EOK, ledger_id=ledger)
    talk.expect(read_lac(talk, ledger), EOK, lac_body=explicit_lac(ledger, 19))


@case(
    "BKW-LAC-003",
    MUST,
    "sec-read-lac",
    sends="READ_LACs on one connection while another adds 200 entries in order.",
    accepts="Each time a whole entry, never one before the last that was acknowledged, nor before the one told last.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="BK#2747, recovery must not miss entries",
)
def the_last_entry_never_goes_back(talk: Talk) -> None:
    """While entries are added, READ_LAC MUST bring one that is not before the last that was acknowledged."""
    ledger, step, newest = talk.new_ledger(), 20, -1
    bodies = [entry(ledger, entry_id, entry_id - 1, b"%d" % entry_id) for entry_id in range(200)]
    writer = talk.line("writer")
    for first in range(0, len(bodies), step):
        adds = [talk.requests.add(ledger, first + index, body=bodies[first + index]) for index in range(step)]
        writer.send(*adds)
        reply = talk.ask(read_lac(talk, ledger))
        if first or reply.status is EOK:
            talk.check_reply(reply, EOK)
            last = reply.part.last_entry_body
            talk.check_that(last in bodies, "the last entry", "one that was added", last)
            talk.check_that(
                bodies.index(last) >= max(newest, first - 1), "the last entry", f"{first - 1} or behind", last
            )
            newest = bodies.index(last)
        for frame in adds:
            talk.expect_answer(frame, EOK, writer)
    expect_lac(talk, ledger, last=bodies[-1])
