"""Every way in which a bookie says that it has no batch read, and what a client does then."""

from collections.abc import Callable

from compat_tests.client import client_requests as names
from compat_tests.client.readable_ledger import readable_ledger
from compat_tests.client.rules import Rule
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, V2, V3, case
from protocol_specs.wire.status import EBADREQ, EBADVERSION

PAYLOADS = tuple(b"entry %d" % number for number in range(10))


def _expect_single_reads(stage: Stage, refuse: Callable[[Rule], object]) -> None:
    ledger = readable_ledger(stage, PAYLOADS, published=False)
    for bookie in ledger.bookies:
        refuse(bookie.on(names.BATCH_READ))
    reader = ledger.open()
    stage.check("the payloads, read on and on", reader.read_on(10), PAYLOADS)
    if not ledger.requests(names.BATCH_READ):
        stage.tolerate("no batch read was tried at bookies that publish nothing: there was nothing to fall back from")


@case(
    "BKW-CBATCH-016",
    MUST,
    "sec-batch-read-fallback",
    since="4.17",
    sends="Bookies that close the connection on a batch read, as Java's do up to 4.16.",
    accepts="The same entries, by single reads.",
    provenance="D5, BP-62",
)
def a_connection_closed_means_single_reads(stage: Stage) -> None:
    """A client MUST read the same entries singly from bookies that close the connection on a batch read."""
    _expect_single_reads(stage, lambda rule: rule.close())


@case(
    "BKW-CBATCH-017",
    MUST,
    "sec-batch-read-fallback",
    since="4.17",
    sends="Bookies that reset the connection on a batch read.",
    accepts="The same entries, by single reads.",
    provenance="D5",
)
def a_connection_reset_means_single_reads(stage: Stage) -> None:
    """A client MUST read the same entries singly from bookies that reset the connection on a batch read."""
    _expect_single_reads(stage, lambda rule: rule.reset())


@case(
    "BKW-CBATCH-018",
    MUST,
    "sec-batch-read-fallback",
    dialects=(V3,),
    since="4.17",
    needs=("batch-read-v3",),
    sends="Bookies that answer operation 12 as Java's: EBADREQ under the request's header, without a part.",
    accepts="The same entries, by single reads.",
    provenance="BP-62",
)
def ebadreq_without_a_part_means_single_reads(stage: Stage) -> None:
    """A V3 client MUST read the same entries singly from bookies that answer operation 12 with EBADREQ alone."""
    _expect_single_reads(stage, lambda rule: rule.answer(EBADREQ, part=False))


@case(
    "BKW-CBATCH-019",
    SHOULD,
    "sec-batch-read-fallback",
    since="4.17",
    sends="Bookies that answer a batch read with EBADREQ, and serve single reads.",
    accepts="The same entries, by single reads.",
    provenance="BP-62",
)
def ebadreq_means_single_reads(stage: Stage) -> None:
    """A client SHOULD read the same entries singly from bookies that answer batch reads with EBADREQ."""
    _expect_single_reads(stage, lambda rule: rule.answer(EBADREQ))


@case(
    "BKW-CBATCH-020",
    SHOULD,
    "sec-batch-read-fallback",
    since="4.17",
    sends="Bookies that answer a batch read with EBADVERSION, and serve single reads.",
    accepts="The same entries, by single reads.",
    provenance="D5",
)
def ebadversion_means_single_reads(stage: Stage) -> None:
    """A client SHOULD read the same entries singly from bookies that answer batch reads with EBADVERSION."""
    _expect_single_reads(stage, lambda rule: rule.answer(EBADVERSION))


