"""Batch read: where a batch begins, where it ends, and that it brings what single reads bring."""

from compat_tests.bookie.batches import NEEDS, PLENTY, SINCE, check_prefix, expect_prefix
from compat_tests.bookie.pipeline import ask_all
from compat_tests.bookie.runs import store, store_ids, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, case
from compat_tests.wire.entries import entry
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EBADREQ, ENOENTRY, EOK

_LONG_MAX = 2**63 - 1


@case(
    "BKW-BATCH-023",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads from each entry of a ledger that has the entries 0, 1, 2, 4, 5 and 9.",
    accepts="The entries up to the next hole and none behind it; fewer, but one, are tolerated.",
    since=SINCE,
    needs=NEEDS,
    provenance="BP-62, the source of Java 4.17 and 4.18",
)
def a_batch_ends_before_a_hole(talk: Talk) -> None:
    """A batch MUST end where the next entry is missing, with EOK and what came before: as the entries of a reply have
    no ids, one from behind a hole would be taken for another."""
    ledger = talk.new_ledger()
    bodies = store_ids(talk, ledger, (0, 1, 2, 4, 5, 9))
    for run in ((0, 1, 2), (4, 5), (9,)):
        for start in run:
            wanted = [bodies[entry_id] for entry_id in run if entry_id >= start]
            expect_prefix(talk, talk.requests.batch_read(ledger, start, 100, PLENTY), wanted)


@case(
    "BKW-BATCH-024",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads from a hole, from behind the last entry, from 2^31, 2^62 and 2^63 - 1, with counts of 0,"
    " 1 and 2^31 - 1.",
    accepts="ENOENTRY without entries, though entries follow the hole.",
    since=SINCE,
    needs=NEEDS,
    limit_s=20.0,
    provenance="BP-62, the source of Java 4.17 and 4.18",
)
def a_batch_that_starts_at_nothing_is_no_entry(talk: Talk) -> None:
    """If the first entry is missing the reply MUST be ENOENTRY without entries: never EOK without any, and never from
    the next entry that there is."""
    ledger = talk.new_ledger()
    store_ids(talk, ledger, (0, 2, 3))
    for start in (1, 4, 1 << 31, 1 << 62, _LONG_MAX):
        for count in (0, 1, (1 << 31) - 1):
            talk.expect(talk.requests.batch_read(ledger, start, count, PLENTY), ENOENTRY, entries=())


@case(
    "BKW-BATCH-025",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads from -1 with the counts 1 and 2, of a ledger with five entries.",
    accepts="EOK, start -1, the last entry; with count 2 the entry 0 behind it, or nothing, which is a pass that "
    "is not strict.",
    since=SINCE,
    needs=NEEDS,
    provenance="the source of Java 4.17 and 4.18",
)
def the_start_minus_1_is_the_last_entry(talk: Talk) -> None:
    """A batch from -1 MUST begin with the last entry, and the reply MUST say -1. What follows counts on from -1: the
    entries from 0 on, and nothing else."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 42, 43, 44, 45])
    for count in (1, 2):
        frame = talk.requests.batch_read(ledger, LAST_ENTRY, count, PLENTY)
        expect_prefix(talk, frame, [bodies[4], bodies[0]][:count], entry_id=LAST_ENTRY)


@case(
    "BKW-BATCH-026",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads from -2, -4096 and -2^63.",
    accepts="EBADREQ without entries, and the connection serves on; ENOENTRY is a pass that is not strict.",
    since=SINCE,
    needs=NEEDS,
    provenance="BK#4574, BK#4579",
)
def a_start_below_minus_1_is_a_bad_request(talk: Talk) -> None:
    """A start below -1 MUST be answered with an error, EBADREQ, and MUST NOT cost the connection or a reply."""
    ledger = talk.new_ledger()
    store_run(talk, ledger, [41, 41])
    for start in (-2, -0x1000, -_LONG_MAX - 1):
        reply = talk.ask(talk.requests.batch_read(ledger, start, 3, PLENTY))
        talk.check_one_of(f"status of a batch from {start}", reply.status, (EBADREQ, ENOENTRY))
        talk.check("entries", reply.entries, ())
        if reply.status is ENOENTRY:
            talk.tolerate(f"ENOENTRY for a batch from {start}")
    talk.expect_open()


@case(
    "BKW-BATCH-027",
    MUST,
    "sec-batch-read-budget",
    sends="A batch read of entries of which the last that any of them confirms is 4, from 3 and from 7.",
    accepts="From 7 at least one entry; from 3 those up to the last one stored, where fewer are tolerated.",
    since=SINCE,
    needs=NEEDS,
    provenance="D7, S15, BK#4220",
)
def the_last_add_confirmed_does_not_end_a_batch(talk: Talk) -> None:
    """A bookie MUST serve what it holds, also behind the last add confirmed: recovery reads there. To cut is the
    client's task."""
    ledger = talk.new_ledger()
    bodies = [entry(ledger, entry_id, min(entry_id - 1, 4)) for entry_id in range(10)]
    store(talk, ledger, dict(enumerate(bodies)))
    expect_prefix(talk, talk.requests.batch_read(ledger, 7, 100, PLENTY), bodies[7:])
    expect_prefix(talk, talk.requests.batch_read(ledger, 3, 100, PLENTY), bodies[3:])


