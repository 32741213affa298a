"""Fences over crashes and restarts: the client that fenced has counted this bookie, so it must not forget."""

from compat_tests.bookie.batches import expect_prefix
from compat_tests.bookie.cases.crash_entries import LIMIT_S
from compat_tests.bookie.stored_entries import expect_stored, fill, make_entry
from compat_tests.bookie.talk import OwnTalk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire.entries import KEY, OTHER_KEY
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EFENCED, ENOENTRY, EOK, EUA


@case(
    "BKW-CRASH-011",
    MUST,
    "sec-fencing-bookie",
    sends="Three entries, a fence, a kill at once; a start; an add and a recovery add.",
    accepts="EFENCED; EOK, and the last entry is the recovery add's.",
    site="own",
    limit_s=LIMIT_S,
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def the_fence_of_a_known_ledger_survives_a_crash(talk: OwnTalk) -> None:
    """A fence MUST be on disk before the fencing read is answered."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    talk.expect(talk.requests.fence(ledger), EOK, body=bodies[2])
    talk.bookie.crash()
    talk.expect(talk.requests.add(ledger, 3), EFENCED)
    talk.expect(talk.requests.add(ledger, 3, body=make_entry(ledger, 3), recovery=True), EOK)
    expect_stored(talk, ledger, [*bodies, make_entry(ledger, 3)])


@case(
    "BKW-CRASH-012",
    MUST,
    "sec-fencing-java",
    sends="A fence of an unknown ledger; a kill at once; a start; an add.",
    accepts="ENOENTRY for the fence; EFENCED for the add, and nothing is stored.",
    site="own",
    limit_s=LIMIT_S,
    provenance="D14, S1",
)
def the_fence_of_an_unknown_ledger_survives_a_crash(talk: OwnTalk) -> None:
    """The fence of a ledger that the bookie had nothing of MUST survive a crash: the recovery that made it closes the
    ledger, and an entry that the old writer adds afterwards is acknowledged and lost."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger), ENOENTRY)
    talk.expect(talk.requests.add(ledger, 0), EFENCED)
    talk.bookie.crash()
    talk.expect(talk.requests.add(ledger, 0), EFENCED)
    talk.expect(talk.requests.read(ledger, 0), ENOENTRY)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), ENOENTRY)


@case(
    "BKW-CRASH-013",
    MUST,
    "sec-fencing-java",
    sends="A fence of an unknown ledger, two recovery adds; a kill; a start; reads, an add.",
    accepts="The recovered entries are there; EFENCED for the add.",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
    provenance="D14, S1",
)
def the_fence_survives_a_crash_behind_recovery_adds(talk: OwnTalk) -> None:
    """A fence that recovery adds have followed MUST survive a crash, and so MUST those entries."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger), ENOENTRY)
    bodies = [make_entry(ledger, 0), make_entry(ledger, 1)]
    for entry_id, body in enumerate(bodies):
        add = talk.requests.add(ledger, entry_id, body=body, recovery=True, high_priority=True)
        talk.expect(add, EOK)
    talk.bookie.crash()
    expect_stored(talk, ledger, bodies)
    talk.expect(talk.requests.add(ledger, 2), EFENCED)


@case(
    "BKW-CRASH-014",
    MUST,
    "sec-fencing-java",
    sends="Entries; a clean stop, which flushes them; a fence, and no add to any ledger; a clean stop; an add.",
    accepts="EOK with the last entry for the fence, EFENCED for the add.",
    site="own",
    limit_s=LIMIT_S,
    provenance="D15, S2, BK#4843",
)
def the_fence_of_a_flushed_ledger_survives_a_clean_stop(talk: OwnTalk) -> None:
    """A fence MUST survive a stop in order also if nothing was added to the bookie since it was made."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    talk.bookie.restart()
    talk.expect(talk.requests.fence(ledger), EOK, body=bodies[2])
    talk.bookie.restart()
    talk.expect(talk.requests.add(ledger, 3), EFENCED)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-CRASH-015",
    MUST,
    "sec-fencing-bookie",
    sends="As before, but with an add to another ledger between the fence and the stop.",
    accepts="EFENCED for the add to the fenced ledger, EOK for one to the other.",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def a_fence_survives_a_clean_stop_behind_other_adds(talk: OwnTalk) -> None:
    """A fence MUST survive a stop in order, with adds to other ledgers behind it."""
    ledger, other = talk.new_ledger(), talk.new_ledger()
    fill(talk, ledger, 3)
    talk.bookie.restart()
    talk.expect(talk.requests.fence(ledger), EOK)
    talk.expect(talk.requests.add(other, 0), EOK)
    talk.bookie.restart()
    talk.expect(talk.requests.add(ledger, 3), EFENCED)
    talk.expect(talk.requests.add(other, 1), EOK)


@case(
    "BKW-CRASH-016",
    MUST,
    "sec-fencing-bookie",
    sends="Entries; a clean stop; a fence; a kill; an add.",
    accepts="EFENCED.",
    dialects=(V3,),
    site="own",
    limit_s=LIMIT_S,
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def the_fence_of_a_flushed_ledger_survives_a_crash(talk: OwnTalk) -> None:
    """The fence of a ledger whose entries are flushed MUST survive a crash."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 3)
    talk.bookie.restart()
    talk.expect(talk.requests.fence(ledger), EOK)
    talk.bookie.crash()
    talk.expect(talk.requests.add(ledger, 3), EFENCED)


@case(
    "BKW-CRASH-017",
    MUST,
    "sec-fencing-java",
    sends="A fence of an unknown ledger; a clean stop; an add; a second clean stop; an add.",
    accepts="EFENCED for both.",
    dialects=(V3,),
    site="own",
    limit_s=LIMIT_S,
    provenance="D15, S2",
)
def the_fence_of_an_unknown_ledger_survives_clean_stops(talk: OwnTalk) -> None:
    """The fence of a ledger without entries MUST survive stops in order."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger), ENOENTRY)
    for _ in range(2):
        talk.bookie.restart()
        talk.expect(talk.requests.add(ledger, 0), EFENCED)


@case(
    "BKW-CRASH-018",
    MUST,
    "sec-fencing-bookie",
    sends="A batch read that fences a ledger with entries; a kill; an add.",
    accepts="EFENCED.",
    provenance="BP-62; seen of Java 4.18.0",
    needs=("batch-read-v2",),
    since="4.17",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
)
def the_fence_of_a_batch_read_survives_a_crash(talk: OwnTalk) -> None:
    """A fence made by a batch read MUST be on disk before that is answered."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    frame = talk.requests.batch_read(ledger, 0, 10, 100_000, fencing=True, key=KEY)
    expect_prefix(talk, frame, bodies)
    talk.bookie.crash()
    talk.expect(talk.requests.add(ledger, 3), EFENCED)


@case(
    "BKW-CRASH-019",
    MUST,
    "sec-fencing-bookie",
    sends="Entries; a fence that is refused for its key; a kill; an add with the right key.",
    accepts="EUA; EOK: nothing was fenced.",
    provenance="seen of Java 4.18.0",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
)
def a_refused_fence_leaves_no_trace(talk: OwnTalk) -> None:
    """A fence that was refused MUST NOT hold after a restart either."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    talk.expect(talk.requests.fence(ledger, key=OTHER_KEY), EUA)
    talk.bookie.crash()
    talk.expect(talk.requests.add(ledger, 3, body=make_entry(ledger, 3)), EOK)
    expect_stored(talk, ledger, [*bodies, make_entry(ledger, 3)])
