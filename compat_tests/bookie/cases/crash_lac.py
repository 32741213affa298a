"""The last add confirmed and deferred adds over crashes and restarts."""

from compat_tests.bookie.cases.crash_entries import LIMIT_S
from compat_tests.bookie.lacs import expect_lac, expect_written
from compat_tests.bookie.pipeline import ask_all, statuses
from compat_tests.bookie.stored_entries import expect_stored, fill, make_entry
from compat_tests.bookie.talk import OwnTalk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import entry, explicit_lac
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.status import EIO, ENOENTRY, EOK

DEFERRED = int(v3.WriteFlag.DEFERRED_SYNC)


@case(
    "BKW-CRASH-025",
    MUST,
    "sec-write-lac",
    sends="Three entries and a WRITE_LAC of 2; a kill; a READ_LAC and a read.",
    accepts="The body of the WRITE_LAC and the last entry; max_lac 2.",
    provenance="seen of Java 4.18.0",
    dialects=(V3,),
    needs=("explicit-lac",),
    site="own",
    limit_s=LIMIT_S,
)
def an_explicit_lac_survives_a_crash(talk: OwnTalk) -> None:
    """A WRITE_LAC MUST be on disk before it is acknowledged."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    expect_written(talk, ledger, 2)
    talk.bookie.crash()
    expect_lac(talk, ledger, explicit=explicit_lac(ledger, 2), last=bodies[2])
    talk.expect(talk.requests.read(ledger, 0), EOK, body=bodies[0], max_lac=2)


@case(
    "BKW-CRASH-026",
    MUST,
    "sec-read-lac",
    sends="Three entries and a WRITE_LAC of 2; a clean stop; a READ_LAC, before anything else.",
    accepts="The body of the WRITE_LAC and the last entry.",
    dialects=(V3,),
    needs=("explicit-lac",),
    site="own",
    limit_s=LIMIT_S,
    provenance="S7",
)
def an_explicit_lac_is_told_after_a_clean_stop(talk: OwnTalk) -> None:
    """After a stop in order the first READ_LAC MUST tell what was written before."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    expect_written(talk, ledger, 2)
    talk.bookie.restart()
    expect_lac(talk, ledger, explicit=explicit_lac(ledger, 2), last=bodies[2])


@case(
    "BKW-CRASH-027",
    MUST,
    "sec-read-entry-v3",
    sends="Three entries, the last of which confirms 1, and a WRITE_LAC of 2; a clean stop; a read, before anything "
    "else.",
    accepts="max_lac 2.",
    dialects=(V3,),
    needs=("explicit-lac",),
    site="own",
    limit_s=LIMIT_S,
    provenance="S7",
)
def max_lac_does_not_go_back_over_a_clean_stop(talk: OwnTalk) -> None:
    """The last add confirmed that reads are told MUST NOT go back over a restart."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    expect_written(talk, ledger, 2)
    talk.bookie.restart()
    talk.expect(talk.requests.read(ledger, 0), EOK, body=bodies[0], max_lac=2)


@case(
    "BKW-CRASH-028",
    MUST,
    "sec-read-entry-v3",
    sends="Entries 0 to 4, each of which confirms the one before it; a kill, then a clean stop; reads.",
    accepts="max_lac 3, both times.",
    provenance="seen of Java 4.18.0",
    dialects=(V3,),
    site="own",
    limit_s=LIMIT_S,
)
def the_last_add_confirmed_of_entries_survives(talk: OwnTalk) -> None:
    """The last add confirmed that a ledger's last entries have told MUST be known after a crash and after a stop."""
    ledger = talk.new_ledger()
    for entry_id, lac in enumerate((-1, 0, 1, 2, 3)):
        talk.expect(talk.requests.add(ledger, entry_id, body=entry(ledger, entry_id, lac)), EOK)
    for end in (talk.bookie.crash, talk.bookie.restart):
        end()
        talk.expect(talk.requests.read(ledger, 0), EOK, max_lac=3)


@case(
    "BKW-CRASH-029",
    MUST,
    "sec-write-lac",
    sends="A WRITE_LAC for a ledger without entries; a kill; a READ_LAC and a read.",
    accepts="EIO with the body (no entry is there), and ENOENTRY: the ledger is known.",
    dialects=(V3,),
    needs=("explicit-lac",),
    site="own",
    limit_s=LIMIT_S,
    provenance="a rule of this reference; Java keeps the body, and forgets the ledger",
)
def an_explicit_lac_without_entries_survives_a_crash(talk: OwnTalk) -> None:
    """An acknowledged WRITE_LAC MUST survive a crash although the bookie holds no entry of its ledger."""
    ledger = talk.new_ledger()
    expect_written(talk, ledger, 5)
    talk.bookie.crash()
    expect_lac(talk, ledger, EIO, explicit=explicit_lac(ledger, 5))
    talk.expect(talk.requests.read(ledger, 0), ENOENTRY)


