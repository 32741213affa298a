"""Frames: the limit of their length, and that the borders of TCP segments mean nothing."""

from compat_tests.bookie.pipeline import ask_all, statuses
from compat_tests.bookie.stored_entries import expect_stored, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, Dialect, case
from compat_tests.wire import v2_requests
from compat_tests.wire.entries import KEY
from compat_tests.wire.line import with_length
from compat_tests.wire.replies import ConnectionClosed, Reply
from protocol_specs.fields import FRAME_SIZE_MAX
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK

LENGTH_MAX = FRAME_SIZE_MAX - 4
"""The longest frame by default: the limit counts the length word."""


_UNKNOWN_FIELD = bytes.fromhex("e212")
"""The tag of field 300, of bytes, which no message has."""


def pad(frame: bytes, dialect: Dialect, length: int) -> bytes:
    """The same request in a frame of this length: V2 ignores bytes after its fields, V3 an unknown field."""
    if dialect is V2:
        return frame + bytes(length - len(frame))
    size = length - len(frame) - len(_UNKNOWN_FIELD) - 4  # so many bytes has a length above 2 MiB
    return frame + _UNKNOWN_FIELD + varint(size) + bytes(size)


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


@case(
    "BKW-FRAME-001",
    MUST,
    "sec-frame-limit",
    sends="A read in a frame of length 5 242 876, the longest there is by default: bytes without a meaning fill it up.",
    accepts="ENOLEDGER, as to any read of that ledger; the connection is served further.",
    provenance="seen of Java 4.9.2 to 4.18.0",
    limit_s=20.0,
)
def the_longest_frame_is_served(talk: Talk) -> None:
    """A bookie MUST serve a frame when 4 + its length is not over the limit of 5 242 880 bytes."""
    frame = pad(talk.requests.read(talk.new_ledger(), 0), talk.dialect, LENGTH_MAX)
    talk.expect(frame, ENOLEDGER)
    talk.expect_open()


@case(
    "BKW-FRAME-002",
    MUST,
    "sec-frame-limit",
    sends="An add whose frame has a length of 5 242 877, one over the limit, with all its bytes.",
    accepts="The connection closed without a reply; the entry is not stored.",
    provenance="seen of Java 4.9.2 to 4.18.0",
    limit_s=20.0,
)
def a_frame_over_the_limit_is_refused(talk: Talk) -> None:
    """A bookie MUST close the connection on a frame with 4 + length over the limit, and MUST NOT serve it."""
    ledger = talk.new_ledger()
    add = pad(talk.requests.add(ledger, 0), talk.dialect, LENGTH_MAX + 1)
    talk.expect_closed(talk.line("too long"), add)
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)


@case(
    "BKW-FRAME-003",
    MUST,
    "sec-connection-broken",
    sends="In one segment: an add, a length over the limit, and another add behind it.",
    accepts="The connection closed; the first entry is stored, the second is not.",
    provenance="the source of Java 4.9 to 4.18: requests in front of a bad frame are executed",
)
def what_is_in_front_of_a_frame_too_long_is_carried_out(talk: Talk) -> None:
    """A bookie MUST carry out the requests in front of a frame that breaks the connection, and none behind it."""
    ledger = talk.new_ledger()
    line = talk.line("too long")
    body = make_entry(ledger, 0)
    before, behind = talk.requests.add(ledger, 0, body=body), talk.requests.add(ledger, 1)
    line.send_bytes(with_length(before) + (LENGTH_MAX + 1).to_bytes(4, "big") + with_length(behind))
    outcome = line.receive()
    if isinstance(outcome, Reply):  # the reply may have been sent before the end, and may be lost by it
        talk.check_reply(outcome, EOK)
        outcome = line.receive()
    talk.check_that(isinstance(outcome, ConnectionClosed), "the connection", "closed", outcome)
    read = talk.requests.read(ledger, 0)
    talk.wait_until(lambda: talk.ask(read).status is EOK, "the add in front of the bad frame", timeout_s=4.0)
    talk.expect(talk.requests.read(ledger, 0), EOK, body=body)
    talk.expect(talk.requests.read(ledger, 1), ENOENTRY)


