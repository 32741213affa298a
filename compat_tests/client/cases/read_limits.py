"""How far a client reads: to the end of a closed ledger, to the last add confirmed, and beyond it on request."""

from compat_tests.client.readable_ledger import ABSENT, REFUSED, readable_ledger
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, case

PAYLOADS = (b"zero", b"one", b"two", b"three", b"four", b"five")


@case(
    "BKW-CREAD-011",
    MUST,
    "sec-read-entry-client",
    sends="Reads of the entry behind the last one of a closed ledger, which the bookies have, and of a range up to it.",
    accepts="Both fail; a read need not be sent for it.",
    provenance="D7: what lies behind the end was never acknowledged; seen with Java's client 4.18.0",
)
def reads_past_the_end_of_a_closed_ledger_are_not_sent(stage: Stage) -> None:
    """A client MUST refuse to read past the end of a closed ledger, and SHOULD without asking a bookie."""
    ledger = readable_ledger(stage, PAYLOADS[:3], stray=(b"stray",))
    reader = ledger.open()
    reader.fails_to_read(3, *REFUSED, *ABSENT)
    stage.expect_error(lambda: reader.read(1, 3), *REFUSED, *ABSENT)
    ledger.look_for_needless_reads()


@case(
    "BKW-CREAD-012",
    MUST,
    "sec-read-entry-client",
    sends="A read of the entry behind the last add confirmed of an open ledger, which the bookies have.",
    accepts="It fails; a read of that entry need not be sent for it.",
    provenance="D7; seen with Java's client 4.18.0",
)
def reads_past_the_last_add_confirmed_are_not_sent(stage: Stage) -> None:
    """A client MUST refuse an ordinary read past the last add confirmed, and SHOULD without asking a bookie."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    stage.check("the last add confirmed", reader.last_add_confirmed, 4)
    reader.fails_to_read(5, *REFUSED, *ABSENT)
    ledger.look_for_needless_reads(entry_id=5)


@case(
    "BKW-CREAD-013",
    SHOULD,
    "sec-read-entry-client",
    sends="An unconfirmed read of the entry behind the last add confirmed of an open ledger.",
    accepts="The entry is asked for, and returned.",
    provenance="BK#4739 has it for batches; seen with Java's client 4.18.0",
)
def an_unconfirmed_read_goes_past_the_last_add_confirmed(stage: Stage) -> None:
    """A client SHOULD offer a read that goes past the last add confirmed of a ledger that is not closed."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    stage.check("the payloads", ledger.open().read(4, 5, unconfirmed=True), PAYLOADS[4:])


@case(
    "BKW-CREAD-014",
    MUST,
    "sec-read-entry-client",
    sends="An unconfirmed read of the last entry and of one behind it that was never written.",
    accepts='"No such entry".',
    provenance="seen with Java's client 4.18.0",
)
def an_unconfirmed_read_of_what_was_never_written_fails(stage: Stage) -> None:
    """A client MUST fail an unconfirmed read of a range of which an entry does not exist: it has no part of it."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    stage.expect_error(lambda: reader.read(5, 6, unconfirmed=True), *ABSENT)
