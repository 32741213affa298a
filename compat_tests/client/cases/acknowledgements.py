"""Acknowledgements: what a writer takes for one, and what ends it."""

from compat_tests.client.client_requests import ClientRequest
from compat_tests.client.rules import Exchange
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.stage import Stage
from compat_tests.judge.case import BOTH, MUST, SHOULD, V2, V3, case
from protocol_specs import fields
from protocol_specs.wire import framing
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import EFENCED, EUA

FENCED, UNAUTHORIZED, CLOSED = -101, -102, -11
NOT_YET_S = 0.3
"""How long a case watches for an event that must not happen."""

AT_ONCE_S = 8.0
"""Less than the time-outs of a client whose requests are held, and time enough on a busy machine."""


def _adds(bookie: ScriptedBookie) -> list[ClientRequest]:
    return bookie.requests("add")


@case(
    "BKW-CWRITE-008",
    MUST,
    "sec-quorums",
    sends="An append with W = 3 and A = 2, of which one bookie answers, and a second one later.",
    accepts="No acknowledgement before the second answer, and one then, though the third bookie is silent.",
    provenance="seen with Java's client 4.18.0",
)
def an_append_is_acknowledged_by_the_ack_quorum(stage: Stage) -> None:
    """A client MUST acknowledge an append when A bookies of its write set have it: not before, and no later."""
    bookies = stage.bookies(3)
    writer = stage.new_writer(bookies, ack=2, client=stage.held_client())
    gates = [bookie.on("add").hold() for bookie in bookies]
    pending = writer.begin("append", body=b"x")
    for gate in gates:
        gate.wait()
    gates[0].release()
    stage.wait(NOT_YET_S)
    stage.check("acknowledged with one of two answers", pending.done, False)
    gates[2].release()
    stage.check("the entry", pending.result(AT_ONCE_S)["entry"], "0")


@case(
    "BKW-CWRITE-009",
    MUST,
    "sec-add-entry-client",
    sends="Three appends at once; entries 1 and 2 are answered, entry 0 is not yet.",
    accepts="No acknowledgement before entry 0 is answered; then all three, in the order of their ids.",
    provenance="seen with Java's client 4.18.0",
)
def appends_are_acknowledged_in_order(stage: Stage) -> None:
    """A client MUST NOT acknowledge an append before those in front of it, in whatever order replies come."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])
    gate = bookie.on("add", entry_id=0).hold()
    pending = writer.begin_append_many([b"a", b"b", b"c"])
    stage.together(lambda: len(_adds(bookie)), 3)
    stage.wait(NOT_YET_S)
    stage.check("the last add confirmed", writer.last_add_confirmed(), fields.NO_ENTRY)
    gate.release()
    outcomes = writer.outcomes(pending)
    stage.check("ids and order", (outcomes.entries, outcomes.order), ((0, 1, 2), (0, 1, 2)))


@case(
    "BKW-CWRITE-010",
    MUST,
    "sec-quorums",
    sends="With W = A = 2, the one bookie's reply to an add comes twice, the other one's not yet.",
    accepts="No acknowledgement before the other bookie answers.",
    provenance="BK#719",
)
def a_reply_that_comes_twice_counts_once(stage: Stage) -> None:
    """A client MUST count each bookie once, however often it answers."""
    bookies = stage.bookies(2)
    writer = stage.new_writer(bookies)
    bookies[0].on("add").twice()
    gate = bookies[1].on("add").hold()
    pending = writer.begin("append", body=b"x")
    gate.wait()
    stage.wait(NOT_YET_S)
    stage.check("acknowledged by one bookie", pending.done, False)
    gate.release()
    stage.check("the entry", pending.result()["entry"], "0")


@case(
    "BKW-CWRITE-011",
    MUST,
    "sec-v2-matching",
    dialects=(V2,),
    sends="EOK for another entry, for another ledger and for another operation, then the reply to the add itself.",
    accepts="No acknowledgement before the last one.",
    provenance="BK#719",
)
def a_reply_of_v2_is_matched_by_operation_ledger_and_entry(stage: Stage) -> None:
    """A client MUST match V2 replies by operation, ledger and entry, and ignore what answers nothing."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])

    def others(exchange: Exchange) -> None:
        right = exchange.frame()
        read = framing.join_header(2, Operation.READ_ENTRY).to_bytes(4, "big") + right[4:]
        exchange.send(exchange.frame(entry_id=7), exchange.frame(ledger_id=writer.ledger_id + 1), read)

    bookie.on("add").do(others)
    pending = writer.begin("append", body=b"x")
    (add,) = bookie.wait_for("add")
    stage.wait(NOT_YET_S)
    stage.check("acknowledged by other replies", pending.done, False)
    bookie.honest_again()
    bookie.say(add)
    stage.check("the entry", pending.result()["entry"], "0")


