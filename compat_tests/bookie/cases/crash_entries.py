"""Entries over crashes and restarts: what was acknowledged is there, byte for byte, and nothing else is."""

from operator import eq

from compat_tests.bookie.batches import expect_prefix
from compat_tests.bookie.pipeline import ask_all, statuses
from compat_tests.bookie.scoped_entries import add_within, fence_within, read_within, scoped_entry
from compat_tests.bookie.stored_entries import expect_absent, expect_stored, fill, make_entry
from compat_tests.bookie.talk import OwnTalk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests
from compat_tests.wire.entries import OTHER_KEY, entry
from compat_tests.wire.line import with_length
from protocol_specs.fields import ENTRY_SIZE_MIN, LAST_ENTRY
from protocol_specs.wire.status import EBADREQ, EBADVERSION, EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

#: A Java bookie takes seconds to start, on a busy machine many.
LIMIT_S = 120.0


@case(
    "BKW-CRASH-001",
    MUST,
    "sec-add-entry-order",
    sends="300 adds to three ledgers, many at a time; a kill (SIGKILL) as soon as all are acknowledged; a start; "
    "reads.",
    accepts="Every entry, byte for byte, by its id, as the last one, and in a batch; ENOENTRY behind them.",
    site="own",
    limit_s=LIMIT_S,
    provenance="BK#3979, BK#3837",
)
def acknowledged_entries_survive_a_crash(talk: OwnTalk) -> None:
    """A bookie MUST have an entry on disk before it acknowledges it: no crash of the process may lose one."""
    ledgers = {talk.new_ledger(): count for count in (200, 99, 1)}
    bodies = {ledger: fill(talk, ledger, count, size=200) for ledger, count in ledgers.items()}
    talk.bookie.crash()
    for ledger, count in ledgers.items():
        expect_stored(talk, ledger, bodies[ledger])
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[ledger][-1])
        expect_absent(talk, ledger, count)
        if f"batch-read-{talk.dialect.lower()}" in talk.features:
            expect_prefix(talk, talk.requests.batch_read(ledger, 0, 10, 100_000), bodies[ledger][:10])
    talk.expect(talk.requests.read(talk.new_ledger(), 0), ENOLEDGER)


@case(
    "BKW-CRASH-002",
    MUST,
    "sec-add-entry-order",
    sends="400 adds in one go; a kill when a quarter of them is acknowledged; a start; a read of each.",
    accepts="Every acknowledged entry; of the others each is there as it was sent, or ENOENTRY.",
    site="own",
    limit_s=LIMIT_S,
    provenance="BK#2220",
)
def a_crash_amid_adds_loses_none_that_was_acknowledged(talk: OwnTalk) -> None:
    """After a crash amid adds every entry that was acknowledged MUST be there, and none may be there in part."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id, 500) for entry_id in range(400)]
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    talk.main.send(*frames)
    acknowledged = set()
    for _ in range(100):
        reply = talk.expect_reply(talk.main.receive())
        talk.check("the status of an add", reply.status, EOK)
        acknowledged.add(reply.entry_id)
    talk.bookie.crash()
    replies = ask_all(talk.main, [talk.requests.read(ledger, entry_id) for entry_id in range(400)])
    for entry_id, (reply, body) in enumerate(zip(replies, bodies, strict=True)):
        if entry_id in acknowledged:
            talk.check_reply(reply, EOK, body=body)
        elif reply.status is not ENOENTRY:
            talk.check(f"the status of a read of entry {entry_id}", reply.status, EOK)
            alike = f"in part: {sum(map(eq, reply.body or b'', body))} of {len(body)} bytes as they were sent"
            talk.check_that(reply.body == body, f"entry {entry_id}, never acknowledged", "whole or absent", alike)


@case(
    "BKW-CRASH-003",
    MUST,
    "sec-journal-replay",
    sends="Adds, a kill, a second kill with nothing between, a clean stop; reads and more adds after each start.",
    accepts="Every entry so far.",
    provenance="seen of Java 4.18.0",
    dialects=(V3,),
    site="own",
    limit_s=LIMIT_S,
)
def entries_survive_crash_after_crash(talk: OwnTalk) -> None:
    """What a bookie has recovered from its journal MUST survive the next crash and the next stop as well."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 20)
    for end in (talk.bookie.crash, talk.bookie.crash, talk.bookie.restart):
        end()
        expect_stored(talk, ledger, bodies)
        expect_absent(talk, ledger, len(bodies))
        bodies += fill(talk, ledger, 20, first=len(bodies))


