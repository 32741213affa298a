"""What one connection does to the others: nothing."""

from compat_tests.bookie.pipeline import collect, statuses
from compat_tests.bookie.stored_entries import expect_stored, fill, make_entry, wait_until_stored
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.line import with_length
from compat_tests.wire.replies import ConnectionClosed, Reply
from protocol_specs.wire.status import EOK

BROKEN = {
    "too long": bytes.fromhex("7fffffff"),
    "no bytes": bytes(4),
    "unknown operation": with_length(bytes.fromhex("02090000") + bytes(60)),
    "half a message": with_length(v3_requests.read(1, 1)[:-1]),
    "text": b"GET / HTTP/1.1\r\n\r\n",
}
"""Requests on which a bookie closes the connection."""


@case(
    "BKW-ISOL-001",
    MUST,
    "sec-connection-broken",
    sends="100 adds on one connection; between them, on five others, what breaks a connection.",
    accepts="The five closed; EOK to each of the 100, on the connection that they came on, and all are stored.",
    provenance="D5: no harm to others",
    limit_s=20.0,
)
def a_broken_connection_harms_no_other(talk: Talk) -> None:
    """A bookie MUST close only the connection that was broken, and serve all others as if nothing had been."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id) for entry_id in range(100)]
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    broken = {name: talk.line(name) for name in BROKEN}
    for index, (name, data) in enumerate(BROKEN.items()):
        talk.main.send(*frames[20 * index : 20 * index + 20])
        broken[name].send_bytes(data)
    talk.check("the statuses", statuses(collect(talk.main, frames)), ["EOK"] * len(frames))
    for line in broken.values():
        talk.expect_closed(line)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-ISOL-002",
    MUST,
    "sec-connection-broken",
    sends="Ten adds and behind them, in the same segment, a frame that is neither V2 nor V3.",
    accepts="The connection closed; all ten entries are stored, whether their replies came or not.",
    provenance="the source of Java 4.9 to 4.18: requests in front of the bad frame are executed",
)
def what_was_in_flight_on_a_broken_connection_is_carried_out(talk: Talk) -> None:
    """A bookie MUST carry out the requests in front of a frame that breaks their connection."""
    ledger = talk.new_ledger()
    line = talk.line("broken")
    bodies = [make_entry(ledger, entry_id) for entry_id in range(10)]
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    line.send_bytes(b"".join(map(with_length, frames)) + BROKEN["unknown operation"])
    while isinstance(outcome := line.receive(), Reply):
        talk.check_reply(outcome, EOK)
    talk.check_that(isinstance(outcome, ConnectionClosed), "the connection", "closed", outcome)
    wait_until_stored(talk, ledger, len(bodies), "the adds in front of the bad frame")
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-ISOL-003",
    MUST,
    "sec-status-when",
    sends="In one segment: reads of four entries that are there, and between them reads of an unknown entry, an "
    "unknown ledger, a negative ledger, and a fencing read without a key.",
    accepts="Each its own status: EOK with the entry, ENOENTRY, ENOLEDGER, ENOLEDGER, EUA; the connection stays.",
    provenance="D5: no harm to others",
)
def a_refused_read_harms_no_other_in_flight(talk: Talk) -> None:
    """A bookie MUST answer every one of the reads that are in flight together by itself, refused ones beside others."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    bodies = fill(talk, ledger, 4)
    build = talk.requests
    refused = [build.read(ledger, 9), build.read(unknown, 0), build.read(-5, 0), _fence_without_key(talk, ledger)]
    frames = [
        frame for pair in zip((build.read(ledger, each) for each in range(4)), refused, strict=True) for frame in pair
    ]
    talk.main.send(*frames)
    replies = collect(talk.main, frames)
    expected = ["EOK", "ENOENTRY", "EOK", "ENOLEDGER", "EOK", "ENOLEDGER", "EOK", "EUA"]
    talk.check("the statuses", statuses(replies), expected)
    talk.check("the entries", [reply.body for reply in replies[::2]], bodies)
    talk.expect(build.add(ledger, 4), EOK)


