"""Batch read: several at once, beside other requests, and on bookies that have none."""

from compat_tests.bookie.batches import NEEDS, PLENTY, SINCE, check_prefix
from compat_tests.bookie.pipeline import ask_all
from compat_tests.bookie.runs import store_run
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.judge.verdict import Unsupported
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EBADREQ, ENOENTRY, ENOLEDGER, EOK


@case(
    "BKW-BATCH-035",
    MUST,
    "sec-v2-matching",
    sends="Thirty batch reads in one piece, of random starts and counts, some behind the end.",
    accepts="A reply for each, in any order, with its request id and its entries.",
    since=SINCE,
    needs=NEEDS,
    provenance="the source of Java 4.17 and 4.18",
)
def several_batches_in_flight_are_told_apart(talk: Talk) -> None:
    """Each of several batch reads on one connection MUST be answered once, with its own request id (V3: transaction
    id), and with the entries that it asked for."""
    ledger, total = talk.new_ledger(), 12
    bodies = store_run(talk, ledger, [40 + entry_id for entry_id in range(total)])
    ranges = [(talk.random.randrange(total + 3), talk.random.randrange(1, 6)) for _ in range(30)]
    frames = [talk.requests.batch_read(ledger, start, count, PLENTY) for start, count in ranges]
    for (start, count), reply in zip(ranges, ask_all(talk.line("batches"), frames), strict=True):
        if start >= total:
            talk.check_reply(reply, ENOENTRY, entries=())
        else:
            check_prefix(talk, talk.check_reply(reply, EOK), bodies[start : start + count])


@case(
    "BKW-BATCH-036",
    MUST,
    "sec-v2-matching",
    sends="V2 batch reads of the same ledger and start, which differ in request id and count only, in one piece.",
    accepts="A reply for each request id, with no more entries than its own count.",
    dialects=(V2,),
    since=SINCE,
    needs=("batch-read-v2",),
    provenance="BK#719, BK#1547",
)
def batches_of_the_same_start_are_told_apart_by_request_id(talk: Talk) -> None:
    """Unlike other requests of V2, batch reads have a request id: two of the same start MUST each get the reply to
    their own."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41] * 8)
    frames = [v2_requests.batch_read(ledger, 0, count, PLENTY, request_id=900 - count) for count in range(1, 9)]
    for count, reply in enumerate(ask_all(talk.line("batches"), frames), 1):
        talk.check("request id", reply.request_id, 900 - count)
        check_prefix(talk, talk.check_reply(reply, EOK), bodies[:count])


@case(
    "BKW-BATCH-037",
    MUST,
    "sec-order",
    sends="On one connection, in one piece: a batch read of 2 MB, an add, reads of other ledgers, a batch read "
    "that fails.",
    accepts="Each gets its own reply, in any order, and the add is stored.",
    since=SINCE,
    needs=NEEDS,
    provenance="the source of Java 4.17 and 4.18",
)
def other_requests_beside_a_large_batch_are_served(talk: Talk) -> None:
    """A large batch, or one that fails, MUST do no harm to other requests on its connection."""
    ledger, other, unknown = talk.new_ledger(), talk.new_ledger(), talk.new_ledger()
    bodies = store_run(talk, ledger, [500_000] * 4)
    others = store_run(talk, other, [41])
    requests = talk.requests
    batch = requests.batch_read(ledger, 0, 4, 3_000_000)
    failing = requests.batch_read(unknown, 0, 1, PLENTY)
    frames = [batch, requests.add(other, 1), requests.read(other, 0), failing, requests.read(unknown, 0)]
    replies = ask_all(talk.line("mixed"), frames)
    check_prefix(talk, talk.check_reply(replies[0], EOK), bodies)
    talk.check_reply(replies[1], EOK, entry_id=1)
    talk.check_reply(replies[2], EOK, body=others[0])
    talk.check_reply(replies[3], ENOLEDGER, entries=())
    talk.check_reply(replies[4], ENOLEDGER, body=b"")
    talk.expect(requests.read(other, 1), EOK)


@case(
    "BKW-BATCH-038",
    MUST,
    "sec-batch-read-fallback",
    sends="A V2 batch read of an unknown ledger, on a connection of its own.",
    accepts="ENOLEDGER with the request id, and the connection serves on; or the connection is closed without a "
    "reply. EBADREQ is a pass that is not strict.",
    dialects=(V2,),
    provenance="D5, BP-62",
)
def a_v2_batch_is_served_or_closes_its_connection(talk: Talk) -> None:
    """A bookie that has no batch read in V2 MUST close the connection that one comes on, so that clients find out, and
    MUST NOT leave it unanswered. BP-62's \"invalid request type\" is sent by none."""
    line = talk.line("probe")
    outcome = line.ask(v2_requests.batch_read(talk.new_ledger(), 0, 1, PLENTY))
    if isinstance(outcome, Silence):
        talk.fail("the reply to a batch read", expected="ENOLEDGER, or the connection closed", seen=str(outcome))
    if isinstance(outcome, ConnectionClosed):
        talk.check_that("batch-read-v2" not in talk.features, "batch reads", "served as when probed", outcome)
    elif isinstance(outcome, Reply):
        if outcome.status is EBADREQ:
            talk.tolerate("EBADREQ: Java clients hand that to their callers, and do not fall back")
        else:
            talk.check_reply(outcome, ENOLEDGER, entries=())
        talk.expect_open(line)
    talk.expect_open()


