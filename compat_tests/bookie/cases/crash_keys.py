"""Master keys over crashes and restarts, and ids that keep a bookie from starting."""

from compat_tests.bookie.cases.crash_entries import LIMIT_S
from compat_tests.bookie.stored_entries import expect_stored, fill
from compat_tests.bookie.talk import OwnTalk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire.entries import OTHER_KEY, entry
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EBADREQ, EOK, EUA

#: Entry ids of records in Java's journal that are no entries: keys, fences, forces, explicit last add confirmeds.
JOURNAL_IDS = (-0x1000, -0x2000, -0x4000, -0x8000)


@case(
    "BKW-CRASH-020",
    MUST,
    "sec-master-key",
    sends="Entries; a clean stop; an add with another key, then one with the right one.",
    accepts="EUA, EOK.",
    site="own",
    limit_s=LIMIT_S,
    provenance="S3",
)
def keys_are_compared_after_a_clean_stop(talk: OwnTalk) -> None:
    """After a restart a bookie MUST compare a master key with the one that it has stored, not with the first that
    comes: that would lock the writer out."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    talk.bookie.restart()
    talk.expect(talk.requests.add(ledger, 3, key=OTHER_KEY), EUA)
    talk.expect(talk.requests.add(ledger, 3), EOK)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-CRASH-021",
    MUST,
    "sec-master-key",
    sends="Entries; a clean stop; a fence with another key, an add, a fence with the right key.",
    accepts="EUA, EOK, EOK.",
    dialects=(V2,),
    site="own",
    limit_s=LIMIT_S,
    provenance="S3",
)
def a_wrong_key_does_not_fence_after_a_clean_stop(talk: OwnTalk) -> None:
    """After a restart a fencing read with a wrong key MUST be refused, and MUST NOT fence."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 3)
    talk.bookie.restart()
    talk.expect(talk.requests.fence(ledger, key=OTHER_KEY), EUA, body=b"")
    talk.expect(talk.requests.add(ledger, 3), EOK)
    talk.expect(talk.requests.fence(ledger, 0), EOK)


@case(
    "BKW-CRASH-022",
    MUST,
    "sec-master-key",
    sends="Entries; a kill; an add and a fence with another key, an add with the right one.",
    accepts="EUA twice, EOK.",
    provenance="seen of Java 4.18.0",
    dialects=(V3,),
    site="own",
    limit_s=LIMIT_S,
)
def keys_are_compared_after_a_crash(talk: OwnTalk) -> None:
    """After a crash a bookie MUST compare a master key with that of the ledger."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 3)
    talk.bookie.crash()
    talk.expect(talk.requests.add(ledger, 3, key=OTHER_KEY), EUA)
    talk.expect(talk.requests.fence(ledger, key=OTHER_KEY), EUA, body=b"")
    talk.expect(talk.requests.add(ledger, 3), EOK)


@case(
    "BKW-CRASH-023",
    MUST,
    "sec-add-entry-states",
    sends="Adds of the entries -4096, -8192, -16384 and -32768, which mean something in the journal; a kill; reads.",
    accepts="EBADREQ for each, at once; the bookie starts and has the entries of before.",
    site="own",
    limit_s=LIMIT_S,
    provenance="S4",
)
def no_entry_keeps_a_bookie_from_starting(talk: OwnTalk) -> None:
    """A bookie MUST refuse entry ids that its journal uses for itself: replay would take the entry for a record of its
    own, and the bookie would not start again."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    for entry_id in JOURNAL_IDS:
        talk.expect(talk.requests.add(ledger, entry_id, body=entry(ledger, entry_id, payload=bytes(40))), EBADREQ)
    talk.bookie.crash()
    expect_stored(talk, ledger, bodies)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[1])
    talk.expect(talk.requests.add(ledger, 2), EOK)


@case(
    "BKW-CRASH-024",
    MUST,
    "sec-add-entry-states",
    sends="Adds of entries of ledgers -1, -5 and -2^63; a kill; a clean stop; reads and an add of an ordinary ledger.",
    accepts="EBADREQ for each; the bookie starts both times, and the ordinary ledger is as it was.",
    dialects=(V2, V3),
    site="own",
    limit_s=LIMIT_S,
    provenance="S4",
)
def entries_of_negative_ledgers_are_refused(talk: OwnTalk) -> None:
    """A bookie MUST refuse entries of format V1 whose ledger id is negative with EBADREQ."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    for negative in (-1, -5, -(2**63)):
        talk.expect(talk.requests.add(negative, 0, body=entry(negative, 0)), EBADREQ)
    for end in (talk.bookie.crash, talk.bookie.restart):
        end()
        expect_stored(talk, ledger, bodies)
        talk.expect(talk.requests.add(ledger, 1), EOK)
