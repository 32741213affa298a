"""Plain reads: what comes back, to the byte, and what a request may carry that means nothing."""

from compat_tests.bookie.expected_replies import expect_exactly_read
from compat_tests.bookie.stored_entries import fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, case
from compat_tests.wire import v2_requests
from compat_tests.wire.entries import KEY, OTHER_KEY
from protocol_specs.fields import ENTRY_ID_MAX, LAST_ENTRY, LEDGER_ID_MAX
from protocol_specs.wire.status import EBADREQ, ENOENTRY, ENOLEDGER, EOK


@case(
    "BKW-READ-001",
    MUST,
    "sec-read-entry-v2",
    sends="A read of an entry of 100 bytes of payload.",
    accepts="V2: header, code 0, ids and the entry, to the byte. V3: header, status, and a part with exactly status, "
    "ids, body and max_lac.",
    provenance="the source of Java 4.9 to 4.18; capture of Java 4.9.2 to 4.18.0",
)
def the_reply_to_a_read_is_the_entry_behind_these_fields(talk: Talk) -> None:
    """The reply to a read MUST consist of header, status, the ids of the request and the entry as it was added; in V3
    also of the bookie's last add confirmed."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3, size=100)
    for entry_id, body in enumerate(bodies):
        expect_exactly_read(talk, talk.requests.read(ledger, entry_id), EOK, ledger, entry_id, body, max_lac=1)


@case(
    "BKW-READ-002",
    MUST,
    "sec-read-entry-v2",
    sends="Reads of a missing entry, and of an unknown ledger.",
    accepts="ENOENTRY and ENOLEDGER, and nothing behind the ids: no entry, and in V3 no max_lac.",
    provenance="the source of Java 4.9 to 4.18",
)
def an_error_ends_behind_the_ids(talk: Talk) -> None:
    """The reply to a read that failed MUST end behind the ids; in V3 its part MUST have neither body nor max_lac."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    fill(talk, ledger, 1)
    expect_exactly_read(talk, talk.requests.read(ledger, 1), ENOENTRY, ledger, 1)
    expect_exactly_read(talk, talk.requests.read(unknown, 0), ENOLEDGER, unknown, 0)


@case(
    "BKW-READ-003",
    MUST,
    "sec-read-entry-states",
    sends="Reads of entries 2^31 to 2^63 - 1 of a ledger with one entry.",
    accepts="ENOENTRY, each echoing its entry id.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def entries_far_away_are_missing(talk: Talk) -> None:
    """A bookie MUST answer ENOENTRY for any entry id up to 2^63 - 1 that it does not store: none wraps around."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    for entry_id in (2**31 - 1, 2**31, 2**32, 2**40, 2**56, 2**62, ENTRY_ID_MAX):
        expect_exactly_read(talk, talk.requests.read(ledger, entry_id), ENOENTRY, ledger, entry_id)


@case(
    "BKW-READ-004",
    MUST,
    "sec-read-entry-states",
    sends="Reads of the ledgers -1, -5, -2^63 and 2^63 - 1.",
    accepts="ENOLEDGER, each echoing its ledger id.",
    provenance="the source of Java 4.9 to 4.18",
)
def ledgers_far_away_and_negative_ones_are_unknown(talk: Talk) -> None:
    """A bookie MUST answer a plain read of any ledger that it does not have with ENOLEDGER, of a negative id too."""
    for ledger in (-1, -5, -(2**63), LEDGER_ID_MAX):
        for entry_id in (0, LAST_ENTRY):
            expect_exactly_read(talk, talk.requests.read(ledger, entry_id), ENOLEDGER, ledger, entry_id)


@case(
    "BKW-READ-005",
    MUST,
    "sec-read-entry-states",
    sends="Reads of entries -2, -3, -4096 and -2^63 of a known ledger.",
    accepts="EBADREQ, each echoing its entry id; the connection goes on. ENOENTRY is a pass that is not strict.",
    provenance="S11",
)
def entry_ids_below_the_last_are_bad_requests(talk: Talk) -> None:
    """A bookie MUST answer a read of an entry id below -1, which means nothing, and SHOULD answer it EBADREQ."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    seen = set()
    for entry_id in (-2, -3, -4096, -(2**63)):
        line = talk.line(f"entry {entry_id}")
        line.send(talk.requests.read(ledger, entry_id))
        reply = talk.expect_reply(line.receive())
        talk.check_one_of("status", reply.status, (EBADREQ, ENOENTRY))
        for name, value in (("ledger_id", ledger), ("entry_id", entry_id), ("body", b"")):
            talk.check(name, getattr(reply, name), value)
        seen.add(reply.status)
    if ENOENTRY in seen:
        talk.tolerate("ENOENTRY for an entry id that no entry can have")
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[1])


@case(
    "BKW-READ-006",
    MUST,
    "sec-v2-packets",
    sends="Plain reads with a key behind them: the right one, a wrong one, half of one, and 100 bytes; in V3 in the "
    "field of the key. Then an add.",
    accepts="EOK with the entry each time; the add is EOK: nothing was fenced.",
    provenance="D10",
)
def a_key_that_nobody_asked_for_is_ignored(talk: Talk) -> None:
    """A bookie MUST ignore a master key, and in V2 any bytes behind the last field, of a read that does not fence."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    for key in (KEY, OTHER_KEY, KEY[:10], bytes(100), b"\xff"):
        talk.expect(talk.requests.read(ledger, 0, key=key), EOK, body=body)
        if talk.dialect is V2:
            for version in (0, 1):
                talk.expect(v2_requests.read(ledger, 0, version=version, key=key), EOK, body=body)
    talk.expect(talk.requests.add(ledger, 1), EOK)


@case(
    "BKW-READ-010",
    MUST,
    "sec-read-entry-flags",
    sends="Reads of high priority, of entries that are there, of the last one, and of missing ones.",
    accepts="The same replies, to the byte, as without.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def reads_of_high_priority_are_reads(talk: Talk) -> None:
    """A read of high priority MUST be answered as any other one, in V3 with a header that has no priority."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 2)
    for entry_id, body in ((0, bodies[0]), (1, bodies[1]), (LAST_ENTRY, bodies[1])):
        frame = talk.requests.read(ledger, entry_id, high_priority=True)
        expect_exactly_read(talk, frame, EOK, ledger, entry_id, body, max_lac=0)
    frame = talk.requests.read(ledger, 2, high_priority=True)
    expect_exactly_read(talk, frame, ENOENTRY, ledger, 2)


@case(
    "BKW-READ-012",
    MUST,
    "sec-read-entry-v2",
    sends="The same entry ids added to eight ledgers with other bytes, then read ledger by ledger and entry by entry.",
    accepts="Every read brings the entry of its own ledger.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def entries_of_ledgers_are_not_mixed_up(talk: Talk) -> None:
    """A bookie MUST keep the entries of each ledger apart."""
    ledgers = [talk.new_ledger() for _ in range(8)]
    for ledger in ledgers:
        fill(talk, ledger, 4)
    for entry_id in range(4):
        for ledger in ledgers:
            talk.expect(talk.requests.read(ledger, entry_id), EOK, body=make_entry(ledger, entry_id))