@case(
    "BKW-ISOL-004",
    MUST,
    "sec-fencing-bookie",
    sends="In one segment: 30 adds in turn to a fenced ledger, to one with another master key, and to a good one.",
    accepts="EFENCED, EUA and EOK in turn; the ten good ones are stored, of the others nothing is.",
    provenance="BK#3783; D5: no harm to others",
    limit_s=20.0,
)
def a_refused_add_harms_no_other_ledger(talk: Talk) -> None:
    """A bookie MUST refuse adds by what their own ledger is, and MUST carry out those of other ledgers beside them."""
    fenced, others, good = (talk.new_ledger() for _ in range(3))
    talk.expect(talk.requests.add(fenced, 0), EOK)
    talk.expect(talk.requests.fence(fenced), EOK)
    talk.expect(talk.requests.add(others, 0, key=bytes(range(50, 70))), EOK)
    bodies = [make_entry(good, entry_id) for entry_id in range(10)]
    frames = []
    for entry_id, body in enumerate(bodies):
        frames += [talk.requests.add(fenced, 1 + entry_id), talk.requests.add(others, 1 + entry_id)]
        frames.append(talk.requests.add(good, entry_id, body=body))
    talk.main.send(*frames)
    talk.check("the statuses", statuses(collect(talk.main, frames)), ["EFENCED", "EUA", "EOK"] * 10)
    expect_stored(talk, good, bodies)
    for ledger in (fenced, others):
        frames = [talk.requests.read(ledger, 1 + entry_id) for entry_id in range(10)]
        talk.main.send(*frames)
        talk.check("the statuses of reads", statuses(collect(talk.main, frames)), ["ENOENTRY"] * 10)


@case(
    "BKW-ISOL-005",
    MUST,
    "sec-framing",
    sends="An add and a read on each of 150 connections that are open at the same time.",
    accepts="EOK and its own entry on each.",
    provenance="the source of Java 4.9 to 4.18",
    limit_s=20.0,
)
def many_connections_are_served_at_once(talk: Talk) -> None:
    """A bookie MUST serve many connections at the same time."""
    ledgers = [talk.new_ledger() for _ in range(150)]
    adds = [talk.requests.add(ledger, 0, body=make_entry(ledger, 0)) for ledger in ledgers]
    for index, frame in enumerate(adds):
        talk.line(f"client {index}").send(frame)
    for index, frame in enumerate(adds):
        talk.expect_answer(frame, EOK, talk.line(f"client {index}"))
    for index, ledger in enumerate(ledgers):
        talk.line(f"client {index}").send(talk.requests.read(ledger, 0))
    for index, ledger in enumerate(ledgers):
        reply = talk.expect_reply(talk.line(f"client {index}").receive())
        talk.check_reply(reply, EOK, ledger_id=ledger, body=make_entry(ledger, 0))


@case(
    "BKW-ISOL-006",
    MUST,
    "sec-framing",
    sends="Half of a frame on each of 50 connections, which then say nothing; adds on another one.",
    accepts="EOK to the adds, each within ten seconds.",
    provenance="D5: no harm to others",
    limit_s=20.0,
)
def clients_that_stop_in_a_frame_hold_up_nobody(talk: Talk) -> None:
    """A bookie MUST serve others while many clients have sent a part of a frame and do not go on."""
    ledger = talk.new_ledger()
    whole = with_length(talk.requests.add(ledger, 99))
    for index in range(50):
        talk.line(f"stopped {index}").send_bytes(whole[: 1 + index])
    for entry_id in range(20):
        frame = talk.requests.add(ledger, entry_id)
        talk.main.send(frame)
        talk.check_reply(talk.expect_reply(talk.main.receive_for(frame)), EOK)
    talk.line("stopped 7").send_bytes(whole[8:])
    talk.check_reply(talk.expect_reply(talk.line("stopped 7").receive()), EOK, entry_id=99)


