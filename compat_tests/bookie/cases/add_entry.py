"""Adds: their replies, the ids under which entries are stored, and the ledgers that these belong to."""

from compat_tests.bookie.expected_replies import expect_exactly_added
from compat_tests.bookie.stored_entries import expect_absent, expect_stored, fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MAY, MUST, SHOULD, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY, entry
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EBADREQ, EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA


@case(
    "BKW-ADD-001",
    MUST,
    "sec-add-entry-v2",
    sends="An add that is fine, and one with the wrong master key.",
    accepts="V2: 24 bytes and no more: header, code, ledger id, entry id. V3: header, status, and a part with exactly "
    "status, ledger id and entry id.",
    provenance="the source of Java 4.9 to 4.18; capture of Java 4.9.2 to 4.18.0",
)
def the_reply_to_an_add_is_these_fields_and_no_more(talk: Talk) -> None:
    """The reply to an add MUST consist of the header, the status and the ids of the request, whatever the status."""
    ledger = talk.new_ledger()
    expect_exactly_added(talk, talk.requests.add(ledger, 0), EOK, ledger, 0)
    expect_exactly_added(talk, talk.requests.add(ledger, 1, key=OTHER_KEY), EUA, ledger, 1)
    expect_absent(talk, ledger, 1)


@case(
    "BKW-ADD-002",
    MUST,
    "sec-add-entry-v3",
    sends="An add whose ledger id and entry id in the request are others than those inside the entry.",
    accepts="EOK, echoing the request's ids; the entry is found under its own ids, and nothing under the request's.",
    dialects=(V3,),
    provenance="the source of Java 4.9 to 4.18",
)
def what_is_stored_is_named_by_the_entry(talk: Talk) -> None:
    """A bookie MUST store an entry under the ids that it starts with, and MUST echo the ids of the request."""
    ledger, of_request = talk.new_ledger(), talk.new_ledger()
    body = make_entry(ledger, 3)
    fill(talk, of_request, 1)
    expect_exactly_added(talk, v3_requests.add(of_request, 7, body), EOK, of_request, 7)
    expect_stored(talk, ledger, {3: body})
    expect_absent(talk, of_request, 3, 7)


@case(
    "BKW-ADD-003",
    MUST,
    "sec-add-entry-order",
    sends="Adds of the entries 7, 2, 1 000 000, 0 and 8 of a new ledger, each after the one before was acknowledged.",
    accepts="EOK each; each is read back, those between are ENOENTRY, and the last entry is 1 000 000.",
    provenance="the source of Java 4.9 to 4.18",
)
def entries_may_come_in_any_order_and_with_holes(talk: Talk) -> None:
    """A bookie MUST take entries of a ledger in any order and with any holes between them: it holds only its share."""
    ledger = talk.new_ledger()
    bodies = {entry_id: make_entry(ledger, entry_id) for entry_id in (7, 2, 1_000_000, 0, 8)}
    for entry_id, body in bodies.items():
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
    expect_stored(talk, ledger, bodies)
    expect_absent(talk, ledger, 1, 6, 9, 999_999, 1_000_001)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[1_000_000])


@case(
    "BKW-ADD-004",
    MUST,
    "sec-add-entry-order",
    sends="The same entry three times, then another one, then the first again.",
    accepts="EOK each time; one entry of these bytes is there, and the last entry stays the last.",
    provenance="the source of Java 4.9 to 4.18",
)
def an_entry_that_is_stored_is_acknowledged_again(talk: Talk) -> None:
    """A bookie MUST acknowledge an entry that it has stored already: a writer that lost the reply sends it again."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, 0), make_entry(ledger, 1)]
    for entry_id in (0, 0, 0, 1, 0):
        talk.expect(talk.requests.add(ledger, entry_id, body=bodies[entry_id]), EOK)
    expect_stored(talk, ledger, bodies)
    expect_absent(talk, ledger, 2)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[1])


@case(
    "BKW-ADD-005",
    MUST,
    "sec-add-entry-order",
    sends="An entry, then three of the same ids: with other bytes, a longer one, and a shorter one.",
    accepts="EOK each time, and every read still brings the first one.",
    provenance="PL#22906, BK#1066",
)
def the_first_copy_of_an_entry_stays(talk: Talk) -> None:
    """Of entries with the same ids and other bytes a bookie MUST keep the first that it has acknowledged."""
    ledger = talk.new_ledger()
    first = make_entry(ledger, 0, 100)
    talk.expect(talk.requests.add(ledger, 0, body=first), EOK)
    for other in (
        make_entry(ledger, 0, 100, mark=1),
        make_entry(ledger, 0, 3000, mark=2),
        make_entry(ledger, 0, 0, mark=3),
    ):
        talk.expect(talk.requests.add(ledger, 0, body=other), EOK)
        expect_stored(talk, ledger, [first])
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=first)


@case(
    "BKW-ADD-006",
    MUST,
    "sec-add-entry-states",
    sends="Adds of the entries -1 and -2 to a known ledger.",
    accepts="EBADREQ, on a connection that stays open; the last entry is the one of before.",
    provenance="S4",
)
def entries_of_negative_ids_are_refused(talk: Talk) -> None:
    """A bookie MUST refuse entries of negative ids with EBADREQ: -1 asks for the last one, others name no entry."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    for entry_id in (-1, -2):
        bad = entry(ledger, entry_id)
        talk.expect(talk.requests.add(ledger, entry_id, body=bad), EBADREQ)
        talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[0])