@case(
    "BKW-BATCH-039",
    MUST,
    "sec-batch-read-v3",
    sends="Operation 12 of V3 without its part, header version 2 and priority 9.",
    accepts="EBADREQ without a part, behind the very header of the request; the connection serves on.",
    dialects=(V3,),
    since=SINCE,
    provenance="capture of Java 4.17.3 and 4.18.0, BP-62, D5",
)
def operation_12_without_its_part_is_a_bad_request(talk: Talk) -> None:
    """Operation 12 without its part MUST be answered EBADREQ, with the header of the request and no part, whether V3
    batch reads are served or not."""
    frame = v3_requests.request(V3Operation.BATCH_READ_ENTRY, version=2, priority=9, txn_id=talk.requests.number())
    outcome = talk.main.ask(frame)
    if isinstance(outcome, ConnectionClosed) and "batch-read-v3" not in talk.features:
        raise Unsupported("it does not know the number of operation 12, and closes the connection")
    reply = talk.check_reply(talk.expect_reply(outcome), EBADREQ)
    talk.check("the reply", reply.raw, frame + bytes.fromhex("109403"))
    talk.expect_open()


@case(
    "BKW-BATCH-040",
    MUST,
    "sec-batch-read-fallback",
    sends="A V3 batch read of an unknown ledger, in field 109.",
    accepts="ENOLEDGER with a part that has the ids, or EBADREQ without a part, and the connection serves on; "
    "from a bookie that does not know the operation, its connection closed.",
    dialects=(V3,),
    provenance="BP-62, the source of Java 4.17 and 4.18",
)
def a_v3_batch_is_served_or_a_bad_request(talk: Talk) -> None:
    """A bookie that knows operation 12 of V3 and does not serve batch reads MUST answer EBADREQ without a part, and go
    on: that is how a client tells it from one that does."""
    ledger, line = talk.new_ledger(), talk.line("probe")
    outcome = line.ask(talk.requests.batch_read(ledger, 7, 1, PLENTY))
    if isinstance(outcome, ConnectionClosed) and "batch-read-v3" not in talk.features:
        talk.expect_open()
        return
    reply = talk.expect_reply(outcome)
    if reply.part is None:
        talk.check_reply(reply, EBADREQ)
        talk.check_that("batch-read-v3" not in talk.features, "batch reads", "served as when probed", reply)
    else:
        talk.check_reply(reply, ENOLEDGER, ledger_id=ledger, entry_id=7, entries=())
        talk.check("header version of the reply", reply.version, v3.VERSION)
    talk.expect_open(line)
