"""Fencing reads: what a fence changes, for which requests, and what leaves it in place."""

from compat_tests.bookie.expected_replies import expect_exactly_read
from compat_tests.bookie.stored_entries import expect_absent, expect_stored, fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EFENCED, ENOENTRY, EOK, EUA


@case(
    "BKW-FENCE-001",
    MUST,
    "sec-fencing-bookie",
    sends="A fencing read of the last entry, then plain adds on that connection and on two others: one that has added "
    "to the ledger before, and a new one.",
    accepts="EOK with the entry; EFENCED for every add, and nothing is stored.",
    provenance="BK#4701",
)
def once_answered_a_fence_holds_on_every_connection(talk: Talk) -> None:
    """Once a fencing read is answered a bookie MUST refuse every plain add to the ledger, on whatever connection, with
    EFENCED, and MUST NOT store it."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    fencer = talk.line("fencer")
    talk.expect(talk.requests.fence(ledger), EOK, fencer, body=bodies[2])
    for line in (fencer, talk.main, talk.line("new")):
        for entry_id in (3, 1, 1000):
            talk.expect(talk.requests.add(ledger, entry_id), EFENCED, line)
    expect_absent(talk, ledger, 3, 1000)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-FENCE-002",
    MUST,
    "sec-fencing-bookie",
    sends="A fence in one dialect, adds in the other one.",
    accepts="EFENCED in the other one as well.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
    needs=("v2", "v3"),
)
def a_fence_holds_in_both_dialects(talk: Talk) -> None:
    """A fence MUST hold for adds of either dialect, whichever it was made in."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    talk.expect(talk.requests.fence(ledger), EOK)
    other = talk.line("the other dialect")
    add = v3_requests.add(ledger, 1) if talk.dialect is V2 else v2_requests.add(ledger, 1)
    recovery = v3_requests.add(ledger, 1, flag=1) if talk.dialect is V2 else v2_requests.add(ledger, 1, flags=2)
    talk.expect(add, EFENCED, other)
    expect_absent(talk, ledger, 1)
    talk.expect(recovery, EOK, other)


@case(
    "BKW-FENCE-003",
    MUST,
    "sec-fencing-states",
    sends="A fence of an unknown ledger; reads; adds; then recovery adds with another key and with the right one.",
    accepts="ENOENTRY; reads are ENOENTRY now, not ENOLEDGER; EFENCED; EUA; EOK, and the entry is there.",
    provenance="the source of Java 4.9 to 4.18",
)
def fencing_an_unknown_ledger_makes_it_with_the_key(talk: Talk) -> None:
    """A bookie MUST make an unknown ledger that is fenced, with the key of the fencing read, so that the old writer
    cannot begin it."""
    ledger = talk.new_ledger()
    expect_exactly_read(talk, talk.requests.fence(ledger), ENOENTRY, ledger, LAST_ENTRY)
    for entry_id in (0, LAST_ENTRY):
        talk.expect(talk.requests.read(ledger, entry_id), ENOENTRY)
    talk.expect(talk.requests.add(ledger, 0), EFENCED)
    talk.expect(talk.requests.add(ledger, 0, recovery=True, key=OTHER_KEY), EUA)
    talk.expect(talk.requests.fence(ledger, key=OTHER_KEY), EUA)
    expect_absent(talk, ledger, 0)
    talk.expect(talk.requests.add(ledger, 0, body=make_entry(ledger, 0), recovery=True), EOK)
    talk.expect(talk.requests.fence(ledger), EOK, body=make_entry(ledger, 0))


