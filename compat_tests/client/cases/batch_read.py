"""Batch reads: what a client asks for, where it cuts, and what it makes of its arguments."""

from compat_tests.client import client_requests as names
from compat_tests.client.readable_ledger import ABSENT, REFUSED, ReadableLedger, readable_ledger
from compat_tests.client.rules import Action, Exchange
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, V2, case
from protocol_specs import codecs
from protocol_specs.wire import framing, v2
from protocol_specs.wire.operations import Operation

PAYLOADS = tuple(b"entry %d" % number for number in range(10))
INT_MAX = 2**31 - 1

_BATCH = codecs.derive("batch read request", v2.BATCH_READ_REQUEST)


@case(
    "BKW-CBATCH-001",
    MUST,
    "sec-batch-read-v2",
    dialects=(V2,),
    since="4.17",
    sends="A batch read of 3 entries from 2 on, of at most 1000 bytes.",
    accepts="40 bytes behind one length word: header 02070000, ledger, start, request id, 3, 1000; no key.",
    provenance="D4, BP-62",
)
def the_request_has_one_length_word_and_no_key(stage: Stage) -> None:
    """A V2 client MUST send a batch read as 40 bytes behind one length word, without a key unless it fences."""
    ledger = readable_ledger(stage, PAYLOADS)
    stage.check("the payloads", ledger.open().batch_read(2, 3, 1000), PAYLOADS[2:5])
    request = stage.first("batch reads", ledger.requests(names.BATCH_READ))
    expected = _BATCH.pack(
        framing.join_header(2, Operation.BATCH_READ_ENTRY), ledger.id, 2, request.number, 3, 1000, b""
    )
    stage.check("the request", request.raw.hex(), expected.hex())


@case(
    "BKW-CBATCH-002",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="Batch reads of several starts, counts and sizes, and the same entries by single reads.",
    accepts="Each batch brings at least one entry, no more than asked for, and each is what the single read brings.",
    provenance="BP-62, BK#4051",
)
def batches_bring_what_single_reads_bring(stage: Stage) -> None:
    """A batch read MUST return a prefix, not empty, of what single reads of the same range return."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    singles = tuple(reader.read_entry(entry_id) for entry_id in range(10))
    stage.check("the payloads read singly", singles, PAYLOADS)
    for start, count, size in ((0, 10, 0), (0, 1, 0), (9, 5, 0), (3, 4, 100000), (3, 4, 1), (0, 10, 200)):
        found = reader.batch_read(start, count, size)
        what = f"the batch of {count} from {start}, {size} bytes"
        stage.check(what, found, singles[start : start + len(found)])
        stage.check(f"{what}: whether its count is right", 1 <= len(found) <= min(count, 10 - start), True)


@case(
    "BKW-CBATCH-003",
    MUST,
    "sec-batch-read-budget",
    since="4.17",
    sends="Every batch reply has two entries at most, whatever was asked for.",
    accepts="What is returned is not empty, and reading on from behind it brings the whole ledger.",
    provenance="PL#25280, BK#4051, D11",
)
def a_short_batch_is_not_the_end(stage: Stage) -> None:
    """A client MUST NOT take the end of a batch with fewer entries than requested as the end of the ledger."""
    ledger = readable_ledger(stage, PAYLOADS)
    for bookie in ledger.bookies:
        bookie.on(names.BATCH_READ, ledger_id=ledger.id).do(_two_at_most(ledger))
    stage.check("the payloads, read on and on", ledger.open().read_on(10), PAYLOADS)


def _two_at_most(ledger: ReadableLedger) -> Action:
    def act(ask: Exchange) -> None:
        start = ask.request.entry_id
        ask.send(ask.frame(entries=tuple(ledger.entries[start : start + 2])))

    return act


@case(
    "BKW-CBATCH-004",
    MUST,
    "sec-batch-read-budget",
    since="4.17",
    sends="A batch read of 100 entries of a ledger closed at entry 4; the bookies have 5 to 9 as well, and send them.",
    accepts="Entries 0 to 4, and nothing of what lies behind the end.",
    provenance="D7, S15",
)
def nothing_behind_the_end_of_a_closed_ledger_is_returned(stage: Stage) -> None:
    """A client MUST NOT return entries from behind the end of a closed ledger: they were never acknowledged."""
    ledger = readable_ledger(stage, PAYLOADS[:5], stray=PAYLOADS[5:])
    for bookie in ledger.bookies:
        bookie.on(names.BATCH_READ, ledger_id=ledger.id).do(_all_from(ledger))
    reader = ledger.open()
    for start, size in ((0, 100000), (2, 0)):
        found = reader.batch_read(start, 100, size)
        stage.check(f"the entries behind the end, of a batch from {start}", found[5 - start :], ())
        stage.check(f"the batch from {start}", found, PAYLOADS[start:5])


def _all_from(ledger: ReadableLedger) -> Action:
    return lambda ask: ask.send(ask.frame(entries=tuple(ledger.entries[ask.request.entry_id :])))


@case(
    "BKW-CBATCH-005",
    MUST,
    "sec-batch-read-budget",
    since="4.17",
    sends="A batch read of 100 entries of an open ledger whose last add confirmed is 8; the bookies send entry 9 too.",
    accepts="Entries 0 to 8.",
    provenance="D7, BK#4220",
)
def nothing_behind_the_last_add_confirmed_is_returned(stage: Stage) -> None:
    """A client MUST NOT return entries from behind the last add confirmed, unless it was asked for unconfirmed ones."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    for bookie in ledger.bookies:
        bookie.on(names.BATCH_READ, ledger_id=ledger.id).do(_all_from(ledger))
    reader = ledger.open()
    stage.check("the last add confirmed", reader.last_add_confirmed, 8)
    found = reader.batch_read(0, 100)
    stage.check("the entries behind the last add confirmed", found[9:], ())
    stage.check("the batch", found, PAYLOADS[:9])


