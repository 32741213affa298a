"""Replies that no bookie should send, connections that end, and what a client makes of them."""

from collections.abc import Callable

from compat_tests.client import client_requests as names
from compat_tests.client.readable_ledger import ABSENT, GIVEN_UP, Reader, in_turn, readable_ledger, reply_with
from compat_tests.client.rules import Action, Exchange
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.judge.recording import NOTE
from protocol_specs import fields
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EIO, EOK

PAYLOADS = tuple(b"entry %d" % number for number in range(8))


def _expect_read_elsewhere(stage: Stage, *acts: Action) -> None:
    """Read one entry for each act, by which the first replica answers; each must come from another replica."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    for entry_id, act in enumerate(acts):
        order = in_turn(stage, ledger, names.READ, act, entry_id=entry_id)
        stage.check(f"the payload of entry {entry_id}", reader.read_entry(entry_id), PAYLOADS[entry_id])
        stage.check("whether another bookie was asked", len(set(order)) > 1, True)


def _send(data: bytes) -> Action:
    return lambda ask: ask.send_bytes(data)


def _change(change: Callable[[v3_pb2.Response], None]) -> Action:
    """The honest reply of V3 with its message changed."""

    def act(ask: Exchange) -> None:
        message = v3_pb2.Response.FromString(ask.honest())
        change(message)
        ask.send(message.SerializePartialToString())

    return act


@case(
    "BKW-CCONN-011",
    MUST,
    "sec-connection-broken",
    sends="In place of a reply: a frame of no bytes, of one byte, of 40 bytes ff, and of text.",
    accepts="Each time the entry of another replica.",
    provenance="seen with Java's client 4.18.0",
)
def garbage_means_the_next_replica(stage: Stage) -> None:
    """A client MUST give a connection up on which it cannot read a reply, and ask another replica."""
    garbage = (b"", b"\x02", b"\xff" * 40, b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    _expect_read_elsewhere(stage, *(lambda ask, frame=frame: ask.send(frame) for frame in garbage))


@case(
    "BKW-CCONN-012",
    MUST,
    "sec-frame-limit",
    sends="In place of a reply only a length: 2 147 483 647, 2 147 483 648, 4 294 967 295.",
    accepts="The client closes the connection without waiting for the bytes, and reads from another replica.",
    provenance="seen with Java's client 4.18.0",
)
def a_length_over_the_limit_closes_the_connection(stage: Stage) -> None:
    """A client MUST refuse a reply longer than the frame limit as soon as its length is there; it is unsigned."""
    lengths = (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    _expect_read_elsewhere(stage, *(_send(fields.frame_length.build(length)) for length in lengths))

    def closed() -> int:
        return sum(event.sender == NOTE and event.text in GIVEN_UP for event in stage.recording.events)

    stage.wait_until(lambda: closed() >= len(lengths), "connections closed by the client")


@case(
    "BKW-CCONN-013",
    MUST,
    "sec-connection-broken",
    sends="A frame that is no reply, in place of the only bookie's reply; then further reads.",
    accepts="The first read fails; the others are answered over a new connection.",
    provenance="BK#4557; seen with Java's client 4.18.0",
)
def a_bookie_is_asked_again_after_garbage(stage: Stage) -> None:
    """A client MUST fail what waits on a connection that it gives up, and MUST be able to make another."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    bookie = ledger.bookies[0]
    bookie.on(names.READ, ledger_id=ledger.id, times=1).do(lambda ask: ask.send(b"\xff" * 40))
    reader = ledger.open()
    stage.expect_error(reader.begin_read(0).pending)
    _read_again(stage, reader, 1)


def _read_again(stage: Stage, reader: Reader, entry_id: int) -> None:
    """A client may leave a bookie alone for a moment after a connection was lost."""
    expected = (PAYLOADS[entry_id],)
    for _ in range(15):
        seen = reader.begin_read(entry_id).outcome()
        if seen == expected:
            return
        stage.wait(0.2)
    stage.check("the read afterwards", seen, expected)


@case(
    "BKW-CCONN-014",
    MUST,
    "sec-order",
    sends="Behind each other: a reply, and the end of the connection.",
    accepts="The reply counts, and the next read is sent over a new connection.",
    provenance="seen with Java's client 4.18.0",
)
def a_reply_in_front_of_the_end_counts(stage: Stage) -> None:
    """A client MUST take replies that came before the bookie closed the connection."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)

    def act(ask: Exchange) -> None:
        ask.send(ask.honest())
        ask.close()

    ledger.bookies[0].on(names.READ, ledger_id=ledger.id, times=1).do(act)
    reader = ledger.open()
    stage.check("the payload", reader.read_entry(0), PAYLOADS[0])
    _read_again(stage, reader, 1)


@case(
    "BKW-CCONN-015",
    MUST,
    "sec-connection-broken",
    sends="The only bookie of a ledger drops its connections three times, between reads.",
    accepts="Reads go on over new connections.",
    provenance="seen with Java's client 4.18.0",
)
def a_lost_connection_is_made_again(stage: Stage) -> None:
    """A client MUST connect again to a bookie whose connection was lost."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    reader = ledger.open()
    for entry_id in range(3):
        _read_again(stage, reader, entry_id)
        ledger.bookies[0].drop_connections()
    _read_again(stage, reader, 3)