@case(
    "BKW-ISOL-007",
    MUST,
    "sec-half-close",
    sends="Adds and reads on 40 connections that are reset at once, some in the middle of a frame, before any reply.",
    accepts="The bookie serves others further; of each of the whole adds it has all or nothing.",
    provenance="D5: no harm to others",
    limit_s=20.0,
)
def clients_that_vanish_harm_nobody(talk: Talk) -> None:
    """A bookie MUST go on when clients are gone before their replies, and MUST NOT store anything half."""
    ledger = talk.new_ledger()
    bodies = {entry_id: make_entry(ledger, entry_id, 3000) for entry_id in range(40)}
    for entry_id, body in bodies.items():
        line = talk.line(f"vanishing {entry_id}")
        data = with_length(talk.requests.add(ledger, entry_id, body=body)) + with_length(talk.requests.read(ledger, 0))
        line.send_bytes(data if entry_id % 2 else data[: 100 + 50 * entry_id])
        line.reset()
    talk.expect(talk.requests.add(ledger, 40), EOK)
    for entry_id, body in bodies.items():
        reply = talk.ask(talk.requests.read(ledger, entry_id))
        if reply.status is EOK:
            talk.check(f"entry {entry_id}", reply.body, body)
        else:
            talk.check_one_of(
                f"the status of entry {entry_id}", reply.status.name if reply.status else "", ("ENOENTRY",)
            )


@case(
    "BKW-ISOL-008",
    MUST,
    "sec-order",
    sends="On one connection reads of 24 MB of entries, whose replies are not taken; on another adds and reads of 16 "
    "other ledgers.",
    accepts="EOK to those, within three seconds; then the first has all its replies.",
    provenance="BK#4730, BK#4830; back-pressure: a rule of this reference",
    alone=True,
    limit_s=20.0,
)
def a_slow_reader_harms_nobody(talk: Talk) -> None:
    """A bookie MUST serve others, of whatever ledgers, while a client does not take its replies, and keep these."""
    ledger, others = talk.new_ledger(), [talk.new_ledger() for _ in range(16)]
    body = make_entry(ledger, 0, 200_000)
    talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    slow = talk.line("slow reader")
    slow.send(*(talk.requests.read(ledger, 0) for _ in range(120)))
    talk.wait(0.1)
    for build in (talk.requests.add, talk.requests.read):
        frames = [build(other, 0) for other in others]
        talk.main.send(*frames)
        for frame in frames:
            talk.check_reply(talk.expect_reply(talk.main.receive_for(frame, 3.0)), EOK)
    for _ in range(120):
        talk.check_reply(talk.expect_reply(slow.receive()), EOK, body=body)


@case(
    "BKW-ISOL-009",
    MUST,
    "sec-detection",
    sends="On one connection V3 only, on another V2 only, on a third V2 behind V3, in turn; one of them is broken.",
    accepts="Each is answered in the dialect of its requests throughout.",
    dialects=(V3,),
    provenance="D9",
)
def the_dialect_of_a_connection_is_its_own(talk: Talk) -> None:
    """A bookie MUST detect the dialect of each connection by itself."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0)
    talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    v3, v2, both = (talk.line(name) for name in ("V3", "V2", "both"))
    talk.expect(v3_requests.read(ledger, 0), EOK, both, dialect=V3)
    for _ in range(3):
        talk.expect(v3_requests.read(ledger, 0), EOK, v3, dialect=V3, body=body)
        talk.expect(v2_requests.read(ledger, 0), EOK, v2, dialect=V2, body=body)
        talk.expect(v2_requests.read(ledger, 0), EOK, both, dialect=V2, body=body)
    talk.expect_closed(v2, v3_requests.read(ledger, 0))
    talk.expect(v3_requests.read(ledger, 0), EOK, v3, dialect=V3, body=body)
    talk.expect(v2_requests.read(ledger, 0), EOK, both, dialect=V2, body=body)


def _fence_without_key(talk: Talk, ledger: int) -> bytes:
    if talk.dialect is V2:
        return v2_requests.read(ledger, 1, version=1, flags=1)
    return talk.requests.read(ledger, 1, fencing=True)
