"""Plain reads: what comes back, to the byte, and what a request may carry that means nothing."""

from compat_tests.bookie.exact import expect_exactly_read
from compat_tests.bookie.stored import expect_stored, fill, made
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY
from protocol_specs.fields import ENTRY_ID_MAX, LAST_ENTRY, LEDGER_ID_MAX
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EBADREQ, EBADVERSION, ENOENTRY, ENOLEDGER, EOK

#: Flag bits of V2 reads that ask for nothing: a recovery add's, and those that no release knows.
IDLE_BITS = (0x2, 0x8, 0x100, 0x8000, 0xFFFA)
UNKNOWN_FLAG = bytes.fromhex("a00609")


@case(
    "BKW-READ-001",
    MUST,
    "sec-read-entry-v2",
    sends="A read of an entry of 100 bytes of payload.",
    accepts="V2: header, code 0, ids and the entry, to the byte. V3: header, status, and a part with exactly status, "
    "ids, body and max_lac.",
    provenance="facts: wire.md §2, §3; capture",
)
def the_reply_to_a_read_is_the_entry_behind_these_fields(talk: Talk) -> None:
    """The reply to a read MUST consist of header, status, the ids of the request and the entry as it was added; in V3
    also of the bookie's last add confirmed."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3, size=100)
    for entry_id, body in enumerate(bodies):
        expect_exactly_read(talk, talk.requests.read(ledger, entry_id), EOK, ledger, entry_id, body, max_lac=1)


@case(
    "BKW-READ-002",
    MUST,
    "sec-read-entry-v2",
    sends="Reads of a missing entry, and of an unknown ledger.",
    accepts="ENOENTRY and ENOLEDGER, and nothing behind the ids: no entry, and in V3 no max_lac.",
    provenance="facts: wire.md §2",
)
def an_error_ends_behind_the_ids(talk: Talk) -> None:
    """The reply to a read that failed MUST end behind the ids; in V3 its part MUST have neither body nor max_lac."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    fill(talk, ledger, 1)
    expect_exactly_read(talk, talk.requests.read(ledger, 1), ENOENTRY, ledger, 1)
    expect_exactly_read(talk, talk.requests.read(unknown, 0), ENOLEDGER, unknown, 0)


@case(
    "BKW-READ-003",
    MUST,
    "sec-read-entry-states",
    sends="Reads of entries 2^31 to 2^63 - 1 of a ledger with one entry.",
    accepts="ENOENTRY, each echoing its entry id.",
)
def entries_far_away_are_missing(talk: Talk) -> None:
    """A bookie MUST answer ENOENTRY for any entry id up to 2^63 - 1 that it does not store: none wraps around."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    for entry_id in (2**31 - 1, 2**31, 2**32, 2**40, 2**56, 2**62, ENTRY_ID_MAX):
        expect_exactly_read(talk, talk.requests.read(ledger, entry_id), ENOENTRY, ledger, entry_id)


@case(
    "BKW-READ-004",
    MUST,
    "sec-read-entry-states",
    sends="Reads of the ledgers -1, -5, -2^63 and 2^63 - 1.",
    accepts="ENOLEDGER, each echoing its ledger id.",
    provenance="facts: wire.md §2",
)
def ledgers_far_away_and_negative_ones_are_unknown(talk: Talk) -> None:
    """A bookie MUST answer a plain read of any ledger that it does not have with ENOLEDGER, of a negative id too."""
    for ledger in (-1, -5, -(2**63), LEDGER_ID_MAX):
        for entry_id in (0, LAST_ENTRY):
            expect_exactly_read(talk, talk.requests.read(ledger, entry_id), ENOLEDGER, ledger, entry_id)


@case(
    "BKW-READ-005",
    MUST,
    "sec-read-entry-states",
    sends="Reads of entries -2, -3, -4096 and -2^63 of a known ledger.",
    accepts="EBADREQ, each echoing its entry id; the connection goes on.",
    provenance="S11",
)
def entry_ids_below_the_last_are_bad_requests(talk: Talk) -> None:
    """A bookie MUST answer a read of an entry id below -1, which means nothing, and SHOULD answer it EBADREQ."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    for entry_id in (-2, -3, -4096, -(2**63)):
        line = talk.line(f"entry {entry_id}")
        line.send(talk.requests.read(ledger, entry_id))
        reply = talk.answered(line.receive(1.0))
        talk.check_one_of("status", reply.status, (EBADREQ, ENOENTRY))
        if reply.status is ENOENTRY:
            talk.tolerate("ENOENTRY for an entry id that no entry can have")
        talk.check("ledger_id", reply.ledger_id, ledger)
        talk.check("entry_id", reply.entry_id, entry_id)
        talk.check("body", reply.body, b"")
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[1])


