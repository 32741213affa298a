"""The key of a fencing read: the one that it has to show, and the replies to any other."""

from compat_tests.bookie.expected_replies import expect_exactly_read
from compat_tests.bookie.stored_entries import fill
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import KEY
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA


@case(
    "BKW-FENCE-010",
    MUST,
    "sec-fencing-states",
    sends="Fencing reads with keys that differ from the ledger's in one bit, of an entry that is there.",
    accepts="EUA and no entry; adds are still EOK, and the right key fences.",
    provenance="the source of Java 4.9 to 4.18",
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
    provenance="the source of Java 4.9 to 4.18",
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
    "BKW-FENCE-016",
    MUST,
    "sec-master-key",
    sends="A fence of an unknown ledger with a key of zeros, then fences with another key and with that one.",
    accepts="ENOENTRY, EUA, ENOENTRY.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def a_fence_sets_the_key_whatever_it_is(talk: Talk) -> None:
    """The key of the fencing read that made a ledger MUST be compared from then on, also one of zeros."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger, key=bytes(20)), ENOENTRY)
    talk.expect(talk.requests.fence(ledger, key=KEY), EUA)
    talk.expect(talk.requests.add(ledger, 0, key=KEY, recovery=True), EUA)
    talk.expect(talk.requests.fence(ledger, key=bytes(20)), ENOENTRY)