@case(
    "BKW-CBATCH-006",
    SHOULD,
    "sec-batch-read-client",
    since="4.18",
    sends="A batch read of unconfirmed entries of an open ledger whose last add confirmed is 8.",
    accepts="Entries 7 to 9.",
    provenance="BK#4739",
)
def a_batch_read_of_unconfirmed_entries_goes_past_the_last_add_confirmed(stage: Stage) -> None:
    """A client SHOULD offer a batch read that goes past the last add confirmed of a ledger that is not closed."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    stage.check("the batch", ledger.open().batch_read(7, 10, 0, unconfirmed=True), PAYLOADS[7:])


@case(
    "BKW-CBATCH-007",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch read from the entry behind the last one of a closed ledger.",
    accepts="It fails; nothing need be sent for it.",
    provenance="D7, S15; seen with Java's client 4.18.0",
)
def a_start_behind_the_end_is_not_sent(stage: Stage) -> None:
    """A client MUST refuse a batch read that starts behind the last entry that may be read; no bookie need be asked."""
    ledger = readable_ledger(stage, PAYLOADS[:5], stray=PAYLOADS[5:])
    stage.expect_error(ledger.open().begin_batch_read(5, 10).pending, *REFUSED, *ABSENT)
    ledger.look_for_needless_reads()


@case(
    "BKW-CBATCH-008",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch read from -1 on.",
    accepts="It fails with an error of the client's arguments; nothing need be sent for it.",
    provenance="BK#4574, BK#4579",
)
def a_negative_start_is_not_sent(stage: Stage) -> None:
    """A client MUST refuse a batch read from a negative entry id, and SHOULD without asking a bookie."""
    ledger = readable_ledger(stage, PAYLOADS)
    stage.expect_error(ledger.open().begin_batch_read(-1, 10).pending, *REFUSED)
    ledger.look_for_needless_reads()


@case(
    "BKW-CBATCH-009",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch read of 0 entries, which means no limit.",
    accepts="At least one entry, from 0 on.",
    provenance="D8, BP-62",
)
def a_count_of_0_is_no_limit(stage: Stage) -> None:
    """A client MUST take a count of 0 for no limit."""
    ledger = readable_ledger(stage, PAYLOADS)
    found = ledger.open().batch_read(0, 0, 0)
    stage.check("the batch", found, PAYLOADS[: len(found)])
    stage.check("whether it has entries", len(found) > 0, True)


@case(
    "BKW-CBATCH-010",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch read of 2147483647 entries.",
    accepts="The ten entries that there are, or fewer, but at least one.",
    provenance="D8",
)
def the_largest_count_works(stage: Stage) -> None:
    """A client MUST serve a batch read with the largest count that there is."""
    ledger = readable_ledger(stage, PAYLOADS)
    found = ledger.open().batch_read(0, INT_MAX, 0)
    stage.check("the batch", found, PAYLOADS[: max(len(found), 1)])


@case(
    "BKW-CBATCH-011",
    MUST,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch read of -1 entries, and one of -2147483648.",
    accepts="An error of the client's arguments, or a batch as without a limit; no hang.",
    provenance="D8",
)
def a_negative_count_ends(stage: Stage) -> None:
    """A client MUST end a batch read of a negative count: it refuses it, or takes it for no limit as a bookie does."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    for count in (-1, -(2**31)):
        outcome = reader.begin_batch_read(0, count).outcome()
        allowed = REFUSED if isinstance(outcome, int) else [PAYLOADS[: max(len(outcome), 1)]]
        stage.check_one_of(f"the batch of {count}", outcome, allowed)