@case(
    "BKW-CRASH-030",
    MUST,
    "sec-write-lac",
    sends="An entry; WRITE_LACs of 0 with a digest of 4 bytes and of 1 with one of 20; a kill; a READ_LAC; a clean "
    "stop; a READ_LAC.",
    accepts="The second body, whole, both times.",
    dialects=(V3,),
    needs=("explicit-lac",),
    site="own",
    limit_s=LIMIT_S,
    provenance="S5",
)
def a_longer_explicit_lac_survives_whole(talk: OwnTalk) -> None:
    """An explicit last add confirmed MUST be kept whole, over a crash and a stop, whatever the size of
    the one before."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    expect_written(talk, ledger, 0)
    longer = explicit_lac(ledger, 1, bytes(range(20)))
    expect_written(talk, ledger, 1, longer)
    for end in (talk.bookie.crash, talk.bookie.restart):
        end()
        expect_lac(talk, ledger, explicit=longer, last=body)


@case(
    "BKW-CRASH-031",
    MUST,
    "sec-force-ledger-bookie",
    sends="50 adds with deferred sync, on two connections; a FORCE_LEDGER when all are acknowledged; a kill as soon as "
    "that is answered; reads.",
    accepts="Every entry.",
    provenance="seen of Java 4.18.0",
    dialects=(V3,),
    needs=("force",),
    site="own",
    limit_s=LIMIT_S,
)
def forced_entries_survive_a_crash(talk: OwnTalk) -> None:
    """FORCE_LEDGER MUST NOT be answered EOK before every add of the ledger that was acknowledged before it, on whatever
    connection, is on disk."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id, 100) for entry_id in range(50)]
    frames = [
        v3_requests.add(ledger, entry_id, body, write_flags=DEFERRED, txn_id=talk.requests.number())
        for entry_id, body in enumerate(bodies)
    ]
    for name, half in (("writer 1", frames[::2]), ("writer 2", frames[1::2])):
        talk.check("the statuses", statuses(ask_all(talk.line(name), half)), ["EOK"] * len(half))
    talk.expect(v3_requests.force(ledger, txn_id=talk.requests.number()), EOK, ledger_id=ledger)
    talk.bookie.crash()
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-CRASH-032",
    MUST,
    "sec-add-entry-flags",
    sends="Recovery adds with deferred sync to a fenced ledger; a kill as soon as they are acknowledged; reads.",
    accepts="Every entry: deferred sync is ignored on recovery adds.",
    dialects=(V3,),
    needs=("force",),
    site="own",
    limit_s=LIMIT_S,
    provenance="the source of Java 4.9 to 4.18",
)
def deferred_recovery_adds_survive_a_crash(talk: OwnTalk) -> None:
    """A recovery add MUST be on disk before it is acknowledged, whatever its write flags say."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    talk.expect(talk.requests.fence(ledger), EOK)
    flag = v3_pb2.AddRequest.RECOVERY_ADD
    for entry_id in range(1, 20):
        bodies.append(make_entry(ledger, entry_id, 100))
        add = v3_requests.add(
            ledger, entry_id, bodies[-1], write_flags=DEFERRED, flag=flag, txn_id=talk.requests.number()
        )
        talk.expect(add, EOK)
    talk.bookie.crash()
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-CRASH-033",
    MUST,
    "sec-force-ledger-bookie",
    sends="Adds with deferred sync, and no force; a clean stop; reads.",
    accepts="Every entry.",
    provenance="seen of Java 4.18.0",
    dialects=(V3,),
    needs=("force",),
    site="own",
    limit_s=LIMIT_S,
)
def deferred_adds_survive_a_clean_stop(talk: OwnTalk) -> None:
    """A stop in order MUST keep entries that were acknowledged with deferred sync."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id) for entry_id in range(20)]
    for entry_id, body in enumerate(bodies):
        talk.expect(v3_requests.add(ledger, entry_id, body, write_flags=DEFERRED), EOK)
    talk.bookie.restart()
    expect_stored(talk, ledger, bodies)