@case(
    "BKW-CCONN-016",
    MUST,
    "sec-status-unknown",
    dialects=(V2,),
    sends="Statuses that are in no table: 3, 99, 107, -1.",
    accepts="Each time the entry of another replica: whatever it is, it is no success and no absence.",
    provenance="BP-46: 107 is unknown in V2; seen with Java's client 4.18.0",
)
def an_unknown_v2_status_means_the_next_replica(stage: Stage) -> None:
    """A V2 client MUST take a status that it does not know for an error, and ask another replica."""
    unknown = (3, 99, 107, -1)
    _expect_read_elsewhere(stage, *(reply_with(status=code) for code in unknown))


@case(
    "BKW-CCONN-017",
    MUST,
    "sec-status-unknown",
    sends="From every replica the status 99 in V2, 599 in V3.",
    accepts='An error, and neither "no such entry" nor "no such ledger".',
    provenance="BK#2908: an error is no absence; seen with Java's client 4.18.0",
)
def an_unknown_status_is_not_absence(stage: Stage) -> None:
    """A client MUST NOT take a status that it does not know for absence."""
    ledger = readable_ledger(stage, PAYLOADS)
    code = 99 if stage.dialect is V2 else 599
    if stage.dialect is V2:
        stage.on_all(ledger.bookies, names.READ, ledger_id=ledger.id).answer(code)
    else:
        stage.on_all(ledger.bookies, names.READ, ledger_id=ledger.id).do(_with_status(code))
    found = stage.expect_error(ledger.open().begin_read(0).pending).code
    stage.check(f"whether the error ({found}) says absence", found in ABSENT, False)


def _with_status(code: int) -> Action:
    """A V3 reply with a status that the library would not let through: the bytes are put together by hand."""

    def act(ask: Exchange) -> None:
        header = v3_pb2.Response(header=ask.request.message.header).SerializePartialToString()
        ask.send(header + b"\x10" + bytes([code & 0x7F | 0x80, code >> 7]))

    return act


@case(
    "BKW-CCONN-018",
    MUST,
    "sec-v3-requests",
    dialects=(V3,),
    sends="EIO outside and EOK with the entry in the part, from the replica asked first.",
    accepts="The entry of another replica.",
    provenance="seen with Java's client 4.18.0",
)
def an_error_outside_outweighs_the_part(stage: Stage) -> None:
    """A V3 client MUST NOT take a part for an answer when the status of the whole response is an error."""

    def spoilt(message: v3_pb2.Response) -> None:
        message.status = EIO.v3  # type: ignore[assignment]

    _expect_read_elsewhere(stage, _change(spoilt))


@case(
    "BKW-CCONN-019",
    MUST,
    "sec-v3-replies",
    dialects=(V3,),
    sends="EOK without a part, and EOK with the part of an add, from the replica asked first.",
    accepts="The entry of another replica; no hang.",
    provenance="seen with Java's client 4.18.0",
)
def eok_without_its_part_means_the_next_replica(stage: Stage) -> None:
    """A V3 client MUST NOT take EOK without the part of its operation for success."""

    def without(message: v3_pb2.Response) -> None:
        message.ClearField("read_response")

    def another(message: v3_pb2.Response) -> None:
        message.ClearField("read_response")
        message.add_response.status = EOK.v3  # type: ignore[assignment]
        message.add_response.ledger_id, message.add_response.entry_id = 1, 1

    _expect_read_elsewhere(stage, _change(without), _change(another))


@case(
    "BKW-CCONN-020",
    MUST,
    "sec-v3-requests",
    dialects=(V3,),
    sends="Replies with fields that no release knows: in the response, in its header and in its part.",
    accepts="The entry: unknown fields are skipped.",
    provenance="BK#4780",
)
def unknown_fields_are_skipped(stage: Stage) -> None:
    """A V3 client MUST skip fields of a reply that it does not know."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    extra = b"\xf2\x3f\x03new\xf8\x3f\x07"  # field 1022, bytes; field 1023, a number

    def act(ask: Exchange) -> None:
        message = v3_pb2.Response.FromString(ask.honest())
        message.header.MergeFromString(extra)
        message.read_response.MergeFromString(extra)
        ask.send(message.SerializeToString() + extra)

    ledger.bookies[0].on(names.READ, ledger_id=ledger.id).do(act)
    stage.check("the payload", ledger.open().read_entry(2), PAYLOADS[2])


@case(
    "BKW-CCONN-023",
    MUST,
    "sec-read-entry-client",
    sends="The only bookie of a ledger never answers a read.",
    accepts="An error, soon after the client's time-out.",
    limit_s=15.0,
    provenance="seen with Java's client 4.18.0",
)
def a_read_that_nobody_answers_ends(stage: Stage) -> None:
    """A client MUST end a read that no bookie answers."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    ledger.bookies[0].on(names.READ, ledger_id=ledger.id).silence()
    reader = ledger.open(stage.impatient_client())
    error = stage.expect_error(reader.begin_read(0).pending)
    stage.check("whether the error says absence", error.code in ABSENT, False)
