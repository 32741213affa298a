"""Recovery against a writer, or against another recovery: the one that comes too late must notice."""

from collections.abc import Sequence

import attrs

from compat_tests.client.cases.recovery import check_closed
from compat_tests.client.driven_client import Handle
from compat_tests.client.records import CLOSED, IN_RECOVERY, LedgerRecord
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, case
from protocol_specs import fields
from protocol_specs.wire.status import EIO

FENCED, LEDGER_CLOSED, METADATA_CHANGED = -101, -11, -17
NOT_YET_S = 0.3


def _writer(stage: Stage, bookies: Sequence[ScriptedBookie] | None = None) -> tuple[Handle, list[ScriptedBookie]]:
    """A writer with one acknowledged entry of five bytes, W = 3 and A = 2, and its bookies by place."""
    writer = stage.new_writer(bookies or stage.bookies(3), ack=2, client=stage.held_client())
    writer.append(b"first")
    return writer, stage.ensemble(writer.ledger_id)


def _closed(record: LedgerRecord, last_entry: int, length: int) -> LedgerRecord:
    return attrs.evolve(record, state=CLOSED, last_entry=last_entry, length=length)


@case(
    "BKW-CREC-020",
    MUST,
    "sec-recovery-writer",
    sends="Adds of a writer are held on their way to all bookies; another client recovers the ledger; then they come.",
    accepts="The append fails with -101, and the ledger stays closed at its last acknowledged entry.",
    provenance="seen with Java's client 4.18.0",
)
def a_writer_that_was_overtaken_gets_nothing_acknowledged(stage: Stage) -> None:
    """A client MUST NOT acknowledge an append to a ledger that another has closed without it."""
    writer, bookies = _writer(stage)
    gates = [bookie.on("add", recovery=False).hold() for bookie in bookies]
    pending = writer.begin("append", body=b"late")
    for gate in gates:
        gate.wait()
    stage.fresh_client().open(writer.ledger_id)
    check_closed(stage, writer.ledger_id, 0, 5)
    for bookie, gate in zip(bookies, gates, strict=True):
        bookie.honest_again()
        gate.release()
    stage.expect_error(pending, FENCED)
    check_closed(stage, writer.ledger_id, 0, 5)


@case(
    "BKW-CREC-021",
    MUST,
    "sec-quorums",
    sends="As before, but one of three bookies has lost its fence and takes the late add, with A = 2.",
    accepts="The append fails: one bookie is no ack quorum.",
    provenance="correctness: S1",
)
def one_bookie_without_its_fence_acknowledges_nothing(stage: Stage) -> None:
    """A client MUST NOT acknowledge what fewer than A bookies have taken: one may have forgotten its fence."""
    writer, bookies = _writer(stage)
    stage.fresh_client().open(writer.ledger_id)
    forgetful = bookies[0].ledger(writer.ledger_id)
    if forgetful is not None:
        forgetful.fenced = False
    stage.expect_error(writer.begin("append", body=b"late"), FENCED)
    bookies[0].wait_for("add", entry_id=1)
    check_closed(stage, writer.ledger_id, 0, 5)


@case(
    "BKW-CREC-022",
    SHOULD,
    "sec-recovery-writer",
    sends="The ledger of a writer is set IN_RECOVERY, no bookie is fenced yet; the writer closes.",
    accepts="The close fails, and the metadata stay IN_RECOVERY.",
    provenance="docs: recovery",
)
def a_writer_does_not_close_a_ledger_under_recovery(stage: Stage) -> None:
    """A client SHOULD leave the end of a ledger to the one who recovers it."""
    writer, _ = _writer(stage)
    stage.root.change(writer.ledger_id, lambda record: attrs.evolve(record, state=IN_RECOVERY))
    stage.expect_error(writer.begin("close"))
    stage.check("the state", stage.metadata(writer.ledger_id).state, IN_RECOVERY)


@case(
    "BKW-CREC-023",
    MUST,
    "sec-recovery-writer",
    sends="The ledger of a writer is closed by another: at the writer's last entry, and before it.",
    accepts="The first close goes well, the second fails; neither changes the metadata.",
    provenance="docs: recovery",
)
def a_writer_that_finds_its_ledger_closed_compares(stage: Stage) -> None:
    """A client MUST NOT report a close as done where the ledger was closed at another entry than its last one."""
    bookies = stage.bookies(3)
    for last_entry, length in ((0, 5), (fields.NO_ENTRY, 0)):
        writer, _ = _writer(stage, bookies)
        closed = stage.root.change(
            writer.ledger_id,
            lambda record, last_entry=last_entry, length=length: _closed(record, last_entry, length),  # type: ignore[misc]
        )
        pending = writer.begin("close")
        if last_entry == 0:
            pending.result()
        else:
            stage.expect_error(pending)
        stage.check("the metadata", stage.metadata(writer.ledger_id), closed)


