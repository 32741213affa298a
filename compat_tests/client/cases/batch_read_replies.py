"""Batch replies that are damaged, lie, or come out of order."""

from collections.abc import Callable

from compat_tests.client import client_requests as names
from compat_tests.client import faults
from compat_tests.client.readable_ledger import (
    DIGEST_MISMATCH,
    ReadableLedger,
    Reader,
    in_turn,
    no_answer,
    readable_ledger,
    reply_with,
)
from compat_tests.client.rules import Exchange
from compat_tests.client.stage import SILENCE_MS, Stage
from compat_tests.judge.case import MUST, case
from protocol_specs.wire.status import EIO, ENOENTRY

PAYLOADS = tuple(b"entry %d" % number for number in range(10))


def check_prefix(stage: Stage, found: tuple[bytes, ...], allowed: tuple[bytes, ...]) -> None:
    """Require a prefix of the right entries that is not empty."""
    stage.check("the batch", found, allowed[: max(len(found), 1)])


def first_reply_made_by(
    stage: Stage, make: Callable[[ReadableLedger, Exchange], None], ensemble: int = 3
) -> tuple[ReadableLedger, Reader]:
    """The first batch reply of any bookie is made by ``make(ledger, exchange)``, all others are honest."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=ensemble)
    reader = ledger.open()
    in_turn(stage, ledger, names.BATCH_READ, lambda ask: make(ledger, ask))
    return ledger, reader


@case(
    "BKW-CBATCH-026",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch whose first entry has a wrong bit; the other replicas are right.",
    accepts="The entries, from another replica, within the client's time-outs.",
    provenance="BK#4789",
    limit_s=12.0,
)
def a_damaged_first_entry_means_the_next_replica(stage: Stage) -> None:
    """A client MUST ask another replica when the first entry of a batch does not match its digest."""

    def make(ledger: ReadableLedger, ask: Exchange) -> None:
        ask.send(ask.frame(entries=(faults.with_bit_flipped(ledger.entries[0], -1), *ledger.entries[1:])))

    ledger, reader = first_reply_made_by(stage, make)
    check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)
    stage.check("whether another bookie was asked", ledger.bookies_read_from > 1, True)


@case(
    "BKW-CBATCH-027",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch of ten whose fifth entry has a wrong bit.",
    accepts="The first four entries, or more from another replica; never the damaged one, and no hang.",
    provenance="BK#4789",
    limit_s=12.0,
)
def a_damaged_later_entry_ends_the_batch(stage: Stage) -> None:
    """A client MUST return the verified entries in front of a damaged one, or read all from another replica."""

    def make(ledger: ReadableLedger, ask: Exchange) -> None:
        entries = list(ledger.entries)
        entries[4] = faults.with_bit_flipped(entries[4], -1)
        ask.send(ask.frame(entries=tuple(entries)))

    _, reader = first_reply_made_by(stage, make)
    found = reader.batch_read(0, 10, 0)
    check_prefix(stage, found, PAYLOADS)


@case(
    "BKW-CBATCH-028",
    MUST,
    "sec-digests",
    since="4.17",
    sends="Batches whose first entry has a wrong bit, from every replica.",
    accepts="A digest mismatch, within the client's time-outs.",
    provenance="BK#4789",
    limit_s=12.0,
)
def a_first_entry_damaged_everywhere_is_a_digest_mismatch(stage: Stage) -> None:
    """A client MUST fail a batch read with a digest mismatch when no replica has its first entry undamaged."""
    ledger = readable_ledger(stage, PAYLOADS)
    damaged = faults.with_bit_flipped(ledger.entries[0], -1)
    for bookie in ledger.bookies:
        bookie.on(names.BATCH_READ, ledger_id=ledger.id).answer(entries=(damaged, *ledger.entries[1:]))
        bookie.on(names.READ, ledger_id=ledger.id, entry_id=0).answer(body=damaged)
    stage.expect_error(ledger.open().begin_batch_read(0, 10).pending, *DIGEST_MISMATCH)


@case(
    "BKW-CBATCH-029",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="Ten entries in the reply to a batch read of three.",
    accepts="Three entries, or fewer.",
    provenance="D7",
)
def more_than_was_asked_for_is_not_returned(stage: Stage) -> None:
    """A client MUST NOT return more entries than its caller asked for."""

    def make(ledger: ReadableLedger, ask: Exchange) -> None:
        ask.send(ask.frame(entries=tuple(ledger.entries)))

    _, reader = first_reply_made_by(stage, make)
    found = reader.batch_read(0, 3, 0)
    stage.check("the entries that were not asked for", found[3:], ())
    check_prefix(stage, found, PAYLOADS[:3])


@case(
    "BKW-CBATCH-030",
    MUST,
    "sec-batch-read-v2",
    since="4.17",
    sends="A batch that leaves entry 2 out: 0, 1, 3, 4, each with a right digest.",
    accepts="Entries 0 and 1, or more from another replica; entry 3 is never returned as entry 2.",
    provenance="correctness: DigestBoundToPosition",
    limit_s=12.0,
)
def a_gap_in_a_batch_ends_it(stage: Stage) -> None:
    """A client MUST check that entry i of a batch is entry start + i: a digest binds an entry to its place."""

    def make(ledger: ReadableLedger, ask: Exchange) -> None:
        ask.send(ask.frame(entries=(*ledger.entries[:2], *ledger.entries[3:5])))

    _, reader = first_reply_made_by(stage, make)
    check_prefix(stage, reader.batch_read(0, 5, 0), PAYLOADS[:5])


@case(
    "BKW-CBATCH-031",
    MUST,
    "sec-digests",
    since="4.17",
    sends="A batch with entries of another ledger, which has the same digest type and password.",
    accepts="The ledger's own entries, from another replica.",
    provenance="correctness: DigestBoundToPosition",
    limit_s=12.0,
)
def entries_of_another_ledger_are_not_returned(stage: Stage) -> None:
    """A client MUST NOT return an entry that names another ledger, though its digest is right."""
    other = readable_ledger(stage, [b"wrong ledger"] * 10)

    def make(ledger: ReadableLedger, ask: Exchange) -> None:
        ask.send(ask.frame(entries=tuple(other.entries)))

    _, reader = first_reply_made_by(stage, make)
    check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)


@case(
    "BKW-CBATCH-032",
    MUST,
    "sec-batch-read-v2",
    since="4.17",
    sends="EIO, with entries behind it that have right digests but another text.",
    accepts="The entries of another replica.",
    provenance="BP-62; seen with Java's client 4.18.0",
)
def entries_behind_an_error_are_not_returned(stage: Stage) -> None:
    """A client MUST NOT return entries that come with another status than EOK."""

    def make(ledger: ReadableLedger, ask: Exchange) -> None:
        others = ledger.staged.seal.run(ledger.id, [b"not to be taken"] * 10)
        ask.send(ask.frame(status=EIO, entries=tuple(others)))

    ledger, reader = first_reply_made_by(stage, make)
    check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)
    stage.check("whether another bookie was asked", ledger.bookies_read_from > 1, True)


@case(
    "BKW-CBATCH-033",
    MUST,
    "sec-batch-read-budget",
    since="4.17",
    sends="EOK without any entry, from the replica asked first.",
    accepts="The entries of another replica; never an empty result.",
    provenance="BP-62",
    limit_s=12.0,
)
def a_batch_of_no_entries_is_no_answer(stage: Stage) -> None:
    """A client MUST NOT take EOK without entries for success: a bookie brings one at least."""
    _, reader = first_reply_made_by(stage, lambda ledger, ask: ask.send(ask.frame(entries=())))
    check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)


@case(
    "BKW-CBATCH-034",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="EIO, and at another read ENOENTRY, from the replica asked first.",
    accepts="The entries of another replica.",
    provenance="BP-62",
)
def an_error_of_one_replica_means_a_batch_from_the_next(stage: Stage) -> None:
    """A client MUST ask another replica when one answers a batch read with an error."""
    for status in (EIO, ENOENTRY):
        ledger = readable_ledger(stage, PAYLOADS)
        reader = ledger.open()
        in_turn(stage, ledger, names.BATCH_READ, reply_with(status=status))
        check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)
        stage.check(f"whether another bookie was asked after {status.name}", ledger.bookies_read_from > 1, True)


@case(
    "BKW-CBATCH-035",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="No answer to a batch read from the replica asked first, which has served one before.",
    accepts="After the client's time-out the entries of another replica.",
    provenance="seen with Java's client 4.18.0",
)
def a_silent_replica_means_a_batch_from_the_next(stage: Stage) -> None:
    """A client MUST ask another replica when the time-out of a batch read is over."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open(stage.impatient_client(SILENCE_MS))
    check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)
    order = in_turn(stage, ledger, names.BATCH_READ, no_answer)
    check_prefix(stage, reader.batch_read(0, 10, 0), PAYLOADS)
    stage.check("whether a batch read went unanswered", len(order) > 0, True)
