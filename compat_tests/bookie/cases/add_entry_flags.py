"""Adds with flags, priorities and write flags."""

from compat_tests.bookie.expected_replies import expect_exactly_added
from compat_tests.bookie.stored_entries import expect_stored, fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import entry
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import EFENCED, EOK

WRITE_FLAGS = (0, 1, 2, 255, -1, 2**31 - 1)


@case(
    "BKW-ADD-022",
    MUST,
    "sec-v2-header",
    sends="Recovery adds of version 1 and 2 to a fenced ledger, with and without the high-priority flag.",
    accepts="EOK, and the entries are there.",
    dialects=(V2,),
    provenance="the source of Java 4.9 to 4.18; BK#3783",
)
def flags_count_from_version_1_on(talk: Talk) -> None:
    """A bookie MUST look at the flags of packets of version 1 and 2 alike."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    talk.expect(talk.requests.fence(ledger), EOK)
    flags = [(version, bits) for version in (1, 2) for bits in (Flag.RECOVERY_ADD, Flag.RECOVERY_ADD | 4)]
    for entry_id, (version, bits) in enumerate(flags, 1):
        talk.expect(v2_requests.add(ledger, entry_id, version=version, flags=bits), EOK)
        talk.expect(v2_requests.add(ledger, 9, version=version), EFENCED)
    expect_stored(talk, ledger, {entry_id: entry(ledger, entry_id, entry_id - 1) for entry_id in range(1, 5)})


@case(
    "BKW-ADD-024",
    MUST,
    "sec-add-entry-flags",
    sends="Adds with the fencing flag, alone and with others, of version 1 and 2; then a plain add.",
    accepts="EOK for all of them: nothing is fenced.",
    dialects=(V2,),
    provenance="the source of Java 4.9 to 4.18",
)
def the_fencing_flag_means_nothing_on_an_add(talk: Talk) -> None:
    """An add MUST NOT fence its ledger, whatever flags it has."""
    ledger = talk.new_ledger()
    cases = [(1, 1), (1, 5), (2, 1), (2, 3), (2, 5), (2, 7)]
    for entry_id, (version, flags) in enumerate(cases):
        talk.expect(v2_requests.add(ledger, entry_id, version=version, flags=flags), EOK)
    talk.expect(talk.requests.add(ledger, len(cases)), EOK)


@case(
    "BKW-ADD-025",
    MUST,
    "sec-add-entry-flags",
    sends="Recovery adds to an unknown ledger, then plain adds; the same with recovery adds of high priority.",
    accepts="EOK for all of them, and every entry is there.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def recovery_adds_do_not_fence(talk: Talk) -> None:
    """A recovery add MUST leave a ledger that is not fenced as open as it was."""
    for high_priority in (False, True):
        ledger = talk.new_ledger()
        bodies = [make_entry(ledger, entry_id) for entry_id in range(4)]
        for entry_id, body in enumerate(bodies):
            recovery = entry_id % 2 == 0
            frame = talk.requests.add(
                ledger, entry_id, body=body, recovery=recovery, high_priority=recovery and high_priority
            )
            talk.expect(frame, EOK)
        expect_stored(talk, ledger, bodies)


@case(
    "BKW-ADD-026",
    MUST,
    "sec-add-entry-flags",
    sends="Adds of high priority: the flag in V2; 1, 100 and 2^32 - 1 in V3.",
    accepts="EOK with the usual reply, in V3 with a header without priority; the entries are there.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def adds_of_high_priority_are_adds(talk: Talk) -> None:
    """An add of high priority MUST be carried out and answered as any other."""
    ledger = talk.new_ledger()
    if talk.dialect is V2:
        frames = [v2_requests.add(ledger, 0, flags=Flag.HIGH_PRIORITY)]
    else:
        frames = [v3_requests.add(ledger, i, priority=each) for i, each in enumerate((1, 100, 2**32 - 1))]
    for entry_id, frame in enumerate(frames):
        expect_exactly_added(talk, frame, EOK, ledger, entry_id)
    expect_stored(talk, ledger, [entry(ledger, entry_id, entry_id - 1) for entry_id in range(len(frames))])


@case(
    "BKW-ADD-027",
    MUST,
    "sec-add-entry-flags",
    sends="Adds with write flags 0, 1 (deferred sync), 2, 255, -1 and 2^31 - 1.",
    accepts="EOK, and each entry is read back as soon as it is acknowledged.",
    dialects=(V3,),
    needs=("force",),
    provenance="the source of Java 4.9 to 4.18",
)
def entries_of_deferred_sync_are_read_at_once(talk: Talk) -> None:
    """An add with deferred sync MUST be readable once it is acknowledged, like any other; other bits mean nothing."""
    ledger = talk.new_ledger()
    for entry_id, flags in enumerate(WRITE_FLAGS):
        talk.expect(v3_requests.add(ledger, entry_id, make_entry(ledger, entry_id), write_flags=flags), EOK)
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=make_entry(ledger, entry_id))
