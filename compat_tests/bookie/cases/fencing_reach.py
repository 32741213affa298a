"""The reach of a fence: which other requests fence, which do not, and which connections meet the fence."""

from compat_tests.bookie.batches import expect_prefix
from compat_tests.bookie.stored_entries import expect_absent, fill
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

_SIZE = 100_000


@case(
    "BKW-FENCE-021",
    MUST,
    "sec-batch-read-flags",
    sends="Batch reads that fence: with a wrong key, then with the right one; then an add.",
    accepts="EUA without entries, and the ledger takes adds; then EOK with the entries, and EFENCED.",
    needs=("batch-read-{dialect}",),
    since="4.17",
    provenance="BK#4051",
)
def a_batch_read_may_fence(talk: Talk) -> None:
    """A batch read with the fencing flag MUST fence the ledger before it reads, if its key is right, and only then."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    wrong = talk.requests.batch_read(ledger, 0, 10, _SIZE, fencing=True, key=OTHER_KEY)
    talk.expect(wrong, EUA, entries=())
    talk.expect(talk.requests.add(ledger, 3), EOK)
    frame = talk.requests.batch_read(ledger, 0, 3, _SIZE, fencing=True, key=KEY)
    expect_prefix(talk, frame, bodies)
    talk.expect(talk.requests.add(ledger, 4), EFENCED, talk.line("writer"))
    expect_absent(talk, ledger, 4)


@case(
    "BKW-FENCE-022",
    MUST,
    "sec-batch-read-states",
    sends="A batch read that fences an unknown ledger; then an add.",
    accepts="ENOENTRY without entries; EFENCED.",
    provenance="BP-62; seen of Java 4.18.0 (V2)",
    needs=("batch-read-{dialect}",),
    since="4.17",
)
def a_batch_read_may_fence_an_unknown_ledger(talk: Talk) -> None:
    """A batch read that fences an unknown ledger MUST make it, and MUST be answered ENOENTRY."""
    ledger = talk.new_ledger()
    frame = talk.requests.batch_read(ledger, 0, 3, _SIZE, fencing=True, key=KEY)
    talk.expect(frame, ENOENTRY, entries=())
    talk.expect(talk.requests.add(ledger, 0), EFENCED)


@case(
    "BKW-FENCE-023",
    MUST,
    "sec-fencing-states",
    sends="Batch reads with a key but without the flag, and with 19 bytes of key and the flag (which closes), then an "
    "add.",
    accepts="EOK with the entries; closed; the add is EOK: nothing was fenced.",
    dialects=(V2,),
    needs=("batch-read-v2",),
    since="4.17",
    provenance="D10",
)
def a_batch_read_with_a_key_alone_does_not_fence(talk: Talk) -> None:
    """The key of a V2 batch read MUST be looked at only with the fencing flag, and MUST be whole then."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    expect_prefix(talk, talk.requests.batch_read(ledger, 0, 2, _SIZE, key=KEY), bodies)
    short = v2_requests.batch_read(ledger, 0, 2, _SIZE, flags=1, key=KEY[:19])
    talk.expect_closed(talk.line("short key"), short)
    talk.expect(talk.requests.add(ledger, 2), EOK)


@case(
    "BKW-FENCE-024",
    MUST,
    "sec-fencing-bookie",
    sends="Plain reads, of entries and of -1, of high priority and with a key; in V3 also a READ_LAC, a long poll and "
    "a "
    "FORCE_LEDGER; and a plain add after each.",
    accepts="EOK for every add.",
    provenance="BK#2614, BK#2616",
)
def asking_for_the_last_add_confirmed_does_not_fence(talk: Talk) -> None:
    """Nothing but the fencing flag of a read MUST fence: readers that follow a ledger would end it."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 2)
    frames = [talk.requests.read(ledger, LAST_ENTRY), talk.requests.read(ledger, LAST_ENTRY, high_priority=True)]
    frames += [talk.requests.read(ledger, 0, key=KEY), talk.requests.read(ledger, 7)]
    if talk.dialect is V3:
        frames += [v3_requests.read_lac(ledger, txn_id=1), v3_requests.poll(ledger, NO_ENTRY, 0, txn_id=2)]
        frames.append(v3_requests.force(ledger, txn_id=3))
    for entry_id, frame in enumerate(frames, 2):
        talk.ask(frame)
        talk.expect(talk.requests.add(ledger, entry_id), EOK, talk.line("writer"))


@case(
    "BKW-FENCE-026",
    MUST,
    "sec-fencing-states",
    sends="An add, an answered fence, and a read of an entry and of an unknown ledger, on a connection that is closed "
    "before the next step; then an add on a new one.",
    accepts="EFENCED: the fence is the ledger's, not the connection's.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def a_fence_outlives_its_connection(talk: Talk) -> None:
    """A fence MUST outlive the connection that it came on."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    fill(talk, ledger, 1)
    fencer = talk.line("fencer")
    talk.expect(talk.requests.fence(ledger), EOK, fencer)
    fencer.send(talk.requests.fence(unknown))
    talk.check("status", talk.expect_reply(fencer.receive()).status, ENOENTRY)
    fencer.reset()
    talk.expect(talk.requests.add(ledger, 1), EFENCED, talk.line("after it"))
    talk.expect(talk.requests.add(unknown, 0), EFENCED, talk.line("after it"))
    talk.expect(talk.requests.read(talk.new_ledger(), 0), ENOLEDGER)