@case(
    "BKW-FRAME-004",
    MUST,
    "sec-framing",
    sends="60 adds in one segment; then a read of each in one segment.",
    accepts="One reply to each, EOK with the very bytes, and nothing else.",
    provenance="the source of Java 4.9 to 4.18",
)
def several_frames_may_share_a_segment(talk: Talk) -> None:
    """A bookie MUST serve every frame of a segment that holds several, and answer each of them once."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id, entry_id) for entry_id in range(60)]
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    talk.check("the statuses", statuses(ask_all(talk.main, frames)), ["EOK"] * len(frames))
    expect_stored(talk, ledger, bodies)
    talk.expect_silence(talk.main, 0.1)


@case(
    "BKW-FRAME-005",
    MUST,
    "sec-framing",
    sends="Adds, each in two segments: cut behind its first byte, behind its second, and so on to its last but one.",
    accepts="EOK to each, and the very bytes when they are read.",
    provenance="the source of Java 4.9 to 4.18",
    limit_s=20.0,
)
def a_frame_may_be_cut_at_every_byte(talk: Talk) -> None:
    """A bookie MUST serve a frame whatever two segments it comes in, length word included."""
    ledger = talk.new_ledger()
    size = len(with_length(talk.requests.add(ledger, 0, body=make_entry(ledger, 0))))
    bodies = []
    for cut in range(1, size):
        entry_id = cut - 1
        bodies.append(make_entry(ledger, entry_id))
        frame = talk.requests.add(ledger, entry_id, body=bodies[-1])
        data = with_length(frame)
        talk.main.send_slowly(data[:cut], len(data), pause_s=0.001)
        talk.main.send_bytes(data[cut:])
        talk.check_reply(talk.expect_reply(talk.main.receive()), EOK, entry_id=entry_id)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-FRAME-006",
    MUST,
    "sec-framing",
    sends="An add byte by byte, each in a segment of its own; another client adds and reads meanwhile.",
    accepts="EOK to all; the slow entry is stored as it was sent.",
    provenance="the source of Java 4.9 to 4.18",
    limit_s=20.0,
)
def a_sender_may_be_slow(talk: Talk) -> None:
    """A bookie MUST serve a frame that comes byte by byte, and MUST serve other clients while it comes."""
    ledger, other = talk.new_ledger(), talk.new_ledger()
    body = make_entry(ledger, 0)
    frame = talk.requests.add(ledger, 0, body=body)
    line = talk.line("slow")
    for index, byte in enumerate(with_length(frame)):
        line.send_slowly(bytes([byte]), pause_s=0.001)
        if index % 10 == 0:
            talk.expect(talk.requests.add(other, index // 10), EOK)
    talk.check_reply(talk.expect_reply(line.receive_for(frame)), EOK)
    talk.expect(talk.requests.read(ledger, 0), EOK, body=body)


@case(
    "BKW-FRAME-007",
    MUST,
    "sec-framing",
    sends="40 adds of sizes from 0 to 5000 bytes of payload, as one stream that is cut at random.",
    accepts="EOK to each, and the very bytes when they are read.",
    provenance="the source of Java 4.9 to 4.18",
)
def segments_and_frames_are_not_the_same(talk: Talk) -> None:
    """A bookie MUST serve frames that begin in one segment and end in another, whatever else is in these."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id, talk.random.randrange(5000)) for entry_id in range(40)]
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    stream = b"".join(map(with_length, frames))
    while stream:
        size = talk.random.choice((1, 3, 17, 500, 4096, 9000))
        talk.main.send_bytes(stream[:size])
        stream = stream[size:]
    for frame in frames:
        talk.expect_answer(frame, EOK)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-FRAME-008",
    MUST,
    "sec-framing",
    sends="A read without its last byte; after a while that byte.",
    accepts="Nothing before the last byte has come, the reply after it.",
    provenance="the source of Java 4.9 to 4.18",
)
def nothing_is_answered_before_a_frame_is_whole(talk: Talk) -> None:
    """A bookie MUST NOT answer a frame before all its bytes have come, and MUST keep the connection meanwhile."""
    frame = talk.requests.read(talk.new_ledger(), 0)
    data = with_length(frame)
    talk.main.send_bytes(data[:-1])
    talk.expect_silence(talk.main)
    talk.main.send_bytes(data[-1:])
    talk.check_reply(talk.expect_reply(talk.main.receive_for(frame)), ENOLEDGER)