@case(
    "BKW-CRASH-004",
    MUST,
    "sec-journal-replay",
    sends="Adds to two ledgers, one with holes; a clean stop; a start; reads; a further clean stop; reads.",
    accepts="Every entry, byte for byte; the last ones; ENOENTRY for the holes.",
    provenance="seen of Java 4.18.0",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
)
def entries_survive_clean_stops(talk: OwnTalk) -> None:
    """A stop in order MUST keep every entry where reads find it."""
    ledger, with_holes = talk.new_ledger(), talk.new_ledger()
    bodies = dict(enumerate(fill(talk, ledger, 100, size=300)))
    spread = {entry_id: make_entry(with_holes, entry_id) for entry_id in (3, 1000, 5, 70_000)}
    for entry_id, body in spread.items():
        talk.expect(talk.requests.add(with_holes, entry_id, body=body), EOK)
    for _ in range(2):
        talk.bookie.restart()
        expect_stored(talk, ledger, bodies)
        expect_stored(talk, with_holes, spread)
        expect_absent(talk, with_holes, 0, 4, 999, 1001, 70_001)
        talk.expect(talk.requests.read(with_holes, LAST_ENTRY), EOK, body=spread[70_000])


@case(
    "BKW-CRASH-005",
    MUST,
    "sec-add-entry-order",
    sends="Entries of 24 bytes to 1 MiB; a kill; reads; a clean stop; reads.",
    accepts="Each byte for byte both times.",
    provenance="seen of Java 4.18.0",
    dialects=(V3,),
    site="own",
    limit_s=LIMIT_S,
)
def entries_of_every_size_survive(talk: OwnTalk) -> None:
    """An entry of any size MUST be after a restart, byte for byte, what it was before."""
    ledger = talk.new_ledger()
    bodies = [entry(ledger, 0, -1)[:ENTRY_SIZE_MIN]]
    for size in (0, 1, 479, 480, 511, 512, 4095, 16_384, 100_000, 1 << 20):
        bodies.append(entry(ledger, len(bodies), len(bodies) - 1, talk.random.randbytes(size)))
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    talk.check("the statuses", statuses(ask_all(talk.main, frames)), ["EOK"] * len(bodies))
    for end in (talk.bookie.crash, talk.bookie.restart):
        end()
        expect_stored(talk, ledger, bodies)


@case(
    "BKW-CRASH-006",
    MUST,
    "sec-journal-replay",
    sends="An entry; half of an add of a large one; a kill; a start; reads; the whole add.",
    accepts="The bookie starts; the first entry is there, the torn one is ENOENTRY until it is added whole.",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
    provenance="BK#2220, BK#3949",
)
def a_torn_request_leaves_nothing(talk: OwnTalk) -> None:
    """A bookie that is killed while a request arrives MUST start again, with nothing of that request."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    torn = make_entry(ledger, 2, 100_000)
    data = with_length(talk.requests.add(ledger, 2, body=torn))
    talk.main.send_bytes(data[: len(data) // 2])
    talk.wait(0.05)
    talk.bookie.crash()
    expect_stored(talk, ledger, bodies)
    expect_absent(talk, ledger, 2)
    talk.expect(talk.requests.add(ledger, 2, body=torn), EOK)
    expect_stored(talk, ledger, [*bodies, torn])


@case(
    "BKW-CRASH-007",
    MUST,
    "sec-add-entry-order",
    sends="Adds that are refused, for a wrong key, a version, a fence, and their size; a kill; reads.",
    accepts="ENOENTRY for each of them, and the fence still holds.",
    provenance="seen of Java 4.18.0",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
)
def what_was_refused_does_not_come_back(talk: OwnTalk) -> None:
    """An add that a bookie has refused MUST NOT be there after a restart."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    talk.expect(talk.requests.add(ledger, 1, key=OTHER_KEY), EUA)
    talk.expect(v2_requests.add(ledger, 2, version=3), EBADVERSION)
    talk.expect(talk.requests.add(ledger, 3, body=entry(ledger, 3)[:20]), EBADREQ)
    talk.expect(talk.requests.fence(ledger), EOK)
    talk.expect(talk.requests.add(ledger, 4), EFENCED)
    talk.bookie.crash()
    expect_absent(talk, ledger, 1, 2, 3, 4)
    expect_stored(talk, ledger, bodies)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[0])
    talk.expect(talk.requests.add(ledger, 5), EFENCED)


