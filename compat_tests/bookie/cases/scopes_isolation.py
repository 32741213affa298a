"""Scopes keep ledgers of one lower half apart: nothing done to one shows in another."""

from compat_tests.bookie.batches import check_prefix
from compat_tests.bookie.entry_lists import parse
from compat_tests.bookie.scoped_entries import (
    NEEDS,
    SCOPES,
    add_within,
    expect_within,
    fence_within,
    read_within,
    scoped_entry,
    scoped_lac,
    within,
)
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import KEY, OTHER_KEY, explicit_lac
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

ALL = (0, *SCOPES)

_SIZE = 100_000


@case(
    "BKW-SCOPE-011",
    MUST,
    "sec-scope-id",
    sends="The same ledger id and entry ids in scopes 0, 1, 2 and -1, each with another payload, and one more entry in "
    "each than in the one before.",
    accepts="Each scope has its own entries, its own last one, and is ENOENTRY behind it; another scope is ENOLEDGER.",
    dialects=(V3,),
    needs=NEEDS,
    provenance="BP-34",
)
def entries_of_scopes_are_kept_apart(talk: Talk) -> None:
    """Ledgers of equal lower halves in different scopes MUST be different ledgers."""
    ledger = talk.new_ledger()
    for count, scope in enumerate(ALL, 1):
        for entry_id in range(count):
            add_within(talk, scope, ledger, entry_id)
    for count, scope in enumerate(ALL, 1):
        for entry_id in range(count):
            read_within(talk, scope, ledger, entry_id)
        read_within(talk, scope, ledger, count, ENOENTRY)
        read_within(talk, scope, ledger, LAST_ENTRY, body=scoped_entry(scope, ledger, count - 1))
    read_within(talk, 99, ledger, 0, ENOLEDGER)


@case(
    "BKW-SCOPE-012",
    MUST,
    "sec-scope-id",
    sends="A fence of a ledger in one scope after the other, and adds in all of them after each.",
    accepts="EFENCED in the scopes that were fenced, EOK in the others, scope 0 being the last.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=NEEDS,
)
def a_fence_stays_in_its_scope(talk: Talk) -> None:
    """A fence MUST hold in its own scope and in no other."""
    ledger = talk.new_ledger()
    order = (*SCOPES, 0)
    next_ids = dict.fromkeys(order, 0)
    for fenced_count in range(len(order) + 1):
        for index, scope in enumerate(order):
            entry_id = next_ids[scope]
            if index < fenced_count:
                add_within(talk, scope, ledger, entry_id, EFENCED)
            else:
                add_within(talk, scope, ledger, entry_id)
                next_ids[scope] += 1
        if fenced_count < len(order):
            scope = order[fenced_count]
            fence_within(talk, scope, ledger, EOK, scoped_entry(scope, ledger, next_ids[scope] - 1))


@case(
    "BKW-SCOPE-013",
    MUST,
    "sec-scope-id",
    sends="Ledgers of one lower half that are made with two keys, by turns; adds with the other key and the right one.",
    accepts="EUA and EOK: each scope has its ledger's own key.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=NEEDS,
)
def each_scope_has_a_key_of_its_own(talk: Talk) -> None:
    """The master key of a ledger MUST NOT be that of the ledger of the same lower half in another scope."""
    ledger = talk.new_ledger()
    keys = dict(zip(ALL, (KEY, OTHER_KEY) * 2, strict=True))
    for scope, key in keys.items():
        add_within(talk, scope, ledger, 0, key=key)
    for scope, key in keys.items():
        add_within(talk, scope, ledger, 1, EUA, key=OTHER_KEY if key == KEY else KEY)
        add_within(talk, scope, ledger, 1, key=key)


@case(
    "BKW-SCOPE-014",
    MUST,
    "sec-scope-wire",
    sends="Batch reads of one ledger id in scopes 0, 1, 2 and -1, which hold one entry more each.",
    accepts="The entries of the scope and no more, the scope echoed; ENOLEDGER in another one.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=(*NEEDS, "batch-read-v3"),
)
def batch_reads_stay_in_their_scope(talk: Talk) -> None:
    """A batch read MUST bring entries of its own scope only."""
    ledger = talk.new_ledger()
    for count, scope in enumerate(ALL, 1):
        for entry_id in range(count):
            add_within(talk, scope, ledger, entry_id)
    for count, scope in enumerate(ALL, 1):
        bodies = [scoped_entry(scope, ledger, entry_id) for entry_id in range(count)]
        check_prefix(talk, expect_within(talk, scope, talk.requests.batch_read(ledger, 0, 10, _SIZE)), bodies)
    expect_within(talk, 99, talk.requests.batch_read(ledger, 0, 10, _SIZE), ENOLEDGER, entries=())