@case(
    "BKW-READ-006",
    MUST,
    "sec-v2-packets",
    sends="Plain reads with a key behind them: the right one, a wrong one, half of one, and 100 bytes; in V3 in the "
    "field of the key. Then an add.",
    accepts="EOK with the entry each time; the add is EOK: nothing was fenced.",
    provenance="D10",
)
def a_key_that_nobody_asked_for_is_ignored(talk: Talk) -> None:
    """A bookie MUST ignore a master key, and in V2 any bytes behind the last field, of a read that does not fence."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    for key in (KEY, OTHER_KEY, KEY[:10], bytes(100), b"\xff"):
        talk.expect(talk.requests.read(ledger, 0, key=key), EOK, body=body)
        if talk.dialect is V2:
            for version in (0, 1):
                talk.expect(v2_requests.read(ledger, 0, version=version, key=key), EOK, body=body)
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-READ-007",
    MUST,
    "sec-read-entry-flags",
    sends="Reads with flag bits that mean nothing on a read, or that no release knows (V3: an unknown value).",
    accepts="EOK with the entry; an add afterwards is EOK: nothing was fenced.",
    provenance="facts: wire.md §2, §3",
)
def unknown_flags_of_reads_are_ignored(talk: Talk) -> None:
    """A bookie MUST ignore flags of a read that it does not know."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    if talk.dialect is V2:
        frames = [v2_requests.read(ledger, 0, flags=bits) for bits in IDLE_BITS]
        frames += [v2_requests.read(ledger, 0, version=1, flags=bits) for bits in IDLE_BITS]
    else:
        frames = [v3_requests.changed(v3_requests.read(ledger, 0), _with_unknown_flag)]
    for frame in frames:
        talk.expect(frame, EOK, body=body)
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-READ-008",
    MUST,
    "sec-v2-header",
    sends="Reads of version 0, 1 and 2; those of version 0 also with other bytes in the middle of the header word.",
    accepts="EOK with the entry; the header has the request's version, operation 2 and no flags.",
    dialects=(V2,),
    provenance="facts: wire.md §1",
)
def reads_of_the_versions_0_to_2_are_served(talk: Talk) -> None:
    """A bookie MUST serve reads of version 0, 1 and 2, and MUST echo version and operation with no flags."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    ids = v2_requests.read(ledger, 0)[4:]
    for header in ("00000002", "00000102", "00ffff02", "01020000", "02020000", "02020004"):
        frame = bytes.fromhex(header) + ids
        expect_exactly_read(talk, frame, EOK, ledger, 0, body, version=int(header[:2]))


@case(
    "BKW-READ-009",
    MUST,
    "sec-read-entry-states",
    sends="Reads of V2 versions 3, 4, 10, 127, 128 and 255, or with a V3 header of version 1 and 2.",
    accepts="EBADVERSION without an entry, echoing ids (and the version, in V2); the connection goes on.",
    provenance="facts: wire.md §1, §3",
)
def reads_of_other_versions_bring_nothing(talk: Talk) -> None:
    """A bookie MUST answer a read of a version that it does not speak with EBADVERSION."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    if talk.dialect is V2:
        for version in (3, 4, 10, 127, 128, 255):
            frame = version.to_bytes(1, "big") + v2_requests.read(ledger, 0)[1:]
            expect_exactly_read(talk, frame, EBADVERSION, ledger, 0, version=version)
    else:
        for version in (1, 2):
            expect_exactly_read(talk, v3_requests.read(ledger, 0, version=version), EBADVERSION, ledger, 0)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-READ-010",
    MUST,
    "sec-read-entry-flags",
    sends="Reads of high priority, of entries that are there, of the last one, and of missing ones.",
    accepts="The same replies, to the byte, as without.",
)
def reads_of_high_priority_are_reads(talk: Talk) -> None:
    """A read of high priority MUST be answered as any other one, in V3 with a header that has no priority."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    for entry_id, body in ((0, bodies[0]), (1, bodies[1]), (LAST_ENTRY, bodies[1])):
        frame = talk.requests.read(ledger, entry_id, high_priority=True)
        expect_exactly_read(talk, frame, EOK, ledger, entry_id, body, max_lac=0)
    frame = talk.requests.read(ledger, 2, high_priority=True)
    expect_exactly_read(talk, frame, ENOENTRY, ledger, 2)


@case(
    "BKW-READ-011",
    MUST,
    "sec-read-entry-v3",
    sends="Reads with only a time-out, and with only the piggyback flag: without previous_lac neither means anything.",
    accepts="EOK with the entry asked for, at once.",
    dialects=(V3,),
    provenance="facts: wire.md §4",
    limit_s=5.0,
)
def a_read_without_previous_lac_does_not_wait(talk: Talk) -> None:
    """A bookie MUST take a V3 read without previous_lac for a plain read, whatever its time-out and flag say."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    piggyback = v3_pb2.ReadRequest.ENTRY_PIGGYBACK
    for frame in (
        v3_requests.read(ledger, 0, time_out=60_000),
        v3_requests.read(ledger, 0, flag=piggyback),
        v3_requests.read(ledger, 0, flag=piggyback, time_out=60_000),
    ):
        expect_exactly_read(talk, frame, EOK, ledger, 0, bodies[0], max_lac=0)


@case(
    "BKW-READ-012",
    MUST,
    "sec-read-entry-v2",
    sends="The same entry ids added to eight ledgers with other bytes, then read ledger by ledger and entry by entry.",
    accepts="Every read brings the entry of its own ledger.",
)
def entries_of_ledgers_are_not_mixed_up(talk: Talk) -> None:
    """A bookie MUST keep the entries of each ledger apart."""
    ledgers = [talk.new_ledger() for _ in range(8)]
    for ledger in ledgers:
        fill(talk, ledger, 4)
    for entry_id in range(4):
        for ledger in ledgers:
            talk.expect(talk.requests.read(ledger, entry_id), EOK, body=made(ledger, entry_id))


def _with_unknown_flag(message: v3_pb2.Request) -> None:
    part = message.read_request.SerializeToString() + UNKNOWN_FLAG
    message.read_request.Clear()
    message.read_request.MergeFromString(part)
