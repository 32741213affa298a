"""Reading single entries: replies that are late, doubled, out of order, cut short, large or not what was asked for."""

from compat_tests.client import client_requests as names
from compat_tests.client.readable_ledger import GIVEN_UP, HeldRequests, in_turn, readable_ledger
from compat_tests.client.rules import Exchange
from compat_tests.client.stage import SILENCE_MS, Stage
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.judge.recording import NOTE
from protocol_specs import fields
from protocol_specs.wire.status import ENOENTRY

PAYLOADS = (b"zero", b"one", b"two", b"three", b"four", b"five", b"six", b"seven")

_AROUND_V3 = 100
"""More than an add of V3 has besides the entry, whatever its ids."""


@case(
    "BKW-CREAD-017",
    MUST,
    "sec-v2-matching",
    dialects=(V2,),
    sends="Two reads of one entry at once on one connection, then two honest replies.",
    accepts="Both reads return the entry.",
    provenance="BK#719, BK#720, BK#1547",
)
def two_reads_of_one_entry_at_once_are_both_answered(stage: Stage) -> None:
    """A V2 client MUST complete equal reads that are under way together each with a reply: they carry no request id."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    gate = ledger.bookies[0].on(names.READ, ledger_id=ledger.id).hold()
    reader = ledger.open()
    first, second = reader.begin_read(3), reader.begin_read(3)
    gate.wait(1)
    stage.wait(0.2)
    gate.release()
    ledger.bookies[0].honest_again()
    for number, each in enumerate((first, second), 1):
        stage.check(f"the payload of read {number}", each.payloads(), (b"three",))


@case(
    "BKW-CREAD-018",
    MUST,
    "sec-order",
    sends="Eight reads at once; their replies come in the opposite order, in one segment.",
    accepts="Each read returns its own entry.",
    provenance="S13; seen with Java's client 4.18.0",
)
def replies_in_any_order_reach_their_reads(stage: Stage) -> None:
    """A client MUST match replies to requests whatever their order."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    held = HeldRequests(ledger.bookies[0], names.READ, ledger.id)
    reader = ledger.open()
    reads = [reader.begin_read(entry_id) for entry_id in range(8)]
    held.wait(stage, 8)
    held.answer_backwards()
    stage.check("the payloads", tuple(each.payload() for each in reads), PAYLOADS)


@case(
    "BKW-CREAD-019",
    MUST,
    "sec-order",
    sends="Every reply two times; eight reads, one after the other.",
    accepts="Each read returns its own entry; a connection need not be given up for it.",
    provenance="seen with Java's client 4.18.0",
)
def a_reply_that_comes_twice_harms_nothing(stage: Stage) -> None:
    """A client MUST drop a reply that answers no request of its own, and go on."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    ledger.bookies[0].on(names.READ, ledger_id=ledger.id).twice()
    reader = ledger.open()
    found = tuple(reader.read_entry(entry_id) for entry_id in range(8))
    stage.check("the payloads", found, PAYLOADS)
    if any(event.sender == NOTE and event.text in GIVEN_UP for event in stage.recording.events):
        stage.tolerate("the client gives a connection up on which a reply came twice")


@case(
    "BKW-CREAD-020",
    MUST,
    "sec-read-entry-client",
    sends="The replica asked first says ENOENTRY after the client has given it up; then the entry is read again.",
    accepts="Both reads return the entry.",
    provenance="BK#4680, BK#4788",
)
def a_late_reply_is_inert(stage: Stage) -> None:
    """A client MUST NOT let the reply to a request that it has given up end another one."""
    ledger = readable_ledger(stage, PAYLOADS)
    late: list[Exchange] = []
    order = in_turn(stage, ledger, names.READ, late.append)
    reader = ledger.open(stage.impatient_client(SILENCE_MS))
    stage.check("the payload", reader.read_entry(2), b"two")
    again = reader.begin_read(2)
    first = stage.first("reads of entry 2", late)
    first.send(first.frame(status=ENOENTRY))
    stage.check("the payload of the second read", again.payloads(), (b"two",))
    stage.check("whether two bookies were asked", len(set(order)) >= 2, True)
    stage.check("the payload of a third read", reader.read_entry(2), b"two")


@case(
    "BKW-CREAD-021",
    MUST,
    "sec-order",
    sends="Reads at a bookie that holds them, and then a read at another one; the first answers when that is returned.",
    accepts="What the quick bookie answers is returned before the slow one has answered.",
    provenance="seen with Java's client 4.18.0",
)
def a_slow_bookie_does_not_hold_up_the_others(stage: Stage) -> None:
    """A client MUST NOT make reads at one bookie wait for replies of another."""
    slow = readable_ledger(stage, PAYLOADS, ensemble=1)
    quick = readable_ledger(stage, PAYLOADS, ensemble=1)
    gate = slow.bookies[0].on(names.READ, ledger_id=slow.id).hold()
    reader = slow.open(stage.held_client())
    waiting = [reader.begin_read(entry_id) for entry_id in range(4)]
    gate.wait(1)
    stage.check("the payload at the quick bookie", quick.open().read_entry(1), b"one")
    stage.check("whether the slow reads still wait", [each.done for each in waiting], [False] * 4)
    slow.bookies[0].honest_again()
    gate.release()
    stage.check("the payloads at the slow bookie", tuple(each.payload() for each in waiting), PAYLOADS[:4])


@case(
    "BKW-CREAD-022",
    MUST,
    "sec-connection-broken",
    sends="Half of a reply, then the connection is closed: cut in the length, in the ids, in the payload.",
    accepts="The client asks another bookie, and returns its entry.",
    provenance="seen with Java's client 4.18.0",
)
def a_reply_that_is_cut_off_means_the_next_replica(stage: Stage) -> None:
    """A client MUST NOT take the beginning of a reply for a reply."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    for entry_id, kept in enumerate((2, 4, 14, 30, -1)):

        def act(ask: Exchange, kept: int = kept) -> None:
            frame = ask.honest()
            ask.send_bytes((fields.frame_length.build(len(frame)) + frame)[:kept])
            ask.close()

        in_turn(stage, ledger, names.READ, act, entry_id=entry_id)
        stage.check(f"the payload behind a reply cut at {kept}", reader.read_entry(entry_id), PAYLOADS[entry_id])