@case(
    "BKW-FENCE-004",
    MUST,
    "sec-fencing-states",
    sends="Fencing reads of a fenced ledger: five one after the other, of the last entry, of each entry, of a missing "
    "one.",
    accepts="The entry, or ENOENTRY, each time; the ledger is still fenced.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def a_fenced_ledger_may_be_fenced_again(talk: Talk) -> None:
    """A fencing read of a fenced ledger MUST be answered as the first one was: recovery reads every entry that way."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    for _ in range(5):
        talk.expect(talk.requests.fence(ledger), EOK, body=bodies[2])
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.fence(ledger, entry_id), EOK, body=body)
    expect_exactly_read(talk, talk.requests.fence(ledger, 3), ENOENTRY, ledger, 3)
    talk.expect(talk.requests.add(ledger, 3), EFENCED)


@case(
    "BKW-FENCE-005",
    MUST,
    "sec-fencing-states",
    sends="Recovery adds to a fenced ledger, without and with high priority, of new entries and of one that is there; "
    "plain adds, with and without high priority, between them.",
    accepts="EOK for every recovery add, and the entries are there; EFENCED for every other one.",
    provenance="BK#3783, BK#4163",
)
def recovery_adds_pass_the_fence_and_nothing_else_does(talk: Talk) -> None:
    """A bookie MUST take recovery adds to a fenced ledger, of any priority, and MUST refuse all others; the ledger
    stays fenced."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    talk.expect(talk.requests.fence(ledger), EOK)
    for entry_id, high_priority in ((2, False), (3, True), (7, True), (1, False)):
        body = make_entry(ledger, entry_id)
        add = talk.requests.add(ledger, entry_id, body=body, recovery=True, high_priority=high_priority)
        talk.expect(add, EOK)
        for priority in (False, True):
            talk.expect(talk.requests.add(ledger, 20, high_priority=priority), EFENCED)
    expect_stored(talk, ledger, {**dict(enumerate(bodies)), **{each: make_entry(ledger, each) for each in (2, 3, 7)}})
    expect_absent(talk, ledger, 20)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=make_entry(ledger, 7))


@case(
    "BKW-FENCE-006",
    MUST,
    "sec-fencing-bookie",
    sends="A fence of one of several ledgers, whose ids differ by 1, 2^16, 2^31 and 2^32.",
    accepts="EFENCED for the one, EOK for adds to all others.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def a_fence_is_of_one_ledger(talk: Talk) -> None:
    """A fence MUST NOT reach beyond its ledger."""
    ledger = talk.new_ledger()
    others = [ledger + step for step in (1, 1 << 16, 1 << 31, 1 << 32)]
    for each in (ledger, *others):
        talk.expect(talk.requests.add(each, 0), EOK)
    talk.expect(talk.requests.fence(ledger), EOK)
    talk.expect(talk.requests.add(ledger, 1), EFENCED)
    for each in others:
        talk.expect(talk.requests.add(each, 1), EOK)


@case(
    "BKW-FENCE-007",
    MUST,
    "sec-read-entry-v3",
    sends="Fencing reads of entry 0 and of the last entry.",
    accepts="EOK with ids and body, and no max_lac.",
    dialects=(V3,),
    provenance="the source of Java 4.9 to 4.18",
)
def a_fencing_read_tells_no_max_lac(talk: Talk) -> None:
    """The reply to a V3 fencing read MUST NOT carry max_lac: recovery takes the last add confirmed from the entry."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    for entry_id, body in ((0, bodies[0]), (LAST_ENTRY, bodies[2])):
        expect_exactly_read(talk, talk.requests.fence(ledger, entry_id), EOK, ledger, entry_id, body)


@case(
    "BKW-FENCE-008",
    MUST,
    "sec-read-entry-flags",
    sends="Fencing reads with the high-priority flag (V2: flags 5), as recovery sends them, of every entry and one "
    "more.",
    accepts="The entries, then ENOENTRY; the ledger is fenced from the first one on.",
    provenance="the source of Java 4.9 to 4.18",
)
def recovery_reads_fence(talk: Talk) -> None:
    """A fencing read of high priority, of whatever entry, MUST fence the ledger as any other does."""
    for first in (0, 2, 5):
        ledger = talk.new_ledger()
        bodies = fill(talk, ledger, 3)
        frame = talk.requests.read(ledger, first, fencing=True, key=KEY, high_priority=True)
        reply = talk.ask(frame)
        talk.check("status", reply.status, EOK if first < 3 else ENOENTRY)
        talk.check("body", reply.body, bodies[first] if first < 3 else b"")
        talk.expect(talk.requests.add(ledger, 3), EFENCED)