@case(
    "BKW-CWRITE-012",
    MUST,
    "sec-v3-replies",
    dialects=(V3,),
    sends="EOK under transaction ids that the client did not use, then the reply to the add itself.",
    accepts="No acknowledgement before the last one.",
    provenance="seen with Java's client 4.18.0",
)
def a_reply_of_v3_is_matched_by_its_transaction(stage: Stage) -> None:
    """A client MUST match V3 replies by transaction id, and ignore those of no request of its own."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])
    bookie.on("add").do(lambda exchange: exchange.send(exchange.frame(number=1 << 40), exchange.frame(number=0)))
    pending = writer.begin("append", body=b"x")
    (add,) = bookie.wait_for("add")
    stage.wait(NOT_YET_S)
    stage.check("acknowledged by other replies", pending.done, False)
    bookie.honest_again()
    bookie.say(add)
    stage.check("the entry", pending.result()["entry"], "0")


def _expect_refused_for_good(stage: Stage, status: object, code: int) -> None:
    *ensemble, spare = stage.bookies(4, registered=False)
    stage.register(*ensemble)
    writer = stage.new_writer(ensemble, ack=2)
    stage.register(spare)
    stage.settle()
    writer.append()
    fragments = stage.metadata(writer.ledger_id).fragments
    ensemble[1].on("add").answer(status)  # type: ignore[arg-type]
    for bookie in (ensemble[0], ensemble[2]):
        bookie.on("add").silence()
    stage.expect_error(writer.begin("append", body=b"x"), code)
    stage.expect_error(writer.begin("append", body=b"after"), code, CLOSED)
    if any(add.body.endswith(b"after") for bookie in ensemble for add in _adds(bookie)):
        stage.tolerate("the client goes on to send adds, which nobody acknowledges any more")
    stage.check("the fragments", stage.metadata(writer.ledger_id).fragments, fragments)
    stage.check("adds to another bookie", spare.requests("add"), [])


@case(
    "BKW-CWRITE-013",
    MUST,
    "sec-recovery-writer",
    sends="EFENCED from one of three bookies to an add, while another bookie is free.",
    accepts="The append fails with -101, and so does the next, sent or not; the fragments stay as they are.",
    provenance="seen with Java's client 4.18.0",
)
def a_fenced_writer_ends(stage: Stage) -> None:
    """A client MUST fail a writer that is told EFENCED, and all that comes behind: no change of the ensemble helps."""
    _expect_refused_for_good(stage, EFENCED, FENCED)


@case(
    "BKW-CWRITE-014",
    MUST,
    "sec-add-entry-client",
    sends="EUA from one of three bookies to an add, while another bookie is free.",
    accepts="The append fails with -102, and so does the next, sent or not; the fragments stay as they are.",
    provenance="seen with Java's client 4.18.0",
)
def a_writer_with_the_wrong_key_ends(stage: Stage) -> None:
    """A client MUST fail a writer that is told EUA: no other bookie would make the key right."""
    _expect_refused_for_good(stage, EUA, UNAUTHORIZED)


@case(
    "BKW-CWRITE-015",
    MUST,
    "sec-framing",
    sends="Replies to adds a byte at a time; then those of three adds in one segment, in reverse.",
    accepts="All appends are acknowledged.",
    dialects=BOTH,
    provenance="seen with Java's client 4.18.0",
)
def replies_may_be_cut_and_joined_anywhere(stage: Stage) -> None:
    """A client MUST take replies however TCP cuts and joins them, and in any order."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])
    bookie.on("add").split()
    stage.check("the ids", [writer.append(), writer.append()], [0, 1])
    bookie.honest_again()
    held: list[Exchange] = []

    bookie.on("add").do(held.append)
    pending = writer.begin_append_many([b"a", b"b", b"c"])
    stage.together(lambda: len(held), 3)
    held[-1].send(*(each.honest() for each in reversed(held)))
    stage.check("the ids", writer.outcomes(pending).entries, (2, 3, 4))


@case(
    "BKW-CCONN-021",
    SHOULD,
    "sec-v2-packets",
    dialects=(V2,),
    sends="A reply to an add with 8 more bytes behind its ids.",
    accepts="The add counts as acknowledged.",
    provenance="seen with Java's client 4.18.0",
)
def bytes_behind_the_reply_to_an_add_are_skipped(stage: Stage) -> None:
    """A V2 client SHOULD skip what stands behind the ids in the reply to an add."""
    bookies = stage.bookies(1)
    bookies[0].on("add").change(lambda frame: frame + bytes(8))
    writer = stage.new_writer(bookies)
    stage.check("the id", writer.append(b"payload"), 0)


@case(
    "BKW-CCONN-022",
    MUST,
    "sec-framing",
    sends="The replies to four adds that were sent at once, cut into single bytes.",
    accepts="All four are acknowledged, in order.",
    provenance="BK#4140; a stream keeps no borders",
)
def replies_to_adds_may_come_byte_by_byte(stage: Stage) -> None:
    """A client MUST read replies however the stream brings their bytes."""
    bookies = stage.bookies(1)
    bookies[0].on("add").split()
    writer = stage.new_writer(bookies)
    outcomes = writer.append_many([b"one", b"two", b"three", b"four"])
    stage.check("the codes", outcomes.codes, (0, 0, 0, 0))
    stage.check("the ids", outcomes.entries, (0, 1, 2, 3))
