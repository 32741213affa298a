"""The list of entries: its bytes, and that it has what is stored."""

from typing import Any

from compat_tests.bookie.entry_lists import FIELD, check_listed, expect_listed, parse, request_list
from compat_tests.bookie.pipeline import ask_all
from compat_tests.bookie.runs import check_part, store, store_ids
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, SHOULD, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import OTHER_KEY, entry
from protocol_specs.wire.entry_list import HEADER_SIZE
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EBADVERSION, EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

_V3_SINCE_4_10: dict[str, Any] = {"dialects": (V3,), "since": "4.10", "needs": ("list-entries",)}


@case(
    "BKW-LIST-001",
    MUST,
    "sec-entry-list",
    sends="A request for the list of a ledger with the entries 0, 1 and 2.",
    accepts="88 bytes: version 0, one group, 56 zeros; first 0, last 0, size 3, period 0. The part has status, "
    "ledger id and list, and no more.",
    **_V3_SINCE_4_10,
    provenance="D3, BP-34 (list of entries), capture of Java 4.14.7 to 4.18.0",
)
def one_run_is_one_group(talk: Talk) -> None:
    """A list MUST be a header of 64 bytes and groups of 24; the header's second word counts groups, not entries."""
    ledger = talk.new_ledger()
    store_ids(talk, ledger, (0, 1, 2))
    group = bytes(8) + bytes(8) + (3).to_bytes(4, "big") + bytes(4)
    wanted = bytes(4) + (1).to_bytes(4, "big") + bytes(56) + group
    reply = talk.ask(request_list(talk, ledger))
    check_part(talk, reply, EOK, ledger_id=ledger, **{FIELD: wanted})


@case(
    "BKW-LIST-002",
    MUST,
    "sec-list-entries-states",
    sends="A request for the list of a ledger that was fenced before it had entries.",
    accepts="EOK with a list of 64 bytes: version 0, no groups, 56 zeros.",
    **_V3_SINCE_4_10,
    provenance="capture of Java 4.14.7 to 4.18.0",
)
def a_ledger_without_entries_has_an_empty_list(talk: Talk) -> None:
    """The list of a known ledger without entries MUST be there, and MUST be a header alone."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.fence(ledger), ENOENTRY)
    reply = talk.ask(request_list(talk, ledger))
    check_part(talk, reply, EOK, ledger_id=ledger, **{FIELD: bytes(HEADER_SIZE)})


@case(
    "BKW-LIST-003",
    MUST,
    "sec-list-entries-states",
    sends="Requests for the list of an unknown ledger, and of a known one with header version 1 and 2.",
    accepts="ENOLEDGER and EBADVERSION, with the ledger id and without a list.",
    **_V3_SINCE_4_10,
    provenance="capture of Java 4.14.7 to 4.18.0",
)
def an_error_brings_no_list(talk: Talk) -> None:
    """A request that fails MUST be answered without a list: an empty one would say that everything is lost."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    store_ids(talk, ledger, (0, 1))
    check_part(talk, talk.ask(request_list(talk, unknown)), ENOLEDGER, ledger_id=unknown)
    for version in (1, 2):
        check_part(talk, talk.ask(request_list(talk, ledger, version=version)), EBADVERSION, ledger_id=ledger)


@case(
    "BKW-LIST-004",
    MUST,
    "sec-entry-list",
    sends="Requests for the lists of ledgers with one entry each: 0, 1 and 5000.",
    accepts="One group of one entry.",
    **_V3_SINCE_4_10,
    provenance="the source of Java 4.14 to 4.18",
)
def a_single_entry_is_listed(talk: Talk) -> None:
    """A single entry MUST be listed, wherever it lies."""
    for entry_id in (0, 1, 5000):
        ledger = talk.new_ledger()
        store_ids(talk, ledger, (entry_id,))
        expect_listed(talk, ledger, (entry_id,))


@case(
    "BKW-LIST-005",
    MUST,
    "sec-entry-list",
    sends="Requests for the lists of eight ledgers with random sets of entries.",
    accepts="Exactly the entries of each, in ascending order, in groups of whatever kind.",
    **_V3_SINCE_4_10,
    limit_s=20.0,
    provenance="D2, BP-34 (list of entries)",
)
def any_set_of_entries_is_listed_exactly(talk: Talk) -> None:
    """A list MUST have every entry that is stored and no other, grouped or not, in ascending order."""
    for _ in range(8):
        ledger, size = talk.new_ledger(), talk.random.choice((8, 20, 60))
        entry_ids = talk.random.sample(range(size), talk.random.randrange(1, size))
        store_ids(talk, ledger, entry_ids)
        expect_listed(talk, ledger, entry_ids)


