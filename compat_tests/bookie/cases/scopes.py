"""Ledger scopes (BP-34): ids of 128 bits on the wire, the format of their entries, and what is refused."""

from compat_tests.bookie.scoped_entries import (
    NEEDS,
    SCOPES,
    add_within,
    expect_within,
    fence_within,
    read_within,
    scoped_entry,
    scoped_lac,
    with_scope_field,
    within,
)
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import OTHER_KEY, entry
from protocol_specs.entry import v2
from protocol_specs.entry.digest import DIGESTS
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EBADREQ, EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

#: Any 64 bits may be half of an id: a random UUID has them.
HALVES = (1, -1, 2**63 - 1, -(2**63), 0x0A06080310081807)


@case(
    "BKW-SCOPE-001",
    MUST,
    "sec-scope-wire",
    sends="Adds of format V2 entries in several scopes, and reads of them by id and as the last one.",
    accepts="EOK; each reply has the request's ledger_scope_id, and the entry comes byte for byte, flags first.",
    dialects=(V3,),
    needs=NEEDS,
    provenance="BP-34",
)
def entries_of_scopes_are_kept_and_the_scope_is_echoed(talk: Talk) -> None:
    """A bookie that serves scopes MUST store entries of format V2 as they are, and MUST echo ledger_scope_id."""
    ledger = talk.new_ledger()
    for scope in HALVES:
        for entry_id in range(3):
            add_within(talk, scope, ledger, entry_id)
            read_within(talk, scope, ledger, entry_id)
        read_within(talk, scope, ledger, LAST_ENTRY, body=scoped_entry(scope, ledger, 2))


@case(
    "BKW-SCOPE-002",
    MUST,
    "sec-scope-id",
    sends="Adds and reads of ledgers whose lower half is negative, in several scopes.",
    accepts="EOK, with these ids in the replies.",
    dialects=(V3,),
    needs=NEEDS,
    provenance="BP-34",
)
def the_lower_half_may_be_negative_outside_scope_0(talk: Talk) -> None:
    """Outside scope 0 any 64 bits MUST be taken for the lower half of a ledger id, negative numbers included."""
    scope = talk.new_ledger()
    for ledger in HALVES:
        add_within(talk, scope, ledger, 0)
        read_within(talk, scope, ledger, 0)
        read_within(talk, scope, ledger, 1, ENOENTRY)


@case(
    "BKW-SCOPE-003",
    MUST,
    "sec-scope-wire",
    sends="Requests with ledger_scope_id 0, present, and without it, for the same ledger.",
    accepts="Both mean the same ledger, and no reply has the field.",
    dialects=(V3,),
    needs=NEEDS,
    provenance="BP-34",
)
def scope_0_is_the_same_as_none(talk: Talk) -> None:
    """Scope 0 MUST be the ledgers that always were: said or not, and never said in a reply."""
    ledger = talk.new_ledger()
    body = scoped_entry(0, ledger, 0)
    added = with_scope_field(0, talk.requests.add(ledger, 0, body=body))
    talk.expect(added, EOK, ledger_scope_id=None)
    for scope in (None, 0):
        talk.expect(with_scope_field(scope, talk.requests.read(ledger, 0)), EOK, body=body, ledger_scope_id=None)
        talk.expect(with_scope_field(scope, talk.requests.read(ledger, 1)), ENOENTRY, ledger_scope_id=None)
    talk.expect(v2_requests.read(ledger, 0), EOK, talk.line("V2"), body=body)


@case(
    "BKW-SCOPE-004",
    MUST,
    "sec-scope-errors",
    sends="Within scopes: a read of an unknown ledger, of a missing entry, an add with a wrong key, one to a fenced "
    "ledger.",
    accepts="ENOLEDGER, ENOENTRY, EUA, EFENCED, each with the scope echoed.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=NEEDS,
)
def errors_echo_the_scope(talk: Talk) -> None:
    """The reply to a request within a scope MUST echo the scope, whatever its status."""
    ledger = talk.new_ledger()
    for scope in SCOPES:
        read_within(talk, scope, ledger, 0, ENOLEDGER)
        add_within(talk, scope, ledger, 0)
        read_within(talk, scope, ledger, 1, ENOENTRY)
        add_within(talk, scope, ledger, 1, EUA, key=OTHER_KEY)
        fence_within(talk, scope, ledger, EOK, scoped_entry(scope, ledger, 0))
        add_within(talk, scope, ledger, 1, EFENCED)


@case(
    "BKW-SCOPE-005",
    MUST,
    "sec-scope-errors",
    sends="Within a scope an entry of format V1; without one an entry of format V2; and V2 entries of scope 0 either "
    "way.",
    accepts="EBADREQ each time, and nothing is stored on either side.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=NEEDS,
)
def an_entry_has_the_format_of_its_scope(talk: Talk) -> None:
    """A bookie MUST refuse with EBADREQ an entry whose format is not that of the request's scope."""
    ledger = talk.new_ledger()
    add_within(talk, 0, ledger, 0)
    add_within(talk, 7, ledger, 0)
    v1, v2_body = entry(ledger, 1), scoped_entry(7, ledger, 1)
    in_scope_0 = v2_body[:1] + bytes(8) + v2_body[9:]
    for scope, body in ((7, v1), (0, v2_body), (7, in_scope_0), (0, in_scope_0)):
        expect_within(talk, scope, talk.requests.add(ledger, 1, body=body), EBADREQ)
    for scope in (0, 7):
        read_within(talk, scope, ledger, 1, ENOENTRY)


