"""Adds with versions, flags, priorities and fields, those that nobody knows included."""

from collections.abc import Callable

from compat_tests.bookie.exact import expect_exactly_added
from compat_tests.bookie.stored import expect_absent, expect_stored, fill, made
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, entry
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import EBADVERSION, EFENCED, EOK

#: Bits of V2 flags, and values of V3's, that no release knows.
UNKNOWN_BITS = (0x8, 0x10, 0x100, 0x8000, 0xFFF8)
UNKNOWN_FLAG = bytes.fromhex("a00609")
UNKNOWN_FIELD = bytes.fromhex("f03e01")

WRITE_FLAGS = (0, 1, 2, 255, -1, 2**31 - 1)


@case(
    "BKW-ADD-020",
    MUST,
    "sec-v2-header",
    sends="Adds of version 0, 1 and 2; those of version 0 also with other bytes in the middle of the header word.",
    accepts="EOK; the header of the reply has the request's version, operation 1 and no flags; in version 0 it is "
    "00000001.",
    dialects=(V2,),
    provenance="facts: wire.md §1",
)
def adds_of_the_versions_0_to_2_are_served(talk: Talk) -> None:
    """A bookie MUST serve packets of version 0, 1 and 2, and MUST echo version and operation; in version 0 the
    operation is the low byte, and the two bytes before it are ignored."""
    ledger = talk.new_ledger()
    for entry_id, header in enumerate(("00000001", "00000101", "00ff0701", "01010000", "02010000")):
        body = made(ledger, entry_id)
        frame = bytes.fromhex(header) + KEY + body
        expect_exactly_added(talk, frame, EOK, ledger, entry_id, version=int(header[:2]))
        expect_stored(talk, ledger, {entry_id: body})


@case(
    "BKW-ADD-021",
    MUST,
    "sec-add-entry-order",
    sends="Adds of V2 versions 3, 4, 10, 127, 128 and 255, or with a V3 header of version 1 and 2.",
    accepts="EBADVERSION, echoing ids (and the version, in V2); the connection goes on, and nothing is stored.",
    provenance="facts: wire.md §1, §3",
)
def adds_of_other_versions_store_nothing(talk: Talk) -> None:
    """A bookie MUST answer an add of a version that it does not speak with EBADVERSION and MUST NOT store it."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    if talk.dialect is V2:
        for version in (3, 4, 10, 127, 128, 255):
            frame = version.to_bytes(1, "big") + v2_requests.add(ledger, 1)[1:]
            expect_exactly_added(talk, frame, EBADVERSION, ledger, 1, version=version)
    else:
        for version in (1, 2):
            expect_exactly_added(talk, v3_requests.add(ledger, 1, version=version), EBADVERSION, ledger, 1)
    expect_absent(talk, ledger, 1)


@case(
    "BKW-ADD-022",
    MUST,
    "sec-v2-header",
    sends="Recovery adds of version 1 and 2 to a fenced ledger, with and without the high-priority flag.",
    accepts="EOK, and the entries are there.",
    dialects=(V2,),
    provenance="facts: wire.md §1; BK#3783",
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
    "BKW-ADD-023",
    MUST,
    "sec-add-entry-flags",
    sends="Adds with flag bits (V2), or a flag and write flags (V3), that no release knows.",
    accepts="EOK, and the entries are there.",
    provenance="facts: wire.md §1, §3",
)
def unknown_flags_of_adds_are_ignored(talk: Talk) -> None:
    """A bookie MUST ignore flags that it does not know, and carry the add out."""
    ledger = talk.new_ledger()
    if talk.dialect is V2:
        frames = [v2_requests.add(ledger, index, flags=bits) for index, bits in enumerate(UNKNOWN_BITS)]
    else:
        frames = [v3_requests.changed(v3_requests.add(ledger, 0), _with(UNKNOWN_FLAG))]
        frames += [v3_requests.add(ledger, 1 + index, write_flags=1 << bit) for index, bit in enumerate((1, 5, 30))]
    for frame in frames:
        talk.expect(frame, EOK)
    expect_stored(talk, ledger, [entry(ledger, entry_id, entry_id - 1) for entry_id in range(len(frames))])


@case(
    "BKW-ADD-024",
    MUST,
    "sec-add-entry-flags",
    sends="Adds with the fencing flag, alone and with others, of version 1 and 2; then a plain add.",
    accepts="EOK for all of them: nothing is fenced.",
    dialects=(V2,),
    provenance="facts: wire.md §2",
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
)
def recovery_adds_do_not_fence(talk: Talk) -> None:
    """A recovery add MUST leave a ledger that is not fenced as open as it was."""
    for high_priority in (False, True):
        ledger = talk.new_ledger()
        bodies = [made(ledger, entry_id) for entry_id in range(4)]
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
    provenance="facts: wire.md §4",
)
def entries_of_deferred_sync_are_read_at_once(talk: Talk) -> None:
    """An add with deferred sync MUST be readable once it is acknowledged, like any other; other bits mean nothing."""
    ledger = talk.new_ledger()
    for entry_id, flags in enumerate(WRITE_FLAGS):
        talk.expect(v3_requests.add(ledger, entry_id, made(ledger, entry_id), write_flags=flags), EOK)
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=made(ledger, entry_id))


@case(
    "BKW-ADD-028",
    MUST,
    "sec-v3-request",
    sends="Adds with unknown fields in the request and in its part, with request contexts, and with the header last.",
    accepts="EOK, and the entries are there.",
    dialects=(V3,),
    provenance="BK#4780; facts: wire.md §3",
)
def unknown_fields_of_adds_are_ignored(talk: Talk) -> None:
    """A bookie MUST ignore fields that it does not know, in a request and in its part, and MUST take known ones in any
    order."""
    ledger = talk.new_ledger()
    header_end = 2 + v3_requests.add(ledger, 3)[1]
    last = v3_requests.add(ledger, 3)
    frames = [
        v3_requests.add(ledger, 0) + UNKNOWN_FIELD,
        v3_requests.changed(v3_requests.add(ledger, 1), _with(UNKNOWN_FIELD)),
        v3_requests.changed(v3_requests.add(ledger, 2), _with_contexts),
        last[header_end:] + last[:header_end],
    ]
    for entry_id, frame in enumerate(frames):
        talk.expect(frame, EOK, entry_id=entry_id)
    expect_stored(talk, ledger, [entry(ledger, entry_id, entry_id - 1) for entry_id in range(len(frames))])


def _with(rest: bytes) -> Callable[[v3_pb2.Request], None]:
    """What puts bytes behind the fields of an add's part."""

    def change(message: v3_pb2.Request) -> None:
        part = message.add_request.SerializeToString() + rest
        message.add_request.Clear()
        message.add_request.MergeFromString(part)

    return change


def _with_contexts(message: v3_pb2.Request) -> None:
    message.request_context.add(key="trace", value="7")
    message.request_context.add(key="", value="")