@case(
    "BKW-FRAME-009",
    MUST,
    "sec-framing",
    sends="A read, and in the same segment the first half of another one.",
    accepts="The reply to the first at once; the other's when its second half has come.",
    provenance="the source of Java 4.9 to 4.18",
)
def a_whole_frame_does_not_wait_for_the_next_one(talk: Talk) -> None:
    """A bookie MUST answer a frame that has come, though the one behind it is still on its way."""
    first, second = (talk.requests.read(talk.new_ledger(), 0) for _ in range(2))
    cut = len(with_length(second)) // 2
    talk.main.send_bytes(with_length(first) + with_length(second)[:cut])
    talk.check_reply(talk.expect_reply(talk.main.receive_for(first)), ENOLEDGER)
    talk.main.send_bytes(with_length(second)[cut:])
    talk.check_reply(talk.expect_reply(talk.main.receive_for(second)), ENOLEDGER)


@case(
    "BKW-FRAME-014",
    MUST,
    "sec-v2-packets",
    sends="Reads with 1, 19, 20, 21 and 1000 bytes behind their last field, a master key among them; then an add.",
    accepts="The entry, each time; the ledger is not fenced by any of these keys, so the add is EOK.",
    dialects=(V2,),
    provenance="D10; the source of Java 4.9 to 4.18",
)
def bytes_behind_the_last_field_are_ignored(talk: Talk) -> None:
    """A bookie MUST ignore what is behind the last field of a V2 read, a key without the fencing flag included."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0)
    talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    for rest in (b"\0", KEY[:19], KEY, KEY + b"\0", bytes(1000), b"\xff" * 1000):
        talk.expect(v2_requests.read(ledger, 0, key=rest), EOK, body=body)
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-FRAME-015",
    MUST,
    "sec-v2-packets",
    sends="A fencing read with the master key and 44 more bytes; then an add.",
    accepts="EOK with the entry, then EFENCED: the key is the first 20 bytes.",
    dialects=(V2,),
    provenance="D10; the source of Java 4.9 to 4.18",
)
def bytes_behind_the_key_are_ignored(talk: Talk) -> None:
    """A bookie MUST take the first 20 bytes behind the fields of a fencing V2 read for the key, and ignore the rest."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0)
    talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    frame = v2_requests.read(ledger, 0, flags=Flag.FENCING, key=KEY + b"\xff" * 44)
    talk.expect(frame, EOK, body=body)
    talk.expect(talk.requests.add(ledger, 1), EFENCED)


@case(
    "BKW-FRAME-016",
    MUST,
    "sec-framing",
    sends="A read of an entry of a mebibyte, and in the same segment reads of things that are not there.",
    accepts="Every reply, each whole, with the length that its own word says.",
    provenance="the source of Java 4.9 to 4.18: above 16 KiB the encoder of Java switches to scatter/gather",
    limit_s=20.0,
)
def replies_are_frames_of_their_true_length(talk: Talk) -> None:
    """A bookie MUST send each reply whole, behind its true length, with nothing of another reply in it."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0, 1 << 20)
    talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    reads = [talk.requests.read(ledger, entry_id) for entry_id in (7, 0, 8, 0, 9)]
    replies = ask_all(talk.main, reads)
    talk.check("the statuses", statuses(replies), ["ENOENTRY", "EOK", "ENOENTRY", "EOK", "ENOENTRY"])
    talk.check("the entry", [reply.body for reply in replies if reply.status is EOK], [body, body])
    talk.expect_silence(talk.main, 0.1)
