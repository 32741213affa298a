"""Many requests in flight: none is lost, and what the order of their replies may be."""

import threading
from contextlib import suppress

from compat_tests.bookie.pipeline import collect, statuses
from compat_tests.bookie.stored_entries import expect_stored, fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.attempt import as_text
from compat_tests.judge.case import MUST, SHOULD, case
from compat_tests.judge.verdict import Interrupted, Mismatch
from compat_tests.wire.line import Line, with_length
from compat_tests.wire.replies import ConnectionClosed, Reply
from protocol_specs import fields
from protocol_specs.wire.status import ENOENTRY, ENOLEDGER, EOK, ETOOMANYREQUESTS

REQUEST_COUNT = 10_000
_PATIENCE_S = 2.0


@case(
    "BKW-FLOW-001",
    MUST,
    "sec-order",
    sends="10 000 reads as fast as they are taken, without looking at a reply before the last one is sent, or for two "
    "seconds: a bookie may take no more until its replies are taken.",
    accepts="10 000 replies, one to each, ETOOMANYREQUESTS to some if need be; or the connection closed when the "
    "bookie has had enough, and never a part.",
    provenance="back-pressure: a rule of this reference",
    alone=True,
    limit_s=30.0,
)
def who_sends_much_and_reads_late_gets_every_reply(talk: Talk) -> None:
    """A bookie MUST answer each of any number of requests in flight, or close their connection."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 10)
    line = talk.line("eager")
    _send_in_background(
        line, b"".join(with_length(talk.requests.read(ledger, index % 10)) for index in range(REQUEST_COUNT))
    )
    counts, refused = dict.fromkeys(range(10), 0), 0
    for index in range(REQUEST_COUNT):
        outcome = line.receive()
        if isinstance(outcome, ConnectionClosed):
            talk.tolerate(f"the connection was closed after {index} of {REQUEST_COUNT} replies")
            return
        reply = talk.expect_reply(outcome)
        if reply.entry_id is None or reply.entry_id not in counts:
            raise Mismatch("a reply", "that to one of the reads", str(reply))
        counts[reply.entry_id] += 1
        if reply.status is ETOOMANYREQUESTS:
            refused += 1
            continue
        talk.check_reply(reply, EOK, body=bodies[reply.entry_id])
    if refused:
        talk.tolerate(f"{refused} of {REQUEST_COUNT} reads were too many")
    talk.check("replies to the reads of each entry", set(counts.values()), {REQUEST_COUNT // 10})
    talk.expect_silence(line, 0.05)


def _send_in_background(line: Line, data: bytes) -> None:
    """Send bytes on a thread; return when all are sent, or after a while, when the thread goes on with the rest."""

    def send() -> None:
        with suppress(
            Mismatch, Interrupted
        ):  # a bookie that stops taking bytes leaves requests unanswered, which the case notices
            line.send_bytes(data)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    sender.join(_PATIENCE_S)


@case(
    "BKW-FLOW-002",
    MUST,
    "sec-order",
    sends="2000 adds of 4 KiB in one stream; their replies are read when all are sent.",
    accepts="EOK to each, and the last, the first and 20 others as they were sent.",
    provenance="back-pressure: a rule of this reference",
    limit_s=30.0,
)
def who_writes_much_and_reads_late_has_every_add_acknowledged(talk: Talk) -> None:
    """A bookie MUST take, or hold back, adds faster than it can store them, and MUST answer each once it has."""
    ledger, count = talk.new_ledger(), 2000
    frames = [talk.requests.add(ledger, each, body=make_entry(ledger, each, 4096)) for each in range(count)]
    line = talk.line("eager")
    line.send_bytes(b"".join(map(with_length, frames)))
    seen = set()
    for _ in range(count):
        reply = talk.check_reply(talk.expect_reply(line.receive()), EOK, ledger_id=ledger)
        seen.add(reply.entry_id)
    talk.check("the entries that were acknowledged", seen, set(range(count)))
    some = [0, count - 1, *talk.random.sample(range(1, count - 1), 20)]
    expect_stored(talk, ledger, {each: make_entry(ledger, each, 4096) for each in some})


@case(
    "BKW-FLOW-003",
    SHOULD,
    "sec-order",
    sends="300 adds of one ledger in one segment, in the order of their ids.",
    accepts="EOK to each, in this order.",
    provenance="seen of Java 4.9.2 to 4.18.0",
    limit_s=30.0,
)
def adds_of_a_ledger_are_acknowledged_as_they_came(talk: Talk) -> None:
    """A bookie SHOULD carry out and acknowledge the plain adds of one ledger on one connection as they come."""
    ledger = talk.new_ledger()
    talk.main.send(*(talk.requests.add(ledger, entry_id) for entry_id in range(300)))
    seen = [talk.check_reply(talk.expect_reply(talk.main.receive()), EOK).entry_id for _ in range(300)]
    talk.check("the order of the replies", seen, list(range(300)))


@case(
    "BKW-FLOW-004",
    MUST,
    "sec-order",
    sends="40 adds, one after the other; when each is acknowledged, reads of it and of the last entry, over two "
    "other connections.",
    accepts="EOK and the entry, each time.",
    provenance="S13; the guarantee that readers build on",
    limit_s=30.0,
)
def what_is_acknowledged_is_there_for_everybody(talk: Talk) -> None:
    """A bookie MUST serve an entry that it has acknowledged, at once and on every connection."""
    ledger = talk.new_ledger()
    for entry_id in range(40):
        body = make_entry(ledger, entry_id)
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
        talk.expect(talk.requests.read(ledger, entry_id), EOK, talk.line("reader"), body=body)
        talk.expect(talk.requests.read(ledger, fields.LAST_ENTRY), EOK, talk.line("tail"), body=body)


@case(
    "BKW-FLOW-005",
    MUST,
    "sec-order",
    sends="50 times in one segment: an add of a new ledger and a read of its entry; then all the reads again.",
    accepts="EOK to the adds; the reads behind them get the entry, ENOENTRY or ENOLEDGER; the later ones the entry.",
    provenance="S13; seen of Java 4.9.2 to 4.18.0",
    limit_s=30.0,
)
def a_read_may_overtake_the_add_before_it_and_no_more(talk: Talk) -> None:
    """A bookie MAY answer a read without an add that was sent before it, but MUST answer both, each truthfully."""
    ledgers = [talk.new_ledger() for _ in range(50)]
    for ledger in ledgers:
        body = make_entry(ledger, 0)
        add, read = talk.requests.add(ledger, 0, body=body), talk.requests.read(ledger, 0)
        talk.main.send(add, read)
        added, found = collect(talk.main, [add, read])
        talk.check_reply(added, EOK)
        talk.check_one_of("the status of the read", found.status, (EOK, ENOENTRY, ENOLEDGER))
        if found.status is EOK or found.body:
            talk.check("the entry", found.body, body)
        if found.status is not EOK and found.body:
            talk.tolerate(f"{as_text(found.status)} with the entry")
    for ledger in ledgers:
        talk.expect(talk.requests.read(ledger, 0), EOK, body=make_entry(ledger, 0))


@case(
    "BKW-FLOW-006",
    MUST,
    "sec-order",
    sends="64 requests in one go, 24 times, each when all are answered: adds and reads of three ledgers, in any order.",
    accepts="One reply to each; EOK to the adds and to reads of what was acknowledged, ENOENTRY to the others.",
    provenance="D5: no harm to others",
    limit_s=30.0,
)
def a_window_of_requests_is_served_for_long(talk: Talk) -> None:
    """A bookie MUST answer each request of a client that sends many at once, over and over, and no request twice."""
    ledgers = [talk.new_ledger() for _ in range(3)]
    for ledger in ledgers:
        fill(talk, ledger, 1)
    stored = dict.fromkeys(ledgers, 1)
    for _ in range(24):
        frames, expected, adding = [], [], dict.fromkeys(ledgers, 0)
        for _ in range(64):
            ledger = talk.random.choice(ledgers)
            what = talk.random.choice(("add", "read", "miss"))
            if what == "add":
                entry_id = stored[ledger] + adding[ledger]
                adding[ledger] += 1
                frames.append(talk.requests.add(ledger, entry_id, body=make_entry(ledger, entry_id)))
            else:
                entry_id = talk.random.randrange(stored[ledger]) if what == "read" else 10_000
                frames.append(talk.requests.read(ledger, entry_id))
            expected.append("ENOENTRY" if what == "miss" else "EOK")
        talk.main.send(*frames)
        talk.check("the statuses", statuses(collect(talk.main, frames)), expected)
        for ledger, count in adding.items():
            stored[ledger] += count
    for ledger, count in stored.items():
        expect_stored(talk, ledger, {entry_id: make_entry(ledger, entry_id) for entry_id in range(0, count, 17)})


@case(
    "BKW-FLOW-007",
    MUST,
    "sec-order",
    sends="Reads of 30 MB of entries; only some bytes are taken, then the client is gone with a reset.",
    accepts="Others are served meanwhile and afterwards.",
    provenance="back-pressure: a rule of this reference",
    limit_s=30.0,
)
def replies_that_nobody_takes_are_dropped_with_their_client(talk: Talk) -> None:
    """A bookie MUST go on when a client is gone that has not taken its replies."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0, 500_000)
    talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    for index in range(3):
        line = talk.line(f"gone {index}")
        line.send(*(talk.requests.read(ledger, 0) for _ in range(60)))
        reply = line.receive()
        talk.check_that(isinstance(reply, Reply), "the first reply", "a reply", reply)
        line.reset()
        talk.expect(talk.requests.read(ledger, 0), EOK, body=body)