@case(
    "BKW-LIST-006",
    MUST,
    "sec-entry-list-missing",
    sends="Requests for the lists of ledgers whose entries have holes of 2, 3 and 10 000 ids; entries behind a "
    "long hole.",
    accepts="Exactly these entries. Groups of size 0 are no error.",
    **_V3_SINCE_4_10,
    provenance="D1, D2",
)
def entries_behind_wide_holes_are_listed(talk: Talk) -> None:
    """Entries behind holes of two and more ids MUST be listed as any others."""
    striped = [entry_id for entry_id in range(40) if entry_id % 5 < 2]
    for entry_ids in (striped, [0, 3, 6, 7, 8, 12], [0, 1, 2, 10_000, 10_001], [7, 20_000]):
        ledger = talk.new_ledger()
        store_ids(talk, ledger, entry_ids)
        expect_listed(talk, ledger, entry_ids)


@case(
    "BKW-LIST-007",
    SHOULD,
    "sec-entry-list-grouping",
    sends="A request for the list of the entries 1, 2, 4, 5, 7, 8, 10 and 11.",
    accepts="One group: first 1, last 10, size 2, period 3. Four groups of one sequence each are a pass that is "
    "not strict.",
    **_V3_SINCE_4_10,
    provenance="D2, BP-34 (list of entries)",
)
def equal_sequences_at_equal_distances_are_one_group(talk: Talk) -> None:
    """Sequences of one size at equal distances, as striping makes them, SHOULD be one group: one group for each makes
    lists that no frame holds."""
    ledger, entry_ids = talk.new_ledger(), (1, 2, 4, 5, 7, 8, 10, 11)
    store_ids(talk, ledger, entry_ids)
    listed = expect_listed(talk, ledger, entry_ids)
    if len(listed.groups) > 1:
        talk.tolerate(f"{len(listed.groups)} groups, where one would do")
    else:
        talk.check("the group", str(listed.groups[0]), "Group(first=1, last=10, size=2, period=3)")


@case(
    "BKW-LIST-008",
    MUST,
    "sec-entry-list",
    sends="A request for the list of 1500 entries in a row, and of 1000 of a ledger striped over three bookies.",
    accepts="All of them; one group for the row, of which several are a pass that is not strict.",
    **_V3_SINCE_4_10,
    limit_s=20.0,
    provenance="D2, the source of Java 4.14 to 4.18",
)
def thousands_of_entries_are_listed(talk: Talk) -> None:
    """Lists MUST be complete for ledgers of many entries, and over the borders of whatever index the bookie has."""
    row, striped = talk.new_ledger(), talk.new_ledger()
    store_ids(talk, row, range(1500), size=33)
    listed = expect_listed(talk, row, range(1500))
    if len(listed.groups) > 1:
        talk.tolerate(f"{len(listed.groups)} groups for an unbroken row")
    entry_ids = [entry_id for entry_id in range(1500) if entry_id % 3 != 1]
    store_ids(talk, striped, entry_ids, size=33)
    expect_listed(talk, striped, entry_ids)


@case(
    "BKW-LIST-009",
    MUST,
    "sec-list-entries-states",
    sends="Adds that come in any order and twice, none of which confirms anything; the list after each.",
    accepts="Each entry once, as soon as its add is acknowledged.",
    **_V3_SINCE_4_10,
    provenance="the source of Java 4.14 to 4.18",
)
def what_is_acknowledged_is_listed_once(talk: Talk) -> None:
    """An entry MUST be listed from its acknowledgement on, and once however often it was added; the last add confirmed
    plays no role."""
    ledger, stored = talk.new_ledger(), set()
    for entry_id in (3, 0, 3, 7, 1, 0, 2):
        store(talk, ledger, {entry_id: entry(ledger, entry_id, -1)})
        stored.add(entry_id)
        expect_listed(talk, ledger, sorted(stored))


