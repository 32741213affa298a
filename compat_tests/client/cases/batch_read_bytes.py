"""Batch replies as bytes: which request they answer, records that lie, and how the stream brings them."""

from compat_tests.client import client_requests as names
from compat_tests.client import faults
from compat_tests.client.cases.batch_read_replies import PAYLOADS, check_prefix, first_reply_made_by
from compat_tests.client.readable_ledger import HeldRequests, ReadableLedger, cut_at, readable_ledger
from compat_tests.client.rules import Exchange
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, V2, case


@case(
    "BKW-CBATCH-036",
    MUST,
    "sec-batch-read-v2",
    dialects=(V2,),
    since="4.17",
    sends="In front of the honest reply, one with another request id and other entries.",
    accepts="The honest entries.",
    provenance="BP-62, BK#719",
)
def a_reply_with_another_request_id_answers_nothing(stage: Stage) -> None:
    """A V2 client MUST match a batch reply by its request id, and drop one that answers no request."""

    def make(ledger: ReadableLedger, ask: Exchange) -> None:
        others = ledger.staged.seal.run(ledger.id, [b"not to be taken"] * 10)
        ask.send(ask.frame(number=ask.request.number + 77, entries=tuple(others)), ask.honest())

    _, reader = first_reply_made_by(stage, make, ensemble=1)
    check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)


@case(
    "BKW-CBATCH-037",
    MUST,
    "sec-batch-read-v2",
    since="4.17",
    sends="Two batch reads from the same start, of one entry and of five; the replies come in the opposite order.",
    accepts="Each returns its own count.",
    provenance="BK#719",
)
def equal_starts_at_once_are_told_apart(stage: Stage) -> None:
    """A client MUST tell batch reads that are under way together apart by their request ids."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    reader = ledger.open()
    reader.batch_read(0, 1, 0)
    held = HeldRequests(ledger.bookies[0], names.BATCH_READ, ledger.id)
    one, five = reader.begin_batch_read(0, 1, 0), reader.begin_batch_read(0, 5, 0)
    held.wait(stage, 2)
    held.answer_backwards(together=False)
    stage.check("the batch of one", one.payloads(), PAYLOADS[:1])
    stage.check("the batch of five", five.payloads(), PAYLOADS[:5])


@case(
    "BKW-CBATCH-038",
    MUST,
    "sec-connection-broken",
    dialects=(V2,),
    since="4.17",
    sends="Records whose lengths lie: negative, longer than the frame, cut short, and too short for an entry.",
    accepts="The entries of another replica.",
    provenance="BK#4789",
    limit_s=12.0,
)
def records_with_lying_lengths_are_not_returned(stage: Stage) -> None:
    """A V2 client MUST NOT read a record past the end of the reply, and MUST go on with another replica."""
    for number, (start, size) in enumerate(((None, -1), (None, 1 << 20), (2, 41), (9, 5))):

        def make(ledger: ReadableLedger, ask: Exchange, start: int | None = start, size: int = size) -> None:
            lie = faults.record(ledger.entries[0], size)
            ask.send(ask.frame(entries=()) + (lie if start is None else lie[:start]))

        _, reader = first_reply_made_by(stage, make)
        found = reader.batch_read(0, 10, 0)
        stage.check(f"the batch behind lie {number}", found, PAYLOADS[: max(len(found), 1)])


@case(
    "BKW-CBATCH-039",
    MUST,
    "sec-framing",
    since="4.17",
    sends="A batch of three entries in two segments, cut at every byte.",
    accepts="All three entries each time.",
    limit_s=60.0,
    provenance="BK#4140, BK#4196",
)
def batches_are_right_at_every_split_of_the_stream(stage: Stage) -> None:
    """A client MUST read a batch reply however the stream brings its bytes."""
    ledger = readable_ledger(stage, PAYLOADS[:3], ensemble=1)
    reader = ledger.open()
    check_prefix(stage, reader.batch_read(0, 3, 0), PAYLOADS[:3])
    sizes: list[int] = []
    at = 1
    while not sizes or at < sizes[0]:
        ledger.bookies[0].on(names.BATCH_READ, ledger_id=ledger.id, times=1).do(cut_at(at, sizes))
        stage.check(f"the batch of a reply cut at {at}", reader.batch_read(0, 3, 0), PAYLOADS[:3])
        at += 1
