"""Batch read: the bytes of requests and replies."""

import struct

from compat_tests.bookie.batches import NEEDS, PLENTY, SINCE, expect_prefix
from compat_tests.bookie.runs import check_part, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import ENOENTRY, ENOLEDGER, EOK, EUA, Status

_REPLY = struct.Struct(">Iiqqq")
"""Packet header, status, ledger id, start entry id, request id."""


def _v2_header(version: int = 2) -> int:
    return (version << 24 | 7 << 16) if version else 7


def _v2_reply(ledger: int, start: int, status: Status = EOK, version: int = 2, *bodies: bytes) -> bytes:
    head = _REPLY.pack(_v2_header(version), status.v2, ledger, start, v2_requests.REQUEST_ID)
    return head + b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


@case(
    "BKW-BATCH-001",
    MUST,
    "sec-batch-read-v2",
    sends="A V2 batch read of one entry, 40 bytes behind its length.",
    accepts="Exactly the header, status 0, the three ids of the request, and the entry behind its 4-byte length.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="BP-62, D4",
)
def a_v2_reply_has_one_length_and_then_its_entries(talk: Talk) -> None:
    """A V2 batch read has one length word in each direction: BP-62's `header_size` and `response_size` MUST NOT be
    sent, and each entry MUST follow its own 4-byte length."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 57])
    for start, body in enumerate(bodies):
        frame = v2_requests.batch_read(ledger, start, 1, PLENTY)
        talk.check("size of the request", len(frame), 40)
        reply = talk.expect(frame, EOK)
        talk.check("bytes of the reply", reply.raw, _v2_reply(ledger, start, EOK, 2, body))


@case(
    "BKW-BATCH-002",
    MUST,
    "sec-batch-read-v2",
    sends="V2 batch reads of an unknown ledger, of an absent entry, and one that fences with a wrong password.",
    accepts="32 bytes each: the header, ENOLEDGER, ENOENTRY or EUA, and the ledger, start and request id of the "
    "request.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="BP-62, D4",
)
def a_v2_error_ends_with_the_request_id(talk: Talk) -> None:
    """An error reply to a V2 batch read MUST have the ids of its request, the request id included, and nothing more."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    store_run(talk, ledger, [41])
    for named, start, status, flags, key in (
        (unknown, 3, ENOLEDGER, 0, b""),
        (ledger, 7, ENOENTRY, 0, b""),
        (ledger, 0, EUA, int(Flag.FENCING), OTHER_KEY),
    ):
        reply = talk.expect(v2_requests.batch_read(named, start, 10, PLENTY, flags=flags, key=key), status)
        talk.check(f"bytes of the reply with {status.name}", reply.raw, _v2_reply(named, start, status))


@case(
    "BKW-BATCH-003",
    MUST,
    "sec-batch-read-v3",
    sends="V3 batch reads of a stored entry, of an absent one, and of an unknown ledger.",
    accepts="A part with status, ids, the entry and `max_lac`; in errors a part of status and ids alone.",
    dialects=(V3,),
    since=SINCE,
    needs=("batch-read-v3",),
    provenance="BP-62",
)
def a_v3_reply_has_its_entries_and_max_lac(talk: Talk) -> None:
    """A V3 batch read that succeeds MUST be answered with the entries and `max_lac`; one that fails with neither, and
    none of both with `lac_update_timestamp`, which belongs to a wait."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 57, 32])
    reply = talk.expect(talk.requests.batch_read(ledger, 1, 1, PLENTY), EOK)
    check_part(talk, reply, EOK, ledger_id=ledger, start_entry_id=1, body=[bodies[1]], max_lac=1)
    for named, status in ((ledger, ENOENTRY), (unknown, ENOLEDGER)):
        reply = talk.expect(talk.requests.batch_read(named, 5, 1, PLENTY), status)
        check_part(talk, reply, status, ledger_id=named, start_entry_id=5)


@case(
    "BKW-BATCH-004",
    MUST,
    "sec-batch-read-v2",
    sends="V2 batch reads with the request ids 0, 1, 2^63 - 1, -1 and -2^63, of an entry that is there and one "
    "that is not.",
    accepts="Each reply has the request id of its request, bit for bit.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="the source of Java 4.17 and 4.18",
)
def any_request_id_comes_back(talk: Talk) -> None:
    """The request id is the client's affair: a bookie MUST echo any 64 bits of it, in errors too."""
    ledger = talk.new_ledger()
    store_run(talk, ledger, [41])
    for request_id in (0, 1, 2**63 - 1, -1, -(2**63)):
        for start, status in ((0, EOK), (9, ENOENTRY)):
            reply = talk.expect(v2_requests.batch_read(ledger, start, 1, PLENTY, request_id=request_id), status)
            talk.check("request id of the reply", reply.request_id, request_id)


