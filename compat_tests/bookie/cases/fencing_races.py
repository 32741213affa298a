"""Fences among adds that are under way: what was acknowledged is there, and what comes later is refused."""

from compat_tests.bookie.pipeline import ask_all, ask_until_served, collect, statuses
from compat_tests.bookie.stored_entries import expect_stored, fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, case
from compat_tests.wire.line import Line
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EFENCED, ENOENTRY, EOK, ETOOMANYREQUESTS

WRITERS = 3
ROUNDS = 8
ADDS_EACH = 25


@case(
    "BKW-FENCE-017",
    MUST,
    "sec-fencing-bookie",
    sends="Eight times: 25 adds of one ledger on each of three connections, a fence on a fourth in their midst, and, "
    "as soon as that is answered, a read of every entry on the fencing connection.",
    accepts="Each add is answered EOK or EFENCED. What is EOK was there when the fence was answered; what was not "
    "there then is never acknowledged. A read may be refused as one too many, which tells nothing.",
    provenance="BK#4701 (AddAfterFenceNeverAcked)",
)
def no_add_is_acknowledged_behind_a_fence(talk: Talk) -> None:
    """When a fencing read is answered every add that the bookie will ever acknowledge MUST be readable already: a
    recovering client counts what is missing then as never written."""
    writers = [talk.line(f"writer {index}") for index in range(WRITERS)]
    fencer = talk.line("fencer")
    for turn in range(ROUNDS):
        ledger = talk.new_ledger()
        talk.expect(talk.requests.add(ledger, 0, body=make_entry(ledger, 0)), EOK)
        _race(talk, ledger, writers, fencer, turn)


def _race(talk: Talk, ledger: int, writers: list[Line], fencer: Line, turn: int) -> None:
    adds = [
        {entry_id: talk.requests.add(ledger, entry_id, body=make_entry(ledger, entry_id)) for entry_id in _ids(index)}
        for index in range(WRITERS)
    ]
    fence = talk.requests.fence(ledger)
    for index, writer in enumerate(writers):
        if index == turn % (WRITERS + 1):
            fencer.send(fence)
        writer.send(*adds[index].values())
    if turn % (WRITERS + 1) == WRITERS:
        fencer.send(fence)
    talk.expect_answer(fence, EOK, fencer)
    ids = sorted(entry_id for each in adds for entry_id in each)
    reads = ask_all(fencer, [talk.requests.read(ledger, entry_id) for entry_id in ids])
    there = {entry_id for entry_id, reply in zip(ids, reads, strict=True) if reply.status is EOK}
    untold = {entry_id for entry_id, reply in zip(ids, reads, strict=True) if reply.status is ETOOMANYREQUESTS}
    for writer, own in zip(writers, adds, strict=True):
        for entry_id, reply in zip(own, collect(writer, list(own.values())), strict=True):
            talk.check_one_of(f"the status of the add of entry {entry_id}", reply.status, (EOK, EFENCED))
            if reply.status is EOK and entry_id not in there | untold:
                talk.fail(
                    f"entry {entry_id}",
                    expected="refused, as it was not there when the fence was answered",
                    seen="acknowledged behind the fence",
                )
    talk.expect(talk.requests.add(ledger, 1000), EFENCED, writers[0])
    expect_stored(talk, ledger, {entry_id: make_entry(ledger, entry_id) for entry_id in there})


def _ids(index: int) -> range:
    """The entries of one writer."""
    return range(1 + index, 1 + ADDS_EACH * WRITERS, WRITERS)


@case(
    "BKW-FENCE-018",
    MUST,
    "sec-fencing-bookie",
    sends="30 adds, a fence and 30 more adds in one segment, eight times.",
    accepts="Each is answered; adds EOK or EFENCED; those that are EOK are there, those that are EFENCED are not.",
    provenance="S13, BK#4701",
)
def adds_around_a_fence_are_stored_or_refused(talk: Talk) -> None:
    """Of adds in flight beside a fence a bookie MUST store exactly those that it acknowledges."""
    for _ in range(ROUNDS):
        ledger = talk.new_ledger()
        fill(talk, ledger, 1)
        adds = {
            entry_id: talk.requests.add(ledger, entry_id, body=make_entry(ledger, entry_id))
            for entry_id in range(1, 61)
        }
        frames = list(adds.values())
        fence = talk.requests.fence(ledger)
        replies = ask_all(talk.main, [*frames[:30], fence, *frames[30:]])
        talk.check("the status of the fence", replies.pop(30).status, EOK)
        wrong = set(statuses(replies)) - {"EOK", "EFENCED"}
        talk.check("other statuses of the adds", sorted(wrong), [])
        reads = ask_until_served(talk.main, [talk.requests.read(ledger, entry_id) for entry_id in adds])
        for entry_id, added, read in zip(adds, replies, reads, strict=True):
            wanted = EOK if added.status is EOK else ENOENTRY
            talk.check(f"the status of a read of entry {entry_id}, {status_text(added)}", read.status, wanted)


def status_text(reply: object) -> str:
    """How an add was answered, for a message."""
    status = getattr(reply, "status", None)
    return f"whose add was answered {status.name}" if status else "whose add was not answered"


@case(
    "BKW-FENCE-019",
    MUST,
    "sec-fencing-bookie",
    sends="Fences of one ledger on four connections at once, three times each, while a fifth one adds.",
    accepts="All fences are answered EOK with an entry, and the ledger is fenced.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def several_may_fence_at_once(talk: Talk) -> None:
    """A bookie MUST answer every one of several fencing reads of the same ledger that come at once."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    writer = talk.line("writer")
    adds = [talk.requests.add(ledger, entry_id, body=make_entry(ledger, entry_id)) for entry_id in range(1, 40)]
    fencers = {talk.line(f"fencer {index}"): [talk.requests.fence(ledger) for _ in range(3)] for index in range(4)}
    writer.send(*adds)
    for line, frames in fencers.items():
        line.send(*frames)
    highest = 0
    for line, frames in fencers.items():
        for reply in collect(line, frames):
            talk.check("status", reply.status, EOK)
            highest = max(highest, int.from_bytes(reply.body[8:16], "big"))
    added = [entry_id for entry_id, reply in enumerate(collect(writer, adds), 1) if reply.status is EOK]
    talk.check_that(max(added, default=0) <= highest, "the last entry acknowledged", f"at most {highest}", added)
    talk.expect(talk.requests.add(ledger, 100), EFENCED)


@case(
    "BKW-FENCE-020",
    MUST,
    "sec-order",
    sends="Fencing reads of 50 entries, and recovery adds of 50 more, in one segment, as a fast recovery would.",
    accepts="Each is answered with its own entry, or EOK; all entries are there.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def recovery_may_read_and_add_at_once(talk: Talk) -> None:
    """A bookie MUST answer each of many fencing reads and recovery adds that are under way at once."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 50)
    reads = [talk.requests.fence(ledger, entry_id) for entry_id in range(50)]
    adds = [
        talk.requests.add(ledger, entry_id, body=make_entry(ledger, entry_id), recovery=True, high_priority=True)
        for entry_id in range(50, 100)
    ]
    mixed = [frame for pair in zip(reads, adds, strict=True) for frame in pair]
    replies = ask_all(talk.main, mixed)
    talk.check("the statuses", statuses(replies), ["EOK"] * 100)
    for entry_id, reply in enumerate(replies[::2]):
        talk.check(f"entry {entry_id}", reply.body, bodies[entry_id])
    expect_stored(talk, ledger, {entry_id: make_entry(ledger, entry_id) for entry_id in range(100)})
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=make_entry(ledger, 99))
