"""The last add confirmed: which bookies a client asks for it, which it believes, and when it must not report one."""

import time

from compat_tests.client import client_requests as names
from compat_tests.client import faults
from compat_tests.client.driven_client import ClientError
from compat_tests.client.readable_ledger import ReadableLedger, Reader, readable_ledger
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, V3, case
from protocol_specs import fields
from protocol_specs.wire.status import EIO, ENOENTRY

PAYLOADS = (b"zero", b"one", b"two", b"three", b"four", b"five")

SOON_S = 8.0
"""Less than the time-outs of a client whose requests are held: one that waits for a silent bookie takes longer."""

ASKS = {names.READ: {"entry_id": fields.LAST_ENTRY}, names.READ_LAC: {}}
"""How a client may ask for it: by a read of entry -1, or by READ_LAC."""


def _one_is_ahead(stage: Stage, ack: int) -> ReadableLedger:
    """Only the last bookie has entries 4 and 5, so it knows that 4 is confirmed; the others know of 2."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False, ack=ack)
    for entry_id in (4, 5):
        ledger.staged.forget(entry_id, *ledger.bookies[:2])
    return ledger


@case(
    "BKW-CTAIL-011",
    MUST,
    "sec-lac-client",
    sends="A ledger with an ack quorum of 1 (E 3, W 3): one bookie knows last add confirmed 4, the others 2.",
    accepts="4, after all three were asked.",
    provenance="seen with Java's client 4.18.0",
)
def the_highest_last_add_confirmed_of_a_covering_set_counts(stage: Stage) -> None:
    """A client MUST ask until fewer than A bookies of each write set are silent, and take the highest one reported."""
    reader = _one_is_ahead(stage, ack=1).open()
    stage.check("the last add confirmed", reader.handle.last_add_confirmed("quorum"), 4)


@case(
    "BKW-CTAIL-012",
    MUST,
    "sec-lac-client",
    sends="A ledger with an ack quorum of 1 (E 3, W 3); the only bookie that is ahead answers EIO when it is asked.",
    accepts="An error: fewer than all have answered, so an acknowledged entry may have been missed.",
    provenance="seen with Java's client 4.18.0",
)
def a_set_that_does_not_cover_is_no_answer(stage: Stage) -> None:
    """A client MUST fail to read the last add confirmed when too many bookies of a write set have not answered."""
    ledger = _one_is_ahead(stage, ack=1)
    reader = ledger.open()
    for operation, wanted in ASKS.items():
        ledger.bookies[2].on(operation, ledger_id=ledger.id, **wanted).answer(EIO)
    stage.expect_error(lambda: reader.handle.last_add_confirmed("quorum"))


@case(
    "BKW-CTAIL-013",
    MUST,
    "sec-lac-client",
    sends="A ledger with an ack quorum of 2 (E 3, W 3), one bookie of which never answers.",
    accepts="The last add confirmed, 4; that without waiting for that bookie's time-out is not asked of all.",
    limit_s=45.0,
    provenance="seen with Java's client 4.18.0",
)
def one_silent_bookie_of_three_is_not_waited_for(stage: Stage) -> None:
    """A client MUST be content with a covering set, and SHOULD NOT wait for bookies that add nothing to it."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False, ack=2)
    for operation, wanted in ASKS.items():
        ledger.bookies[1].on(operation, ledger_id=ledger.id, **wanted).silence()
    reader = ledger.open(stage.held_client())
    began = time.monotonic()
    stage.check("the last add confirmed", reader.handle.last_add_confirmed("quorum"), 4)
    if time.monotonic() - began > SOON_S:
        stage.tolerate("the client has waited for the bookie that is silent")