@case(
    "BKW-BATCH-005",
    MUST,
    "sec-v2-header",
    sends="Plain V2 batch reads of the versions 0, 1 and 2.",
    accepts="The entry, behind the version of the request; for version 0 a header that is the operation alone.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="the source of Java 4.17 and 4.18",
)
def every_version_is_served_and_echoed(talk: Talk) -> None:
    """Versions 0, 1 and 2 of V2 MUST be served alike, each reply in the version of its request."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41])
    for version in (0, 1, 2):
        reply = talk.expect(v2_requests.batch_read(ledger, 0, 1, PLENTY, version=version), EOK)
        talk.check(f"bytes of version {version}", reply.raw, _v2_reply(ledger, 0, EOK, version, bodies[0]))


@case(
    "BKW-BATCH-006",
    MUST,
    "sec-batch-read-v2",
    sends="V2 batch reads of version 1 with the fencing flag, with the right key behind them and without one.",
    accepts="EUA, no entry, and the ledger is not fenced.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="D10",
)
def version_1_has_no_key(talk: Talk) -> None:
    """The key of a V2 batch read exists from version 2 on: one that fences in version 1 MUST be answered EUA, whatever
    follows it."""
    ledger = talk.new_ledger()
    store_run(talk, ledger, [41])
    for key in (KEY, b""):
        frame = v2_requests.batch_read(ledger, 0, 1, PLENTY, version=1, flags=int(Flag.FENCING), key=key)
        reply = talk.expect(frame, EUA)
        talk.check("bytes of the reply", reply.raw, _v2_reply(ledger, 0, EUA, 1))
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-BATCH-007",
    MUST,
    "sec-batch-read-v2",
    sends="V2 batch reads with 1, 4, 20 and 1000 bytes behind the 40 they need, and a fencing one with 5 behind"
    " its key.",
    accepts="The entry, as without them.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="the source of Java 4.17 and 4.18",
)
def bytes_behind_a_request_are_ignored(talk: Talk) -> None:
    """Bytes behind what a V2 batch read needs MUST be ignored."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41])
    for count in (1, 4, 20, 1000):
        talk.expect(v2_requests.batch_read(ledger, 0, 1, PLENTY, key=bytes(count)), EOK, entries=(bodies[0],))
    frame = v2_requests.batch_read(ledger, 0, 1, PLENTY, flags=int(Flag.FENCING), key=KEY + b"other")
    talk.expect(frame, EOK, entries=(bodies[0],))


@case(
    "BKW-BATCH-008",
    MUST,
    "sec-batch-read-flags",
    sends="Batch reads that do not fence, with the ledger's key and with another one.",
    accepts="The entries; the ledger takes adds afterwards.",
    since=SINCE,
    needs=NEEDS,
    provenance="D10",
)
def a_key_without_the_fencing_flag_is_ignored(talk: Talk) -> None:
    """A master key in a batch read that does not fence MUST be ignored, right or wrong: it is no fence, and no
    error."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41])
    for key in (KEY, OTHER_KEY):
        expect_prefix(talk, talk.requests.batch_read(ledger, 0, 2, PLENTY, key=key), bodies)
    talk.expect(talk.requests.add(ledger, 2), EOK)


@case(
    "BKW-BATCH-009",
    MUST,
    "sec-batch-read-v2",
    sends="V2 batch reads cut to 5, 12, 20, 28, 32 and 39 bytes; fencing ones with 0 and 19 bytes of key.",
    accepts="The connection is closed without a reply; the entries are still read on another one, and nothing is "
    "fenced.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="the source of Java 4.17 and 4.18",
)
def a_request_cut_short_closes_the_connection(talk: Talk) -> None:
    """A V2 batch read that lacks a part of its fields, or of the key that its flag promises, MUST close the connection
    and MUST NOT be carried out."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41])
    whole = v2_requests.batch_read(ledger, 0, 1, PLENTY)
    fencing = v2_requests.batch_read(ledger, 0, 1, PLENTY, flags=int(Flag.FENCING), key=KEY)
    for frame in [whole[:size] for size in (5, 12, 20, 28, 32, 39)] + [fencing[:40], fencing[:59]]:
        talk.expect_closed(talk.line(f"{len(frame)} bytes, {frame[3]}"), frame)
    expect_prefix(talk, whole, bodies)
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-BATCH-010",
    MUST,
    "sec-batch-read-flags",
    sends="Batch reads of high priority, of every flag bit that means nothing to a batch read (V2), with the "
    "piggyback flag (V3).",
    accepts="The entries, as without them; flags 0 in V2 replies.",
    since=SINCE,
    needs=NEEDS,
    provenance="BP-62",
)
def other_flags_change_nothing(talk: Talk) -> None:
    """High priority MUST NOT change what a batch read brings, nor MUST flags that mean nothing to it."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41])
    if talk.dialect is V2:
        meaningless = 0xFFFF & ~int(Flag.FENCING)
        frames = [v2_requests.batch_read(ledger, 0, 2, PLENTY, flags=flags) for flags in (2, 4, 0x100, meaningless)]
    else:
        frames = [
            v3_requests.with_change(talk.requests.batch_read(ledger, 0, 2, PLENTY), change)
            for change in (_with_priority, _with_piggyback)
        ]
    for frame in frames:
        reply = expect_prefix(talk, frame, bodies)
        talk.check("flags of the reply", reply.flags, 0)
    talk.expect(talk.requests.add(ledger, 2), EOK)


def _with_priority(message: v3_pb2.Request) -> None:
    message.header.priority = 100


def _with_piggyback(message: v3_pb2.Request) -> None:
    message.batch_read_request.flag = v3_pb2.BatchReadRequest.ENTRY_PIGGYBACK