@case(
    "BKW-SCOPE-015",
    MUST,
    "sec-scope-wire",
    sends="An explicit last add confirmed of its own for one ledger id in scopes 0, 1, 2 and -1; READ_LACs and reads.",
    accepts="Each scope tells the body that was written there, and max_lac accordingly.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=(*NEEDS, "explicit-lac"),
)
def each_scope_has_a_last_add_confirmed_of_its_own(talk: Talk) -> None:
    """The last add confirmed of a ledger, told by entries or explicitly, MUST stay in its scope."""
    ledger = talk.new_ledger()
    bodies = {scope: scoped_lac(scope, ledger, 10 + index) for index, scope in enumerate(ALL) if scope}
    bodies[0] = explicit_lac(ledger, 20)
    for scope, body in bodies.items():
        add_within(talk, scope, ledger, 0)
        expect_within(talk, scope, v3_requests.write_lac(ledger, 0, body, txn_id=talk.requests.number()))
    for index, scope in enumerate(ALL):
        last = scoped_entry(scope, ledger, 0)
        read_lac = v3_requests.read_lac(ledger, txn_id=talk.requests.number())
        expect_within(talk, scope, read_lac, EOK, lac_body=bodies[scope], last_entry_body=last)
        expect_within(talk, scope, talk.requests.read(ledger, 0), EOK, max_lac=10 + index if scope else 20)


@case(
    "BKW-SCOPE-016",
    MUST,
    "sec-scope-wire",
    sends="The list of entries of one ledger id in scopes 0, 1, 2 and -1, which hold one entry more each; "
    "FORCE_LEDGER.",
    accepts="The entries of the scope and no more, and EOK, with the scope echoed; ENOLEDGER for the list of another "
    "one.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=(*NEEDS, "list-entries", "force"),
)
def lists_stay_in_their_scope(talk: Talk) -> None:
    """The list of entries of a ledger MUST be that of its scope, and every reply MUST echo the scope."""
    ledger = talk.new_ledger()
    for count, scope in enumerate(ALL, 1):
        for entry_id in range(count):
            add_within(talk, scope, ledger, entry_id)
    for count, scope in enumerate(ALL, 1):
        expect_within(talk, scope, v3_requests.force(ledger, txn_id=talk.requests.number()))
        frame = v3_requests.list_entries(ledger, txn_id=talk.requests.number())
        reply = expect_within(talk, scope, frame)
        listed = parse(talk, reply).ids()
        talk.check(f"the entries listed in scope {scope}", listed, list(range(count)))
    expect_within(talk, 99, v3_requests.list_entries(ledger, txn_id=talk.requests.number()), ENOLEDGER)


@case(
    "BKW-SCOPE-017",
    MUST,
    "sec-scope-wire",
    sends="Long polls that wait in scopes 0 and 1; then a fence in scope 2, and adds in scope 1 and in scope 0.",
    accepts="Nothing after the first; each of the others ends the wait in its own scope, with that scope's entry.",
    provenance="BP-34 of 2017 (ledger ids of 128 bits), as this reference defines it",
    dialects=(V3,),
    needs=(*NEEDS, "long-poll"),
)
def long_polls_wait_for_their_own_scope(talk: Talk) -> None:
    """A long poll MUST be ended by what happens in its own scope, and by nothing in another."""
    ledger = talk.new_ledger()
    lines = {scope: talk.line(f"reader of scope {scope}") for scope in (0, 1)}
    for scope in (0, 1, 2):
        for entry_id in (0, 1):
            add_within(talk, scope, ledger, entry_id)
    polls = {scope: within(scope, v3_requests.poll(ledger, 0, 60_000, txn_id=scope + 1)) for scope in lines}
    for scope, line in lines.items():
        line.send(polls[scope])
    talk.wait(0.1)
    fence_within(talk, 2, ledger, EOK, scoped_entry(2, ledger, 1))
    for changed in (1, 0):
        for scope in (0, 1)[: changed + 1]:
            talk.expect_silence(lines[scope], 0.1)
        add_within(talk, changed, ledger, 2)
        woken = {"ledger_scope_id": changed or None, "body": scoped_entry(changed, ledger, 1), "max_lac": 1}
        talk.expect_answer(polls[changed], EOK, lines[changed], entry_id=1, **woken)