@case(
    "BKW-SCOPE-006",
    MUST,
    "sec-entry-version",
    sends="Within a scope, entries whose first byte is 80 to 9f or b0 to ff, and V2 entries of each digest type.",
    accepts="EBADREQ for the former, which are of no known format; EOK for a0 to a4.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=NEEDS,
)
def unknown_formats_of_entries_are_refused(talk: Talk) -> None:
    """A bookie MUST refuse an entry whose first byte tells of no format that it knows."""
    ledger, scope = talk.new_ledger(), 5
    for entry_id, digest in enumerate(DIGESTS):
        body = bytes([v2.flags_of(digest.number)]) + scoped_entry(scope, ledger, entry_id)[1:]
        expect_within(talk, scope, talk.requests.add(ledger, entry_id, body=body))
        read_within(talk, scope, ledger, entry_id, body=body)
    for first in (0x80, 0x83, 0x9F, 0xB0, 0xC3, 0xFF):
        body = bytes([first]) + scoped_entry(scope, ledger, 9)[1:]
        expect_within(talk, scope, talk.requests.add(ledger, 9, body=body), EBADREQ)
    read_within(talk, scope, ledger, 9, ENOENTRY)


@case(
    "BKW-SCOPE-007",
    MUST,
    "sec-scope-errors",
    sends="V2 adds of format V2 entries; V2 reads of a ledger id that has entries in other scopes only.",
    accepts="EBADREQ, and nothing is stored; ENOLEDGER.",
    dialects=(V2,),
    needs=NEEDS,
    provenance="BP-34",
)
def v2_never_sees_a_scope(talk: Talk) -> None:
    """In V2 there is no scope but 0: an entry of format V2 MUST be refused, and ledgers of scopes MUST NOT be found."""
    ledger, line = talk.new_ledger(), talk.line("V3")
    for scope in SCOPES:
        add = within(scope, v3_requests.add(ledger, 0, scoped_entry(scope, ledger, 0), txn_id=1))
        talk.expect(add, EOK, line)
        body = scoped_entry(scope, ledger, 1)
        talk.expect(v2_requests.add(ledger, 1, body=body), EBADREQ)
        talk.expect(within(scope, v3_requests.read(ledger, 1, txn_id=2)), ENOENTRY, line)
    for entry_id in (0, LAST_ENTRY):
        talk.expect(v2_requests.read(ledger, entry_id), ENOLEDGER)
    talk.expect(v2_requests.add(ledger, 0), EOK)
    talk.expect(v2_requests.read(ledger, LAST_ENTRY), EOK, body=entry(ledger, 0))


@case(
    "BKW-SCOPE-008",
    MUST,
    "sec-scope-wire",
    sends="Within a scope: an add whose ids in the request are others than those inside its entry.",
    accepts="EOK with the request's ids; the entry is found under the ids, and in the scope, that it says itself.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=NEEDS,
)
def whose_entry_it_is_is_said_by_its_body(talk: Talk) -> None:
    """The scope, ledger and entry id under which an entry is stored MUST be those of the entry itself."""
    ledger, other = talk.new_ledger(), talk.new_ledger()
    add_within(talk, 3, other, 0)
    body = scoped_entry(4, ledger, 7)
    expect_within(talk, 3, talk.requests.add(other, 1, body=body), EOK, ledger_id=other, entry_id=1)
    read_within(talk, 4, ledger, 7, body=body)
    read_within(talk, 3, other, 1, ENOENTRY)


@case(
    "BKW-SCOPE-009",
    MUST,
    "sec-scope-errors",
    sends="Within a scope a WRITE_LAC with a body of format V1; without one a body of format V2.",
    accepts="EBADREQ, and no last add confirmed is told afterwards.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=(*NEEDS, "explicit-lac"),
)
def an_explicit_lac_has_the_format_of_its_scope(talk: Talk) -> None:
    """A bookie MUST refuse with EBADREQ a WRITE_LAC whose body is not of the format of the request's scope."""
    ledger = talk.new_ledger()
    for scope, body in ((7, None), (0, scoped_lac(7, ledger, 0))):
        add_within(talk, scope, ledger, 0)
        frame = v3_requests.write_lac(ledger, 0, body, txn_id=talk.requests.number())
        expect_within(talk, scope, frame, EBADREQ)
        read_lac = v3_requests.read_lac(ledger, txn_id=talk.requests.number())
        expect_within(talk, scope, read_lac, EOK, lac_body=None, last_entry_body=scoped_entry(scope, ledger, 0))
