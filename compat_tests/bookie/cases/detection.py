"""How a bookie tells the protocol version of a frame, and how the connection goes on."""

from compat_tests.bookie.stored_entries import make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.requests import Requests
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EBADREQ, EBADVERSION, ENOENTRY, ENOLEDGER, EOK

BATCH_V3_AS_V2 = 300
"""A transaction id that makes the header message 7 bytes long, which as a V2 operation is batch read."""


@case(
    "BKW-DETECT-001",
    MUST,
    "sec-detection",
    sends="On one connection: two adds in V3, two reads in V3, then reads of the same entries in V2.",
    accepts="Each reply in the dialect of its request, with the entry.",
    dialects=(V3,),
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def v2_may_follow_v3_on_a_connection(talk: Talk) -> None:
    """A bookie MUST try each frame as V3 first, and serve V2 frames on a connection that has had V3 frames."""
    ledger, v2 = talk.new_ledger(), Requests(V2)
    bodies = [make_entry(ledger, entry_id) for entry_id in range(2)]
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK, dialect=V3)
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.read(ledger, entry_id), EOK, dialect=V3, body=body)
    for entry_id, body in enumerate(bodies):
        talk.expect(v2.read(ledger, entry_id), EOK, dialect=V2, body=body)
    talk.main.send(v2.read(ledger, 0), v2.read(ledger, 7))
    talk.expect_answer(v2.read(ledger, 0), EOK, dialect=V2, body=bodies[0])
    talk.expect_answer(v2.read(ledger, 7), ENOENTRY, dialect=V2)


@case(
    "BKW-DETECT-002",
    MUST,
    "sec-detection",
    sends="A read in V2, then an add in V3, on one connection.",
    accepts="The reply to the read; the connection closed on the add, and nothing stored.",
    dialects=(V2,),
    provenance="D9; seen of Java 4.9.2 to 4.18.0",
)
def v3_never_follows_v2_on_a_connection(talk: Talk) -> None:
    """A bookie MUST read every frame behind the first V2 frame of a connection as V2, for good."""
    ledger = talk.new_ledger()
    line = talk.line("first V2, then V3")
    talk.expect(v2_requests.read(ledger, 0), ENOLEDGER, line)
    talk.expect_closed(line, v3_requests.add(ledger, 0))
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)


@case(
    "BKW-DETECT-003",
    MUST,
    "sec-detection",
    sends="A V3 request of operation 13, with a header of 7 bytes, and long enough for a V2 batch read.",
    accepts="What its bytes say in V2, a batch read of version 10: EBADVERSION, with header 0a070000 and the ids.",
    dialects=(V3,),
    since="4.17",
    needs=("batch-read-v2",),
    provenance="D9; seen of Java 4.17.3 and 4.18.0",
)
def a_frame_that_is_no_v3_is_read_as_v2(talk: Talk) -> None:
    """A bookie MUST read a frame with an unknown operation as V2, whatever else its bytes look like."""
    line = talk.line("unknown operation")
    line.send(_unknown_operation())
    reply = talk.check_reply(talk.expect_reply(line.receive()), EBADVERSION, dialect=V2, version=10, operation=7)
    request = _unknown_operation()
    talk.check("header of the reply", reply.raw[:4], bytes.fromhex("0a070000"))
    talk.check("ids of the reply", reply.raw[8:], request[4:28])


@case(
    "BKW-DETECT-004",
    MUST,
    "sec-detection",
    sends="The same frame, and when it is answered a good V3 read with a header of 6 bytes.",
    accepts="The connection closed on the read: behind one frame that is no V3, nothing is.",
    dialects=(V3,),
    since="4.17",
    needs=("batch-read-v2",),
    provenance="D9; seen of Java 4.17.3 and 4.18.0",
    after=("BKW-DETECT-003",),
)
def one_frame_that_is_no_v3_makes_the_connection_v2(talk: Talk) -> None:
    """A bookie MUST NOT read V3 again on a connection on which one frame was no V3, though all the others are."""
    line = talk.line("unknown operation")
    good = v3_requests.read(talk.new_ledger(), 0)
    talk.expect(good, ENOLEDGER, line)
    line.send(_unknown_operation())
    talk.check_reply(talk.expect_reply(line.receive()), EBADVERSION, dialect=V2)
    talk.expect_closed(line, good)


