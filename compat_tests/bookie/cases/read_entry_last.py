"""Reads of entry -1, the last one, and the last add confirmed that comes with V3 reads."""

from compat_tests.bookie.expected_replies import expect_exactly_read
from compat_tests.bookie.stored_entries import fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire.entries import entry
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire.status import EFENCED, ENOENTRY, EOK


@case(
    "BKW-READ-013",
    MUST,
    "sec-read-entry-last",
    sends="A read of entry -1 of a ledger with three entries.",
    accepts="EOK, entry id -1 in the reply, and the entry with the highest id, to the byte.",
    provenance="the source of Java 4.9 to 4.18; capture of Java 4.9.2 to 4.18.0",
)
def the_last_entry_comes_under_the_id_that_was_asked_for(talk: Talk) -> None:
    """A read of entry -1 MUST bring the last entry, and MUST echo -1: the true id is in the entry."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    frame = talk.requests.read(ledger, LAST_ENTRY)
    expect_exactly_read(talk, frame, EOK, ledger, LAST_ENTRY, bodies[2], max_lac=1)


@case(
    "BKW-READ-014",
    MUST,
    "sec-read-entry-last",
    sends="Adds of the entries 5, 3, 900 and 7, and after each a read of -1.",
    accepts="The one with the highest id so far: 5, 5, 900, 900.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def the_last_entry_is_the_one_with_the_highest_id(talk: Talk) -> None:
    """The last entry MUST be the one with the highest id that the bookie stores, not the one that came last."""
    ledger = talk.new_ledger()
    highest = -1
    for entry_id in (5, 3, 900, 7):
        talk.expect(talk.requests.add(ledger, entry_id, body=make_entry(ledger, entry_id)), EOK)
        highest = max(highest, entry_id)
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, entry_id=-1, body=make_entry(ledger, highest))


@case(
    "BKW-READ-015",
    MUST,
    "sec-read-entry-last",
    sends="Entries 0 to 9, all of which say that nothing is confirmed, and a read of -1.",
    accepts="Entry 9.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def the_last_entry_is_not_that_of_the_last_add_confirmed(talk: Talk) -> None:
    """A read of entry -1 MUST bring the last entry stored, however far behind the last add confirmed may be."""
    ledger = talk.new_ledger()
    bodies = [entry(ledger, entry_id, NO_ENTRY) for entry_id in range(10)]
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[9])


@case(
    "BKW-READ-016",
    MUST,
    "sec-read-entry-last",
    sends="A fence of an unknown ledger, which makes it; reads of -1; a refused add; a read of -1.",
    accepts="ENOENTRY for the reads, echoing -1.",
    provenance="the source of Java 4.9 to 4.18",
)
def a_ledger_without_entries_has_no_last_one(talk: Talk) -> None:
    """A read of entry -1 of a ledger that is known and has no entry MUST be answered ENOENTRY."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger), ENOENTRY)
    expect_exactly_read(talk, talk.requests.read(ledger, LAST_ENTRY), ENOENTRY, ledger, LAST_ENTRY)
    talk.expect(talk.requests.add(ledger, 0), EFENCED)
    expect_exactly_read(talk, talk.requests.read(ledger, LAST_ENTRY), ENOENTRY, ledger, LAST_ENTRY)


@case(
    "BKW-READ-017",
    MUST,
    "sec-read-entry-v3",
    sends="Entry 0, whose last add confirmed is -1, and a read of it.",
    accepts="EOK with max_lac -1, present.",
    dialects=(V3,),
    provenance="the source of Java 4.9 to 4.18",
)
def a_last_add_confirmed_of_minus_one_is_told(talk: Talk) -> None:
    """A successful V3 read MUST carry max_lac also when nothing is confirmed: it is -1 then, not absent."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    expect_exactly_read(talk, talk.requests.read(ledger, 0), EOK, ledger, 0, body, max_lac=NO_ENTRY)


@case(
    "BKW-READ-018",
    MUST,
    "sec-read-entry-v3",
    sends="Entries that tell last add confirmeds of 4, then 1, then 3, then 7, in this order, and reads between them.",
    accepts="max_lac 4, 4, 4, 7: the highest that was ever told, whichever entry is read.",
    dialects=(V3,),
    provenance="BK#2747; the source of Java 4.9 to 4.18",
)
def the_highest_last_add_confirmed_comes_with_every_read(talk: Talk) -> None:
    """The max_lac of a V3 read MUST be the highest last add confirmed that any entry of the ledger told the bookie."""
    ledger = talk.new_ledger()
    highest = NO_ENTRY
    for entry_id, lac in ((5, 4), (2, 1), (4, 3), (8, 7)):
        talk.expect(talk.requests.add(ledger, entry_id, body=entry(ledger, entry_id, lac)), EOK)
        highest = max(highest, lac)
        for other_id in (5, entry_id, LAST_ENTRY):
            talk.expect(talk.requests.read(ledger, other_id), EOK, max_lac=highest)


@case(
    "BKW-READ-019",
    MUST,
    "sec-read-entry-v3",
    sends="Adds to two ledgers that tell last add confirmeds of 4 and 9, and reads of both.",
    accepts="max_lac 4 for the one, 9 for the other.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
    dialects=(V3,),
)
def each_ledger_has_a_last_add_confirmed_of_its_own(talk: Talk) -> None:
    """The max_lac of a read MUST be that of its ledger."""
    lacs = {talk.new_ledger(): 4, talk.new_ledger(): 9}
    for ledger, lac in lacs.items():
        talk.expect(talk.requests.add(ledger, lac + 1, body=entry(ledger, lac + 1, lac)), EOK)
    for ledger, lac in lacs.items():
        talk.expect(talk.requests.read(ledger, lac + 1), EOK, max_lac=lac)