@case(
    "BKW-CREC-024",
    MUST,
    "sec-recovery-steps",
    sends="While a client recovers a ledger of three entries, another closes it at entry 1.",
    accepts="The ledger stays closed at 1, and the client that comes second reads to 1.",
    provenance="seen with Java's client 4.18.0",
)
def a_recovery_that_comes_second_keeps_the_first(stage: Stage) -> None:
    """A client MUST take the end of a ledger that another has closed in the meantime, and MUST NOT write its own."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=3, ack=2)
    gates = [bookie.on("read", fencing=True, times=1).hold() for bookie in bookies]
    client = stage.held_client()
    pending = client.begin_open(ledger.ledger_id)
    gates[0].wait()
    length = sum(map(len, ledger.payloads[:2]))
    closed = stage.root.change(ledger.ledger_id, lambda record: _closed(record, 1, length))
    for gate in gates:
        gate.wait()
        gate.release()
    reader = client.handle_of(pending)
    stage.check("the last add confirmed", reader.opened_at, 1)
    stage.check("the metadata", stage.metadata(ledger.ledger_id), closed)


@case(
    "BKW-CREC-025",
    MUST,
    "sec-recovery-steps",
    sends="Two clients recover a ledger of ten entries at the same time.",
    accepts="Both end at the same entry, which is that of the metadata; all entries are there.",
    provenance="seen with Java's client 4.18.0",
)
def two_recoveries_at_once_agree(stage: Stage) -> None:
    """Clients that recover a ledger at the same time MUST end with the same last entry."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=10, ack=2, lag=8)
    clients = [stage.fresh_client() for _ in range(2)]
    pending = [client.begin_open(ledger.ledger_id) for client in clients]
    readers = [client.handle_of(each) for client, each in zip(clients, pending, strict=True)]
    stage.check("where both end", [reader.opened_at for reader in readers], [9, 9])
    check_closed(stage, ledger.ledger_id, 9, ledger.length)
    stage.check("the entries", readers[0].read(0, 9).payloads, ledger.payloads)


@case(
    "BKW-CREC-026",
    MUST,
    "sec-recovery-steps",
    sends="A bookie refuses the recovery add of an entry with EIO; another bookie is free.",
    accepts="The ledger is closed with the entry, which lies on A bookies of the fragment that the metadata name.",
    provenance="seen with Java's client 4.18.0",
)
def a_bookie_that_refuses_a_recovery_add_is_replaced(stage: Stage) -> None:
    """A client MUST have each entry that it recovers on an ack quorum of the ensemble that it writes down."""
    bookies = stage.bookies(3)
    stage.bookies(1)
    ledger = stage.ledger(bookies, entries=3, ack=3)
    ledger.forget(2, bookies[0], bookies[1])
    for bookie in bookies[:2]:
        bookie.on("read", entry_id=2).answer(EIO)
    stage.settle()
    bookies[0].on("add").answer(EIO)
    stage.client.open(ledger.ledger_id)
    check_closed(stage, ledger.ledger_id, 2, ledger.length)
    fragments = stage.metadata(ledger.ledger_id).fragments
    last = max(fragments)
    holders = [each for each in fragments[last] if 2 in stage.bookie(each).entries(ledger.ledger_id)]
    stage.check_that(len(holders) == 3, "bookies of the last fragment that have entry 2", "all three", len(holders))


@case(
    "BKW-CREC-027",
    MUST,
    "sec-recovery-steps",
    sends="Bookies say EIO to every recovery add, and none is free.",
    accepts="The client cannot open the ledger, which stays in recovery, unless the entry is on an ack quorum already.",
    limit_s=15.0,
    provenance="seen with Java's client 4.18.0",
)
def what_cannot_be_written_back_is_not_closed_over(stage: Stage) -> None:
    """A client MUST NOT close a ledger at an entry that it could not bring to an ack quorum."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=3, ack=2)
    ledger.forget(2, bookies[0], bookies[1])
    bookies[0].on("read", entry_id=2).answer(EIO)
    for bookie in bookies[:2]:
        bookie.on("add").answer(EIO)
    stage.expect_error(stage.client.begin_open(ledger.ledger_id))
    stage.check("the state", stage.metadata(ledger.ledger_id).state, IN_RECOVERY)


@case(
    "BKW-CREC-028",
    MUST,
    "sec-recovery-writer",
    sends="A writer is fenced with several appends on their way; one was acknowledged by all bookies before.",
    accepts="Those that were acknowledged to it are within the closed ledger; the others fail with -101, or -11.",
    provenance="correctness: NoDivergenceBetweenClientAndMetaData",
)
def nothing_that_was_acknowledged_lies_behind_the_end(stage: Stage) -> None:
    """Every append that a client acknowledges MUST be within the ledger as another client closes it."""
    writer, bookies = _writer(stage)
    gates = [bookie.on("add", entry_id=3, recovery=False).hold() for bookie in bookies]
    pending = writer.begin_append_many([b"%d" % number for number in range(1, 7)])
    for bookie in bookies:
        stage.together(lambda bookie=bookie: len(bookie.requests("add")), 7)  # type: ignore[misc]
    stage.wait_until(lambda: writer.last_add_confirmed() == 2, "entries up to 2 are acknowledged")
    reader = stage.fresh_client().open(writer.ledger_id)
    for gate in gates:
        gate.release()
    outcomes = writer.outcomes(pending)
    acknowledged = max(each for each in (0, *outcomes.entries))
    stage.check_that(
        acknowledged <= reader.opened_at, "the last acknowledged entry", f"<= {reader.opened_at}", acknowledged
    )
    failed = {code for code in outcomes.codes if code}
    stage.check_that(failed <= {FENCED, LEDGER_CLOSED}, "codes of the others", "-101 or -11", failed)
