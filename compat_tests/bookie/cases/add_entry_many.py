"""Many adds under way at once: each has its own reply, none is lost, none harms another."""

import threading

from compat_tests.bookie.pipeline import ask_all, collect, statuses
from compat_tests.bookie.stored_entries import expect_absent, expect_stored, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, case
from compat_tests.wire.entries import OTHER_KEY
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EOK

COUNT = 200
LINES = 4


@case(
    "BKW-ADD-029",
    MUST,
    "sec-order",
    sends="200 adds to two ledgers in one segment, their ids going up in one and down in the other.",
    accepts="200 replies EOK, one for each request; all entries are read back.",
    provenance="the source of Java 4.9 to 4.18",
)
def adds_sent_together_are_answered_one_by_one(talk: Talk) -> None:
    """A bookie MUST answer each of many adds on one connection exactly once, whether they share a segment or not."""
    up, down = talk.new_ledger(), talk.new_ledger()
    half = COUNT // 2
    bodies = {ledger: {entry_id: make_entry(ledger, entry_id) for entry_id in range(half)} for ledger in (up, down)}
    frames = []
    for index in range(half):
        for ledger, entry_id in ((up, index), (down, half - 1 - index)):
            frames.append(talk.requests.add(ledger, entry_id, body=bodies[ledger][entry_id]))
    talk.check("the statuses", statuses(ask_all(talk.main, frames)), ["EOK"] * COUNT)
    talk.expect_silence(talk.main, 0.05)
    for ledger in (up, down):
        expect_stored(talk, ledger, bodies[ledger])
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[ledger][half - 1])


@case(
    "BKW-ADD-030",
    MUST,
    "sec-v2-matching",
    sends="The same add ten times in one segment.",
    accepts="Ten replies EOK and no more.",
    provenance="BK#719, BK#1547",
)
def equal_adds_sent_together_each_have_a_reply(talk: Talk) -> None:
    """A bookie MUST answer each of several equal adds: of V2, their replies are equal too, and are counted."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0)
    replies = ask_all(talk.main, [talk.requests.add(ledger, 0, body=body) for _ in range(10)])
    talk.check("the statuses", statuses(replies), ["EOK"] * 10)
    talk.expect_silence(talk.main, 0.1)
    expect_stored(talk, ledger, [body])


@case(
    "BKW-ADD-031",
    MUST,
    "sec-order",
    sends="50 adds of one ledger on each of four connections, at the same time.",
    accepts="Each connection gets the replies to its own adds, all EOK; all 200 entries are read back.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def adds_on_many_connections_are_all_kept(talk: Talk) -> None:
    """A bookie MUST take adds to one ledger on any number of connections, and MUST answer each where it came from."""
    ledger = talk.new_ledger()
    bodies = {entry_id: make_entry(ledger, entry_id) for entry_id in range(COUNT)}
    lines = [talk.line(f"writer {index}") for index in range(LINES)]
    frames = [
        [talk.requests.add(ledger, entry_id, body=bodies[entry_id]) for entry_id in range(index, COUNT, LINES)]
        for index in range(LINES)
    ]
    threads = [
        threading.Thread(target=line.send, args=own, daemon=True) for line, own in zip(lines, frames, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(talk.left_s())
    for line, own in zip(lines, frames, strict=True):
        talk.check(f"the statuses on {line.name}", statuses(collect(line, own)), ["EOK"] * len(own))
        talk.expect_silence(line, 0.02)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-ADD-032",
    MUST,
    "sec-order",
    sends="60 adds in one segment, every third with a wrong key and every fifth too short, between good ones.",
    accepts="EUA for those, EBADREQ for those, EOK for the others, which are all there.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def bad_adds_do_not_harm_those_beside_them(talk: Talk) -> None:
    """An add that is refused MUST NOT harm others in flight on its connection."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0, body=make_entry(ledger, 0)), EOK)
    frames, wanted = [], []
    for entry_id in range(1, 61):
        body = make_entry(ledger, entry_id)
        if entry_id % 5 == 0:
            frames.append(talk.requests.add(ledger, entry_id, body=body[:20]))
            wanted.append("EBADREQ")
        elif entry_id % 3 == 0:
            frames.append(talk.requests.add(ledger, entry_id, body=body, key=OTHER_KEY))
            wanted.append("EUA")
        else:
            frames.append(talk.requests.add(ledger, entry_id, body=body))
            wanted.append("EOK")
    talk.check("the statuses", statuses(ask_all(talk.main, frames)), wanted)
    good = [entry_id for entry_id, status in enumerate(wanted, 1) if status == "EOK"]
    expect_stored(talk, ledger, {entry_id: make_entry(ledger, entry_id) for entry_id in good})
    expect_absent(talk, ledger, *(each for each in range(1, 61) if each not in good))
