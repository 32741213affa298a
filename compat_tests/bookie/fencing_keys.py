"""Who may fence: what a fencing read has to show, and what comes of one that does not."""

from compat_tests.bookie.exact import expect_exactly_read
from compat_tests.bookie.stored import expect_stored, fill
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import EBADVERSION, EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA


@case(
    "BKW-FENCE-010",
    MUST,
    "sec-fencing-states",
    sends="Fencing reads with keys that differ from the ledger's in one bit, of an entry that is there.",
    accepts="EUA and no entry; adds are still EOK, and the right key fences.",
    provenance="facts: wire.md §2",
)
def a_wrong_key_does_not_fence(talk: Talk) -> None:
    """A fencing read with a wrong key MUST be answered EUA, MUST NOT fence, and MUST NOT bring the entry."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    for index in (0, 7, 19):
        wrong = bytearray(KEY)
        wrong[index] ^= 1
        for entry_id in (0, LAST_ENTRY):
            expect_exactly_read(talk, talk.requests.fence(ledger, entry_id, key=bytes(wrong)), EUA, ledger, entry_id)
        talk.expect(talk.requests.add(ledger, 1 + index), EOK)
    talk.expect(talk.requests.fence(ledger), EOK)
    talk.expect(talk.requests.add(ledger, 30), EFENCED)


@case(
    "BKW-FENCE-011",
    MUST,
    "sec-fencing-bookie",
    sends="V3 fencing reads without a key and with an empty one, of a known ledger and of an unknown one.",
    accepts="EUA; the ledger still takes adds, and the other one is still unknown.",
    dialects=(V3,),
    provenance="facts: wire.md §2",
)
def without_a_key_nothing_is_fenced(talk: Talk) -> None:
    """A fencing read without a key MUST be answered EUA, and MUST NOT fence the ledger, nor make it."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    fill(talk, ledger, 1)
    keyless = v3_requests.read(ledger, 0, flag=v3_pb2.ReadRequest.FENCE_LEDGER)
    expect_exactly_read(talk, keyless, EUA, ledger, 0)
    expect_exactly_read(talk, talk.requests.fence(ledger, 0, key=b""), EUA, ledger, 0)
    talk.expect(talk.requests.add(ledger, 1), EOK)
    talk.expect(v3_requests.read(unknown, 0, flag=v3_pb2.ReadRequest.FENCE_LEDGER), EUA)
    talk.expect(talk.requests.read(unknown, 0), ENOLEDGER)


@case(
    "BKW-FENCE-012",
    MUST,
    "sec-v2-packets",
    sends="V2 reads with the fencing flag and 0, 1, 10 and 19 bytes behind the ids, each on a connection of its own.",
    accepts="The connection is closed without a reply; the ledger still takes adds.",
    dialects=(V2,),
    provenance="D10",
)
def a_fencing_flag_without_a_whole_key_closes(talk: Talk) -> None:
    """A bookie MUST close a V2 connection on a fencing read with fewer than 20 bytes of key, and MUST NOT fence."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    for size in (0, 1, 10, 19):
        talk.expect_closed(talk.line(f"{size} bytes of key"), talk.requests.fence(ledger, 0, key=KEY[:size]))
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-FENCE-013",
    MUST,
    "sec-v2-packets",
    sends="A fencing read with the key and 50 bytes more, and one with 20 wrong bytes in front of the key.",
    accepts="EUA for the second: the key is the 20 bytes behind the ids. EOK for the first, and the ledger is fenced.",
    dialects=(V2,),
    provenance="D10",
)
def what_stands_behind_the_key_is_ignored(talk: Talk) -> None:
    """The master key of a V2 fencing read MUST be taken from the 20 bytes behind the ids; what follows is ignored."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    expect_exactly_read(talk, talk.requests.fence(ledger, 0, key=OTHER_KEY + KEY), EUA, ledger, 0)
    talk.expect(talk.requests.add(ledger, 1), EOK)
    expect_exactly_read(talk, talk.requests.fence(ledger, 0, key=KEY + bytes(50)), EOK, ledger, 0, body)
    talk.expect(talk.requests.add(ledger, 2), EFENCED)


@case(
    "BKW-FENCE-014",
    MUST,
    "sec-v2-packets",
    sends="V2 reads of version 1 with the fencing flag, with and without a key behind them.",
    accepts="EUA without an entry, on a connection that goes on; the ledger still takes adds.",
    dialects=(V2,),
    provenance="D10; facts: wire.md §1",
)
def before_version_2_there_is_no_key_to_fence_with(talk: Talk) -> None:
    """A bookie MUST NOT look for a key in a packet of version 1, and so MUST answer its fencing flag with EUA."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    for key in (b"", KEY[:5], KEY):
        frame = v2_requests.read(ledger, 0, version=1, flags=Flag.FENCING, key=key)
        expect_exactly_read(talk, frame, EUA, ledger, 0, version=1)
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-FENCE-015",
    MUST,
    "sec-read-entry-states",
    sends="Fencing reads, with the right key, of versions that are not spoken: 3 and 255 in V2, 1 and 2 in V3.",
    accepts="EBADVERSION; the ledger still takes adds.",
)
def a_version_that_is_not_spoken_fences_nothing(talk: Talk) -> None:
    """A fencing read that is answered EBADVERSION MUST NOT fence."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    if talk.dialect is V2:
        for version in (3, 255):
            frame = version.to_bytes(1, "big") + talk.requests.fence(ledger, 0)[1:]
            expect_exactly_read(talk, frame, EBADVERSION, ledger, 0, version=version)
    else:
        for version in (1, 2):
            expect_exactly_read(talk, v3_requests.fence(ledger, 0, version=version), EBADVERSION, ledger, 0)
    talk.expect(talk.requests.add(ledger, 1), EOK)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-FENCE-016",
    MUST,
    "sec-master-key",
    sends="A fence of an unknown ledger with a key of zeros, then fences with another key and with that one.",
    accepts="ENOENTRY, EUA, ENOENTRY.",
)
def a_fence_sets_the_key_whatever_it_is(talk: Talk) -> None:
    """The key of the fencing read that made a ledger MUST be compared from then on, also one of zeros."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger, key=bytes(20)), ENOENTRY)
    talk.expect(talk.requests.fence(ledger, key=KEY), EUA)
    talk.expect(talk.requests.add(ledger, 0, key=KEY, recovery=True), EUA)
    talk.expect(talk.requests.fence(ledger, key=bytes(20)), ENOENTRY)