@case(
    "BKW-ADD-007",
    MUST,
    "sec-master-key",
    sends="An add that makes a ledger; then, for each byte of its master key, an add with one bit of that byte turned.",
    accepts="EUA for all of these, none is stored; the right key is still the right one.",
    provenance="the source of Java 4.9 to 4.18",
)
def every_byte_of_the_master_key_is_compared(talk: Talk) -> None:
    """A bookie MUST compare all 20 bytes of the master key with those that came first, and MUST store nothing else."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0), EOK)
    for index in range(len(KEY)):
        wrong = bytearray(KEY)
        wrong[index] ^= 1 << index % 8
        talk.expect(talk.requests.add(ledger, 1, key=bytes(wrong)), EUA)
    expect_absent(talk, ledger, 1)
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-ADD-008",
    MUST,
    "sec-master-key",
    sends="An add that makes a ledger with a key of 20 zeros, then adds with another key and with that one.",
    accepts="EOK, EUA, EOK.",
    provenance="the source of Java 4.9 to 4.18",
)
def a_key_of_zeros_is_a_key(talk: Talk) -> None:
    """A master key of zeros MUST be compared like any other one."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0, key=bytes(20)), EOK)
    talk.expect(talk.requests.add(ledger, 1, key=KEY), EUA)
    talk.expect(talk.requests.add(ledger, 1, key=bytes(20)), EOK)


@case(
    "BKW-ADD-009",
    MUST,
    "sec-master-key",
    sends="The same keys for two ledgers, the other way round; and a refused add of each.",
    accepts="Each ledger has the key that it was made with, whatever another one's is.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def each_ledger_has_a_key_of_its_own(talk: Talk) -> None:
    """The master key that a bookie compares with MUST be that of the ledger, not of the connection or of another."""
    keys = {talk.new_ledger(): KEY, talk.new_ledger(): OTHER_KEY}
    for ledger, key in keys.items():
        talk.expect(talk.requests.add(ledger, 0, key=key), EOK)
    for ledger, key in keys.items():
        wrong = OTHER_KEY if key == KEY else KEY
        talk.expect(talk.requests.add(ledger, 1, key=wrong), EUA)
        talk.expect(talk.requests.add(ledger, 1, key=key), EOK, on=talk.line(f"ledger {ledger}"))


@case(
    "BKW-ADD-010",
    SHOULD,
    "sec-add-entry-states",
    sends="Adds whose master key has 0 and 5 bytes, each to a new ledger, again, and then with a key of 20.",
    accepts="EOK, EOK, and EUA.",
    dialects=(V3,),
    provenance="the source of Java 4.9 to 4.18",
)
def keys_of_another_size_are_taken_as_they_are(talk: Talk) -> None:
    """A bookie SHOULD take a master key of fewer than 20 bytes, which only V3 can express, as it takes any other."""
    for key in (b"", b"short"):
        ledger = talk.new_ledger()
        talk.expect(v3_requests.add(ledger, 0, key=key), EOK)
        talk.expect(v3_requests.add(ledger, 1, key=key), EOK)
        talk.expect(v3_requests.add(ledger, 2), EUA)
        expect_absent(talk, ledger, 2)


@case(
    "BKW-ADD-011",
    MUST,
    "sec-add-entry-order",
    sends="Adds with a wrong key to a ledger that is fenced, plain and for recovery.",
    accepts="EUA, not EFENCED: the key is looked at first; and nothing is stored.",
    provenance="the source of Java 4.9 to 4.18",
)
def the_key_is_looked_at_before_the_fence(talk: Talk) -> None:
    """A bookie MUST NOT tell one without the ledger's key whether the ledger is fenced: EUA comes before EFENCED."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    talk.expect(talk.requests.fence(ledger), EOK, body=bodies[0])
    talk.expect(talk.requests.add(ledger, 1, key=OTHER_KEY), EUA)
    talk.expect(talk.requests.add(ledger, 1, key=OTHER_KEY, recovery=True), EUA)
    talk.expect(talk.requests.add(ledger, 1), EFENCED)
    expect_absent(talk, ledger, 1)


@case(
    "BKW-ADD-012",
    MUST,
    "sec-add-entry-order",
    sends="Reads of an unknown ledger, then an add to it with some key.",
    accepts="ENOLEDGER for the reads, EOK for the add: asking has not made the ledger, nor given it a key.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def only_an_add_that_is_taken_makes_a_ledger(talk: Talk) -> None:
    """An add MUST make an unknown ledger with its key; a plain read of an unknown ledger MUST NOT make it."""
    ledger = talk.new_ledger()
    for entry_id in (0, LAST_ENTRY):
        talk.expect(talk.requests.read(ledger, entry_id), ENOLEDGER)
        talk.expect(talk.requests.read(ledger, entry_id, key=OTHER_KEY), ENOLEDGER)
    talk.expect(talk.requests.add(ledger, 0), EOK)
    talk.expect(talk.requests.read(ledger, 1), ENOENTRY)


@case(
    "BKW-ADD-013",
    MAY,
    "sec-entry-v1",
    sends="Entries that no writer would seal: a last add confirmed above their own id, one below -1, odd lengths.",
    accepts="EOK, and the very bytes are read back.",
    provenance="the source of Java 4.9 to 4.18",
)
def a_bookie_does_not_judge_what_an_entry_says(talk: Talk) -> None:
    """A bookie MAY leave it to readers to judge the last add confirmed and the length that an entry tells."""
    ledger = talk.new_ledger()
    bodies = [
        entry(ledger, 0, 5),
        entry(ledger, 1, -7),
        entry(ledger, 2, 1, length=-(2**40)),
        entry(ledger, 3, 2, length=2**63 - 1),
    ]
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
    expect_stored(talk, ledger, bodies)