@case(
    "BKW-CTAIL-014",
    MUST,
    "sec-lac-client",
    sends="One bookie's last entry says last add confirmed 2^40, with a digest that does not match.",
    accepts="4, which the others say.",
    provenance="seen with Java's client 4.18.0",
)
def an_entry_that_does_not_match_its_digest_tells_nothing(stage: Stage) -> None:
    """A client MUST NOT believe a last add confirmed in an entry that does not match its digest."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False, ack=2)
    forged = ledger.staged.seal.entry(ledger.id, 5, 1 << 40, ledger.staged.length, b"five")
    ledger.staged.store(5, faults.with_bit_flipped(forged, -1), ledger.bookies[0])
    reader = ledger.open()
    stage.check("the last add confirmed", reader.handle.last_add_confirmed("quorum"), 4)


@case(
    "BKW-CTAIL-015",
    MUST,
    "sec-lac-client",
    sends="ENOENTRY from every bookie of an open ledger.",
    accepts="-1: the ledger has no confirmed entry, which is no error.",
    provenance="BK#2273",
)
def a_ledger_without_entries_has_last_add_confirmed_minus_1(stage: Stage) -> None:
    """A client MUST take absence for an answer when it asks for the last add confirmed."""
    ledger = readable_ledger(stage, (), closed=False)
    for operation in ASKS:
        stage.on_all(ledger.bookies, operation, ledger_id=ledger.id).answer(ENOENTRY)
    stage.check("the last add confirmed", ledger.open().last_add_confirmed, -1)


def _publish(ledger: ReadableLedger, body: bytes) -> None:
    """All bookies have this explicit last add confirmed."""
    for bookie in ledger.bookies:
        ledger.staged.ledger_on(bookie).explicit_lac = body


@case(
    "BKW-CTAIL-016",
    MUST,
    "sec-lac-client",
    sends="Entries that tell last add confirmed 4, and an explicit one of 5.",
    accepts="5, when the client is asked for the explicit one, and READ_LAC is a V3 request.",
    provenance="BK#2747, BK#2748, BK#2085, BK#2071",
)
def the_explicit_last_add_confirmed_is_asked_for_in_v3(stage: Stage) -> None:
    """A client of either dialect MUST ask for an explicit last add confirmed by READ_LAC of V3."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    _publish(ledger, ledger.staged.seal.explicit_lac(ledger.id, 5))
    stage.check("the last add confirmed", reader.handle.last_add_confirmed("explicit"), 5)
    requests = ledger.requests(names.READ_LAC)
    stage.check("the dialects of READ_LAC", {each.dialect for each in requests}, {V3})


@case(
    "BKW-CTAIL-017",
    MUST,
    "sec-explicit-lac",
    sends="An explicit last add confirmed of 5 whose digest does not match, on all bookies; the entries tell 4.",
    accepts="4, or an error.",
    provenance="seen with Java's client 4.18.0",
)
def a_damaged_explicit_last_add_confirmed_tells_nothing(stage: Stage) -> None:
    """A client MUST check the digest of an explicit last add confirmed."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    _publish(ledger, faults.with_bit_flipped(ledger.staged.seal.explicit_lac(ledger.id, 5), -1))
    _expect_ignored(stage, ledger, reader)


def _expect_ignored(stage: Stage, ledger: ReadableLedger, reader: Reader) -> None:
    try:
        stage.check("the last add confirmed", reader.handle.last_add_confirmed("explicit"), 4)
    except ClientError as error:
        stage.check_that(error.code != 0, "the code of the error", "one of the client's", error.code)
    stage.check("whether READ_LAC was asked", len(ledger.requests(names.READ_LAC)) > 0, True)


@case(
    "BKW-CTAIL-018",
    MUST,
    "sec-explicit-lac",
    sends="The explicit last add confirmed of another ledger, 5, with a right digest, on all bookies.",
    accepts="4, or an error.",
    provenance="seen with Java's client 4.18.0",
)
def an_explicit_last_add_confirmed_of_another_ledger_tells_nothing(stage: Stage) -> None:
    """A client MUST compare the ledger id inside an explicit last add confirmed with its own."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    _publish(ledger, ledger.staged.seal.explicit_lac(ledger.id + 1, 5))
    _expect_ignored(stage, ledger, reader)


@case(
    "BKW-CTAIL-019",
    SHOULD,
    "sec-lac-client",
    sends="A question for the last add confirmed of a closed ledger.",
    accepts="The last entry of the metadata; nothing is sent.",
    provenance="seen with Java's client 4.18.0",
)
def a_closed_ledger_is_not_asked_about(stage: Stage) -> None:
    """A client SHOULD answer for a closed ledger from its metadata, without asking a bookie."""
    ledger = readable_ledger(stage, PAYLOADS[:4], stray=PAYLOADS[4:])
    reader = ledger.open()
    stage.check("the last add confirmed", reader.handle.last_add_confirmed("quorum"), 3)
    stage.check("requests sent", len(ledger.requests()), 0)