@case(
    "BKW-BATCH-028",
    MUST,
    "sec-batch-read-budget",
    sends="Forty entries of random sizes, single reads of each, and batch reads of random limits from start to "
    "end, each from where the one before it ended.",
    accepts="The same entries, byte for byte, and ENOENTRY at the end.",
    since=SINCE,
    needs=NEEDS,
    limit_s=20.0,
    provenance="BP-62, BK#4641",
)
def batches_bring_what_single_reads_bring(talk: Talk) -> None:
    """A ledger read in batches, each from where the one before it ended, MUST give the same entries as single reads of
    it, and the same end."""
    ledger = talk.new_ledger()
    count = 40
    store_run(talk, ledger, [talk.random.choice((32, 33, 100, 999, 4096)) for _ in range(count)])
    reads = [talk.requests.read(ledger, entry_id) for entry_id in range(count)]
    singles = [reply.body for reply in ask_all(talk.line("singles"), reads)]
    for _ in range(3):
        position = 0
        while position < count:
            limits = talk.random.randrange(20), talk.random.randrange(10_000)
            reply = talk.expect(talk.requests.batch_read(ledger, position, *limits), EOK)
            talk.check_that(len(reply.entries) > 0, "the reply", "an entry at least", reply)
            talk.check("the entries", list(reply.entries), singles[position : position + len(reply.entries)])
            position += len(reply.entries)
        talk.expect(talk.requests.batch_read(ledger, position, 1, PLENTY), ENOENTRY, entries=())


@case(
    "BKW-BATCH-029",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads on one connection while another adds 200 entries in order.",
    accepts="ENOENTRY, or a run from the start on without a hole; at the end all that was acknowledged.",
    since=SINCE,
    needs=NEEDS,
    limit_s=20.0,
    provenance="BP-62",
)
def a_batch_during_adds_is_a_run_without_holes(talk: Talk) -> None:
    """A batch that meets adds on their way MUST bring whole entries of consecutive ids, and SHOULD bring all that were
    acknowledged before it was sent."""
    ledger, total, step = talk.new_ledger(), 200, 20
    bodies = [entry(ledger, entry_id, entry_id - 1, b"%d" % entry_id) for entry_id in range(total)]
    writer = talk.line("writer")
    for first in range(0, total, step):
        adds = [talk.requests.add(ledger, first + index, body=bodies[first + index]) for index in range(step)]
        writer.send(*adds)
        if first:
            reply = talk.expect(talk.requests.batch_read(ledger, 0, total, PLENTY), EOK)
            talk.check("the entries", list(reply.entries), bodies[: len(reply.entries)])
            if len(reply.entries) < first:
                talk.tolerate(f"{len(reply.entries)} entries, where {first} were acknowledged")
        for frame in adds:
            talk.expect_answer(frame, EOK, writer)
    check_prefix(talk, talk.expect(talk.requests.batch_read(ledger, 0, total, PLENTY), EOK), bodies)