@case(
    "BKW-DETECT-005",
    MUST,
    "sec-detection",
    sends="V3 adds whose header has version 0 and 4, or operation 0, 13 and 127, each on a connection of its own.",
    accepts="Each connection closed without a reply; nothing is stored.",
    dialects=(V3,),
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def an_unknown_enum_value_in_the_header_makes_a_frame_no_v3(talk: Talk) -> None:
    """A bookie MUST take a required enum field with an unknown value for absent, so the frame for no V3."""
    ledger = talk.new_ledger()
    good = v3_requests.add(ledger, 0)
    talk.check("the beginning of the request", good[2:6], bytes.fromhex("0803 1002"))
    versions = [good[:3] + bytes([version]) + good[4:] for version in (0, 4)]
    operations = [good[:5] + bytes([operation]) + good[6:] for operation in (0, 13, 127)]
    for index, frame in enumerate(versions + operations):
        talk.expect_closed(talk.line(f"unknown {index}"), frame)
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)


@case(
    "BKW-DETECT-006",
    MUST,
    "sec-v2-header",
    sends="V2 requests of operations 4, 5 and 6 with the fields of a read, and with a master key and an entry.",
    accepts="Each connection closed without a reply; nothing is stored.",
    dialects=(V2,),
    provenance="D13; seen of Java 4.9.2 to 4.18.0",
)
def reserved_v2_operations_close_the_connection(talk: Talk) -> None:
    """A bookie MUST close the connection on V2 operations 4, 5 and 6, which have names and no layout."""
    ledger = talk.new_ledger()
    as_read, as_add = v2_requests.read(ledger, 0), v2_requests.add(ledger, 0)
    for operation in (4, 5, 6):
        for form, frame in (("read", as_read), ("add", as_add)):
            changed = frame[:1] + bytes([operation]) + frame[2:]
            talk.expect_closed(talk.line(f"{operation} like a {form}"), changed)
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)


@case(
    "BKW-DETECT-007",
    MUST,
    "sec-v3-replies",
    sends="V3 requests of operations 3 and 4, which are known and never served, with version 2 and priority 9, too.",
    accepts="EBADREQ at the top level under the request's own header, version and priority included; no part.",
    dialects=(V3,),
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def reserved_v3_operations_are_answered_under_their_own_header(talk: Talk) -> None:
    """A bookie MUST answer V3 operations 3 and 4 with EBADREQ, the header of the request copied, and no part."""
    for operation in (V3Operation.RANGE_READ_ENTRY, V3Operation.RANGE_ADD_ENTRY):
        for options in ({}, {"version": 2, "priority": 9}, {"version": 1}):
            frame = v3_requests.request(operation, None, **options)
            reply = talk.expect(frame, EBADREQ, part=None)
            talk.check("the reply", reply.raw, frame + bytes.fromhex("109403"))
    talk.expect_open()


@case(
    "BKW-DETECT-009",
    MUST,
    "sec-detection-collisions",
    sends="V2 reads of ledgers 0x0A06080310081807 and 0x0A06080310011801, whose ids spell V3 headers.",
    accepts="ENOLEDGER in V2 with these ids, on a connection that is served further.",
    dialects=(V2,),
    provenance="S14; seen of Java 4.9.2 to 4.18.0",
)
def a_ledger_id_that_spells_a_v3_header_is_still_v2(talk: Talk) -> None:
    """A bookie MUST take a frame that begins with 00, 01 or 02 for V2, whatever its ledger id spells."""
    for index, ledger in enumerate((0x0A06080310081807, 0x0A06080310011801)):
        line = talk.line(f"ledger id {index}")
        line.send(v2_requests.read(ledger, 0))
        outcome = line.receive()
        talk.check_reply(talk.expect_reply(outcome), ENOLEDGER, dialect=V2, ledger_id=ledger, entry_id=0)
        talk.expect(v2_requests.read(ledger, 1), ENOLEDGER, line)


def _unknown_operation() -> bytes:
    frame = v3_requests.request(V3Operation.READ_LAC, txn_id=BATCH_V3_AS_V2)
    assert frame[:6] == bytes.fromhex("0a07 0803 1007")
    return frame[:5] + bytes([13]) + frame[6:] + bytes(60 - len(frame))