@case(
    "BKW-LIST-010",
    MUST,
    "sec-list-entries-states",
    sends="Adds refused for their key, and for a fence, and a recovery add behind it; a list after each.",
    accepts="What was acknowledged and nothing that was refused; a fence makes no difference, and no key is asked for.",
    **_V3_SINCE_4_10,
    provenance="the source of Java 4.14 to 4.18",
)
def what_was_refused_is_not_listed(talk: Talk) -> None:
    """A refused add MUST NOT be listed; what a fenced ledger holds MUST be, recovery adds included."""
    ledger = talk.new_ledger()
    store_ids(talk, ledger, (0, 1))
    talk.expect(talk.requests.add(ledger, 2, key=OTHER_KEY), EUA)
    expect_listed(talk, ledger, (0, 1))
    talk.expect(talk.requests.fence(ledger), EOK)
    talk.expect(talk.requests.add(ledger, 2), EFENCED)
    expect_listed(talk, ledger, (0, 1))
    talk.expect(talk.requests.add(ledger, 5, recovery=True), EOK)
    expect_listed(talk, ledger, (0, 1, 5))


@case(
    "BKW-LIST-011",
    MUST,
    "sec-list-entries-v3",
    sends="In one piece: requests for the lists of six ledgers, one unknown, reads among them.",
    accepts="To each the list of its own ledger, under its own transaction id.",
    **_V3_SINCE_4_10,
    provenance="the source of Java 4.14 to 4.18",
)
def lists_in_flight_are_told_apart(talk: Talk) -> None:
    """Several lists on their way beside each other and beside other requests MUST each be answered with its own
    ledger's."""
    ledgers, unknown = [talk.new_ledger() for _ in range(5)], talk.new_ledger()
    for number, ledger in enumerate(ledgers):
        store_ids(talk, ledger, range(number + 1))
    frames = [request_list(talk, unknown)]
    for ledger in ledgers:
        frames += [request_list(talk, ledger), talk.requests.read(ledger, 0)]
    replies = ask_all(talk.line("together"), frames)
    check_part(talk, replies[0], ENOLEDGER, ledger_id=unknown)
    for number, ledger in enumerate(ledgers):
        reply = talk.check_reply(replies[1 + 2 * number], EOK, ledger_id=ledger)
        check_listed(talk, reply, range(number + 1))
        talk.check_reply(replies[2 + 2 * number], EOK, entry_id=0)


@case(
    "BKW-LIST-012",
    MUST,
    "sec-list-entries-states",
    sends="Lists on one connection while another adds 300 entries in order.",
    accepts="A run from 0 on, with all that was acknowledged before the list was asked for.",
    **_V3_SINCE_4_10,
    limit_s=20.0,
    provenance="the source of Java 4.14 to 4.18",
)
def a_list_during_adds_lacks_nothing_acknowledged(talk: Talk) -> None:
    """A list that is made while adds come in MUST have every entry acknowledged before it was asked for, and none that
    was never sent: an auditor takes what lacks for lost."""
    ledger, step, total = talk.new_ledger(), 60, 300
    writer = talk.line("writer")
    for first in range(0, total, step):
        adds = [talk.requests.add(ledger, first + index) for index in range(step)]
        writer.send(*adds)
        if first:
            ids = parse(talk, talk.expect(request_list(talk, ledger), EOK)).ids()
            missing = sorted(set(range(first)) - set(ids))
            talk.check("acknowledged entries that are not listed", missing, [])
            talk.check_that(ids == sorted(set(ids)) and ids[-1] < first + step, "the entries", "sent before", ids[-1])
        for frame in adds:
            talk.expect_answer(frame, EOK, writer)
    expect_listed(talk, ledger, range(total))


@case(
    "BKW-LIST-014",
    SHOULD,
    "sec-v3-request",
    sends="A request for a list without its part.",
    accepts="ENOLEDGER, or EOK where there is a ledger 0; the connection serves on.",
    **_V3_SINCE_4_10,
    provenance="S10",
)
def a_list_without_its_part_is_of_ledger_0(talk: Talk) -> None:
    """A request for a list without its part SHOULD be answered as one of ledger 0."""
    operation = V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER
    reply = talk.ask(v3_requests.request(operation, txn_id=talk.requests.number()))
    talk.check_one_of("status", reply.status, (ENOLEDGER, EOK))
    talk.expect_open()