@case(
    "BKW-CBATCH-012",
    SHOULD,
    "sec-batch-read-budget",
    since="4.17",
    sends="A batch read without a limit of size.",
    accepts="The request has a size above 0, since 0 would bring one entry only; more than one comes.",
    provenance="BP-62",
)
def no_limit_of_size_is_not_sent_as_0(stage: Stage) -> None:
    """A client SHOULD send the frame limit where its caller sets no limit of size: a bookie takes 0 for one entry."""
    ledger = readable_ledger(stage, PAYLOADS)
    stage.check("the batch", ledger.open().batch_read(0, 10, 0), PAYLOADS)
    sizes = [each.max_size for each in ledger.requests(names.BATCH_READ)]
    stage.check("whether every size sent is above 0", all(size > 0 for size in sizes), True)


@case(
    "BKW-CBATCH-013",
    MUST,
    "sec-quorums",
    since="4.17",
    sends="A batch read of a striped ledger (E 3, W 2), each bookie of which has its own entries only.",
    accepts="At least one entry, and reading on brings all ten.",
    provenance="BK#4051",
)
def a_striped_ledger_is_read_whole(stage: Stage) -> None:
    """A client MUST read a striped ledger right when asked to read it in batches."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=3, write=2, ack=2)
    stage.check("the payloads, read on and on", ledger.open().read_on(10), PAYLOADS)


@case(
    "BKW-CBATCH-014",
    SHOULD,
    "sec-batch-read-client",
    since="4.17",
    sends="A batch read of a striped ledger (E 3, W 2).",
    accepts="Single reads only are sent.",
    provenance="BP-62",
)
def no_batch_read_is_sent_for_a_striped_ledger(stage: Stage) -> None:
    """A client SHOULD NOT send batch reads for a striped ledger: no bookie holds a run of its entries."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=3, write=2, ack=2)
    ledger.open().read_on(10)
    stage.check("batch reads sent", len(ledger.requests(names.BATCH_READ)), 0)


@case(
    "BKW-CBATCH-015",
    MUST,
    "sec-quorums",
    since="4.17",
    sends="A batch read over the border of two fragments on different bookies; all bookies have all entries.",
    accepts="Reading on brings all ten; no bookie is asked for entries of a fragment that is not its own, but for what "
    "runs over the border.",
    provenance="seen with Java's client 4.18.0",
)
def a_batch_starts_in_the_fragment_of_its_first_entry(stage: Stage) -> None:
    """A client MUST ask the bookies of the fragment in which a batch starts."""
    ledger = readable_ledger(stage, PAYLOADS, fragments={0: 3, 6: 3})
    stage.check("the payloads, read on and on", ledger.open().read_on(10), PAYLOADS)
    starts = [
        each.entry_id
        for bookie in ledger.bookies[:3]
        for each in bookie.requests(names.BATCH_READ, ledger_id=ledger.id)
    ]
    behind = [start for start in starts if start >= 6]
    stage.check("starts behind the border, at bookies of the first fragment", behind, [])