@case(
    "BKW-CREAD-023",
    MUST,
    "sec-frame-limit",
    sends="An entry of 5 242 852 bytes, the largest that V2 can add; in V3 of 5 242 780 bytes.",
    accepts="It is returned whole.",
    provenance="seen with Java's client 4.18.0",
    limit_s=20.0,
)
def the_largest_entry_is_returned(stage: Stage) -> None:
    """A client MUST be able to read the largest entry that can be added: 5 242 880 bytes of frame by default."""
    around = 28 if stage.dialect is V2 else _AROUND_V3
    payload = (bytes(range(256)) * 20480)[: fields.FRAME_SIZE_MAX - around - 36]
    ledger = readable_ledger(stage, (payload,), ensemble=1)
    found = ledger.open().read_entry(0)
    stage.check("the size of the payload", len(found), len(payload))
    stage.check("whether it is the same", found == payload, True)


@case(
    "BKW-CREAD-024",
    MUST,
    "sec-entry-v1",
    sends="An entry whose payload is empty.",
    accepts="It is returned as an entry of no bytes, not as an error.",
    provenance="seen with Java's client 4.18.0",
)
def an_empty_payload_is_an_entry(stage: Stage) -> None:
    """A client MUST return an entry without payload like any other."""
    ledger = readable_ledger(stage, (b"", b"x", b""))
    stage.check("the payloads", ledger.open().read(0, 2), (b"", b"x", b""))


@case(
    "BKW-CREAD-025",
    MUST,
    "sec-v2-matching",
    dialects=(V2,),
    sends="In front of the reply, replies with the ids of another entry and of another ledger.",
    accepts="The read returns its own entry.",
    provenance="BK#719; seen with Java's client 4.18.0",
)
def a_v2_reply_that_names_other_ids_answers_nothing(stage: Stage) -> None:
    """A V2 client MUST match a reply by its ledger id and entry id, and drop one that answers no request."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)

    def act(ask: Exchange) -> None:
        others = [
            ask.frame(entry_id=5, body=ledger.entries[5]),
            ask.frame(ledger_id=ledger.id + 1, body=ledger.entries[1]),
        ]
        ask.send(*others, ask.honest())

    ledger.bookies[0].on(names.READ, ledger_id=ledger.id, times=1).do(act)
    stage.check("the payload", ledger.open().read_entry(1), b"one")


@case(
    "BKW-CREAD-026",
    MUST,
    "sec-v3-requests",
    dialects=(V3,),
    sends="In front of the reply, one with another transaction id and ENOENTRY.",
    accepts="The read returns its entry.",
    provenance="seen with Java's client 4.18.0",
)
def a_v3_reply_with_another_transaction_id_answers_nothing(stage: Stage) -> None:
    """A V3 client MUST match a reply by its transaction id, and drop one that answers no request."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)

    def act(ask: Exchange) -> None:
        ask.send(ask.frame(status=ENOENTRY, number=ask.request.number + 1000), ask.honest())

    ledger.bookies[0].on(names.READ, ledger_id=ledger.id, times=1).do(act)
    stage.check("the payload", ledger.open().read_entry(1), b"one")


@case(
    "BKW-CREAD-027",
    MUST,
    "sec-connection-broken",
    sends="Four reads wait at a bookie, which then goes away for good.",
    accepts="All four return their entries, from the other bookies.",
    provenance="BK#4557",
)
def what_waits_at_a_vanishing_bookie_is_read_elsewhere(stage: Stage) -> None:
    """A client MUST end every request that waits on a connection when that is lost: none may hang."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    holding = [bookie.on(names.READ, ledger_id=ledger.id).hold() for bookie in ledger.bookies]
    reads = [reader.begin_read(entry_id) for entry_id in range(0, 8, 2)]
    stage.wait_until(lambda: any(gate.requests for gate in holding), "a read at a bookie")
    gone = next(at for at, gate in enumerate(holding) if gate.requests)
    for at, bookie in enumerate(ledger.bookies):
        if at != gone:
            bookie.honest_again()
            holding[at].release()
    ledger.bookies[gone].stop()
    stage.check("the payloads", tuple(each.payload() for each in reads), PAYLOADS[0:8:2])