@case(
    "BKW-CRASH-008",
    MUST,
    "sec-add-entry-order",
    sends="An entry twice, with other bytes the second time; a kill; a read; the second one again; a read.",
    accepts="EOK for the adds; the first copy every time.",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
    provenance="PL#22906, BK#1066",
)
def the_first_copy_stays_over_a_crash(talk: OwnTalk) -> None:
    """Of two acknowledged entries of the same ids the first MUST stay, over a crash too."""
    ledger = talk.new_ledger()
    first, second = make_entry(ledger, 0, 50), make_entry(ledger, 0, 70, mark=1)
    for body in (first, second):
        talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    talk.bookie.crash()
    expect_stored(talk, ledger, [first])
    talk.expect(talk.requests.add(ledger, 0, body=second), EOK)
    expect_stored(talk, ledger, [first])


@case(
    "BKW-CRASH-009",
    MUST,
    "sec-add-entry-order",
    sends="An entry; a clean stop; an entry of the same ids with other bytes; reads before and after another clean "
    "stop.",
    accepts="EOK for the adds; the first copy every time.",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
    provenance="PL#22906, BK#1066",
)
def the_first_copy_stays_when_it_is_on_disk(talk: OwnTalk) -> None:
    """An entry that was flushed MUST NOT be replaced by one of the same ids that comes later."""
    ledger = talk.new_ledger()
    first, second = make_entry(ledger, 0, 50), make_entry(ledger, 0, 70, mark=1)
    talk.expect(talk.requests.add(ledger, 0, body=first), EOK)
    talk.bookie.restart()
    talk.expect(talk.requests.add(ledger, 0, body=second), EOK)
    expect_stored(talk, ledger, [first])
    talk.bookie.restart()
    expect_stored(talk, ledger, [first])


@case(
    "BKW-CRASH-010",
    MUST,
    "sec-scope-storage",
    sends="Entries of one ledger id in scopes 0, 1 and -1, and a fence in scope 1; a kill; reads and adds; a clean "
    "stop; "
    "the same.",
    accepts="Each scope has its own entries and its own fence both times.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=("scopes",),
    site="own",
    limit_s=LIMIT_S,
)
def scopes_survive(talk: OwnTalk) -> None:
    """Entries and fences of ledgers in scopes MUST survive crashes and stops, each in its own scope."""
    ledger = talk.new_ledger()
    for scope in (0, 1, -1):
        add_within(talk, scope, ledger, 0)
    fence_within(talk, 1, ledger, EOK, scoped_entry(1, ledger, 0))
    for next_id, end in enumerate((talk.bookie.crash, talk.bookie.restart), 1):
        end()
        for scope in (0, 1, -1):
            read_within(talk, scope, ledger, 0)
        add_within(talk, 1, ledger, next_id, EFENCED)
        for scope in (0, -1):
            add_within(talk, scope, ledger, next_id)
            read_within(talk, scope, ledger, next_id)
