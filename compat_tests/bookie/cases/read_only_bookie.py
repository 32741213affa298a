"""A read-only bookie: it serves readers and recovery, and takes nothing else."""

from compat_tests.bookie.batches import expect_prefix
from compat_tests.bookie.expected_replies import expect_exactly_added
from compat_tests.bookie.stored_entries import expect_absent, expect_stored, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import OTHER_KEY, entry
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import (
    EBADREQ,
    EBADVERSION,
    EFENCED,
    ENOENTRY,
    ENOLEDGER,
    EOK,
    EREADONLY,
    EUA,
)

READ_ONLY = "read-only"


@case(
    "BKW-RO-001",
    MUST,
    "sec-add-entry-states",
    sends="Adds without high priority to an unknown ledger: plain, for recovery, in V2 with the fencing flag, in V3 "
    "with "
    "deferred sync; then reads.",
    accepts="EREADONLY with the ids; the ledger is still unknown.",
    site=READ_ONLY,
    provenance="the source of Java 4.9 to 4.18",
)
def adds_without_high_priority_are_refused_and_leave_nothing(talk: Talk) -> None:
    """A read-only bookie MUST refuse adds without high priority with EREADONLY, recovery adds included, and MUST NOT
    make their ledger."""
    ledger = talk.new_ledger()
    frames = [talk.requests.add(ledger, 0), talk.requests.add(ledger, 0, recovery=True)]
    if talk.dialect is V2:
        frames += [v2_requests.add(ledger, 0, flags=Flag.FENCING), v2_requests.add(ledger, 0, version=0, flags=0)]
    else:
        frames.append(v3_requests.add(ledger, 0, write_flags=1))
    for frame in frames:
        version = 0 if frame[:1] == b"\0" and talk.dialect is V2 else 2
        expect_exactly_added(talk, frame, EREADONLY, ledger, 0, version=version)
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), ENOLEDGER)


@case(
    "BKW-RO-002",
    MUST,
    "sec-add-entry-flags",
    sends="Adds of high priority, plain and for recovery (V2 flags 4 and 6), to unknown ledgers.",
    accepts="EOK, and the entries are read back by id and as the last one.",
    site=READ_ONLY,
    provenance="BK#3783; the source of Java 4.9 to 4.18",
)
def adds_of_high_priority_are_taken(talk: Talk) -> None:
    """A read-only bookie that has room left MUST take adds of high priority: a recovery must be able to end."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id) for entry_id in range(4)]
    for entry_id, body in enumerate(bodies):
        add = talk.requests.add(ledger, entry_id, body=body, recovery=entry_id % 2 == 1, high_priority=True)
        expect_exactly_added(talk, add, EOK, ledger, entry_id)
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=body)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-RO-003",
    MUST,
    "sec-fencing-states",
    sends="On a read-only bookie: a fence of a ledger with entries and of an unknown one; adds of high priority; "
    "recovery adds of high priority.",
    accepts="EOK and ENOENTRY; EFENCED; EOK, and the entries are there.",
    site=READ_ONLY,
    provenance="the source of Java 4.9 to 4.18",
)
def a_read_only_bookie_fences(talk: Talk) -> None:
    """A read-only bookie MUST fence, unknown ledgers too, and its fences MUST hold for adds of high priority."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0, body=make_entry(ledger, 0), high_priority=True), EOK)
    talk.expect(talk.requests.fence(ledger, key=OTHER_KEY), EUA)
    talk.expect(talk.requests.fence(ledger), EOK, body=make_entry(ledger, 0))
    talk.expect(talk.requests.fence(unknown), ENOENTRY)
    for each, entry_id in ((ledger, 1), (unknown, 0)):
        talk.expect(talk.requests.add(each, entry_id, high_priority=True), EFENCED)
        talk.expect(talk.requests.add(each, entry_id), EREADONLY)
        body = make_entry(each, entry_id)
        talk.expect(talk.requests.add(each, entry_id, body=body, recovery=True, high_priority=True), EOK)
        expect_stored(talk, each, {entry_id: body})


@case(
    "BKW-RO-004",
    MUST,
    "sec-add-entry-order",
    sends="On a read-only bookie: adds of an unknown version, with a wrong key, and too short with high priority.",
    accepts="EBADVERSION comes first; EREADONLY before the key is looked at, EUA with high priority; EBADREQ.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
    site=READ_ONLY,
)
def being_read_only_comes_behind_the_version_and_before_the_key(talk: Talk) -> None:
    """A read-only bookie MUST look at the version first, then answer EREADONLY, and only then look at the key."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0, high_priority=True), EOK)
    unknown = v2_requests.add(ledger, 1, version=3) if talk.dialect is V2 else v3_requests.add(ledger, 1, version=1)
    talk.expect(unknown, EBADVERSION)
    talk.expect(talk.requests.add(ledger, 1, key=OTHER_KEY), EREADONLY)
    talk.expect(talk.requests.add(ledger, 1, key=OTHER_KEY, high_priority=True), EUA)
    short = entry(ledger, 1)[:20]
    talk.expect(talk.requests.add(ledger, 1, body=short, high_priority=True), EBADREQ)
    expect_absent(talk, ledger, 1)


@case(
    "BKW-RO-005",
    MUST,
    "sec-write-lac",
    sends="WRITE_LACs without and with high priority, and a READ_LAC, to a read-only bookie.",
    accepts="EREADONLY for the former, whatever the priority; EOK without lac_body for the latter.",
    dialects=(V3,),
    needs=("explicit-lac",),
    site=READ_ONLY,
    provenance="the source of Java 4.9 to 4.18",
)
def no_explicit_lac_is_written_at_any_priority(talk: Talk) -> None:
    """A read-only bookie MUST refuse WRITE_LAC with EREADONLY at any priority, and MUST keep nothing of it."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0, body=make_entry(ledger, 0), high_priority=True), EOK)
    for priority in (0, 1, 100):
        talk.expect(v3_requests.write_lac(ledger, 0, priority=priority), EREADONLY, ledger_id=ledger)
    talk.expect(v3_requests.read_lac(ledger), EOK, lac_body=None, last_entry_body=make_entry(ledger, 0))
    talk.expect(talk.requests.read(ledger, 0), EOK, max_lac=NO_ENTRY)


@case(
    "BKW-RO-006",
    MUST,
    "sec-read-entry-states",
    sends="To a read-only bookie: batch reads, in V3 long polls, FORCE_LEDGER, GET_BOOKIE_INFO and the list of "
    "entries, each if the bookie has it.",
    accepts="EOK, with what a writable bookie would bring.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
    site=READ_ONLY,
)
def readers_are_served_as_ever(talk: Talk) -> None:
    """A read-only bookie MUST serve whatever does not write."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id) for entry_id in range(3)]
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.add(ledger, entry_id, body=body, high_priority=True), EOK)
    if f"batch-read-{talk.dialect.lower()}" in talk.features:
        expect_prefix(talk, talk.requests.batch_read(ledger, 0, 3, 100_000), bodies)
    if talk.dialect is V3:
        frames = {
            "long-poll": v3_requests.poll(ledger, 0, 0, txn_id=1),
            "force": v3_requests.force(ledger, txn_id=2),
            "bookie-info": v3_requests.info(3, txn_id=3),
            "list-entries": v3_requests.list_entries(ledger, txn_id=4),
        }
        for feature, frame in frames.items():
            if feature in talk.features:
                talk.expect(frame, EOK)
    expect_stored(talk, ledger, bodies)