@case(
    "BKW-CBATCH-021",
    MUST,
    "sec-batch-read-fallback",
    dialects=(V2,),
    since="4.17",
    sends="Single reads wait at the only bookie of a ledger; then a batch read comes, and it closes that connection.",
    accepts="The single reads are answered as if nothing had been, and so is the batch read.",
    provenance="D5",
)
def a_first_batch_read_takes_nothing_else_down(stage: Stage) -> None:
    """A client MUST NOT lose other requests because a bookie turns out to have no batch read."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    bookie = ledger.bookies[0]
    bookie.on(names.BATCH_READ).close()
    gate = bookie.on(names.READ, ledger_id=ledger.id, times=4).hold()
    reader = ledger.open()
    waiting = [reader.begin_read(entry_id) for entry_id in range(4)]
    stage.together(lambda: len(gate.requests), 4)
    batch = reader.begin_batch_read(4, 3, 0)
    stage.wait_until(lambda: batch.done or bool(bookie.requests(names.BATCH_READ)), "a batch read")
    if not bookie.requests(names.BATCH_READ):
        batch.payloads()  # says that the client has none
    stage.wait(0.2)
    gate.release()
    stage.check("the reads that waited", [each.outcome() for each in waiting], [(each,) for each in PAYLOADS[:4]])
    found = batch.payloads()
    stage.check("the batch", found, PAYLOADS[4 : 4 + max(len(found), 1)])


@case(
    "BKW-CBATCH-022",
    SHOULD,
    "sec-batch-read-fallback",
    since="4.17",
    sends="A bookie that serves batch reads loses its connections and is down during one batch read; then it is back.",
    accepts="Later batch reads of the same handle are sent as batch reads again.",
    provenance="D6",
)
def a_lost_connection_is_not_for_ever(stage: Stage) -> None:
    """A client SHOULD NOT give batch reads up for good because a connection was lost once."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    bookie = ledger.bookies[0]
    reader = ledger.open()
    stage.check("the batch before", reader.batch_read(0, 10, 0), PAYLOADS)
    bookie.stop()
    reader.begin_batch_read(0, 10, 0).outcome()
    bookie.listen()
    before = len(bookie.requests(names.BATCH_READ))
    for _ in range(20):
        # A client may leave a bookie alone for a while after it was down.
        found = reader.begin_batch_read(0, 10).outcome()
        if found == PAYLOADS and len(bookie.requests(names.BATCH_READ)) > before:
            break
        stage.wait(0.2)
    stage.check("whether batch reads are sent again", len(bookie.requests(names.BATCH_READ)) > before, True)
    stage.check("the batch afterwards", found, PAYLOADS)


@case(
    "BKW-CBATCH-023",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch read of 0 entries, no limit, at bookies that close the connection on batch reads.",
    accepts="At least one entry, from 0 on, within the time-outs of the client.",
    provenance="BK#4641, D8",
    limit_s=12.0,
)
def a_count_of_0_is_no_limit_for_single_reads_either(stage: Stage) -> None:
    """A client MUST return entries for a count of 0 when it falls back to single reads: the call must not hang."""
    ledger = readable_ledger(stage, PAYLOADS, published=False)
    for bookie in ledger.bookies:
        bookie.on(names.BATCH_READ).close()
    found = ledger.open().batch_read(0, 0, 0)
    stage.check("the batch", found, PAYLOADS[: max(len(found), 1)])


@case(
    "BKW-CBATCH-024",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="One bookie of three closes the connection on batch reads, the others serve them.",
    accepts="All entries, whichever bookie is asked.",
    provenance="BP-62",
)
def bookies_with_and_without_batch_read_may_be_mixed(stage: Stage) -> None:
    """A client MUST read from an ensemble of which some bookies have batch read and some have not."""
    ledger = readable_ledger(stage, PAYLOADS, published=False)
    ledger.bookies[0].on(names.BATCH_READ).close()
    reader = ledger.open()
    for _ in range(2):
        stage.check("the payloads, read on and on", reader.read_on(3), PAYLOADS)


@case(
    "BKW-CBATCH-025",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="Bookies without batch read that hold entries behind the end of a closed ledger.",
    accepts="Entries up to the end.",
    provenance="D7",
)
def single_reads_in_place_of_a_batch_end_where_the_batch_would(stage: Stage) -> None:
    """A client MUST cut at the end of the ledger when it falls back to single reads, too."""
    ledger = readable_ledger(stage, PAYLOADS[:5], stray=PAYLOADS[5:], published=False)
    for bookie in ledger.bookies:
        bookie.on(names.BATCH_READ).close()
    reader = ledger.open()
    stage.check("the payloads, read on and on", reader.read_on(5), PAYLOADS[:5])
    found = reader.batch_read(3, 100, 0)
    stage.check("the batch from 3", found, PAYLOADS[3 : 3 + max(len(found), 1)][:2])
