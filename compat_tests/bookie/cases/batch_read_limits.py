"""Batch read: how many entries a reply brings, by count and by size."""

from compat_tests.bookie.batches import HEAD_SIZE, NEEDS, PLENTY, SINCE, expect_prefix, longest_prefix, needed_size
from compat_tests.bookie.runs import store_run
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, SHOULD, V3, case
from protocol_specs.fields import FRAME_LENGTH_SIZE, FRAME_SIZE_MAX
from protocol_specs.wire.status import EBADREQ, EOK

_V3_LENGTH_GROWTH = 2
"""By how many bytes the length of a field of 5 MB is longer than that of one of 200 bytes."""
_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1


@case(
    "BKW-BATCH-011",
    MUST,
    "sec-batch-read-budget",
    sends="A batch read with room for all, of entries of 32 to 70 000 bytes.",
    accepts="Each entry as it was added, byte for byte, in order of the ids; fewer of them are tolerated.",
    since=SINCE,
    needs=NEEDS,
    provenance="BP-62",
)
def entries_of_any_size_come_whole_and_in_order(talk: Talk) -> None:
    """A batch MUST bring consecutive entries from the start on, each whole and as it was stored, however small or
    large."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [32, 41, 33, 70_000, 32, 255, 256, 1000])
    expect_prefix(talk, talk.requests.batch_read(ledger, 0, 100, PLENTY), bodies)
    expect_prefix(talk, talk.requests.batch_read(ledger, 4, 100, PLENTY), bodies[4:])


@case(
    "BKW-BATCH-012",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads of ten entries with the counts 1 to 12 and room for all.",
    accepts="At most that many entries, and all there are at most; fewer, but one, are tolerated.",
    since=SINCE,
    needs=NEEDS,
    provenance="BP-62",
)
def no_more_entries_than_the_count(talk: Talk) -> None:
    """A bookie MUST NOT return more entries than the max count."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41] * 10)
    for count in range(1, 13):
        expect_prefix(talk, talk.requests.batch_read(ledger, 0, count, PLENTY), bodies[:count])


@case(
    "BKW-BATCH-013",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads of ten entries with the counts 0, -1, -5 and -2^31.",
    accepts="EOK with the entries from the first on; fewer than all are tolerated.",
    since=SINCE,
    needs=NEEDS,
    provenance="BP-62, BK#4641, D8",
)
def a_count_of_0_or_less_is_no_limit(talk: Talk) -> None:
    """A max count of 0 or less MUST be taken for no limit: neither an error nor an empty reply, and the connection
    remains."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41] * 10)
    for count in (0, -1, -5, -_INT_MAX - 1):
        expect_prefix(talk, talk.requests.batch_read(ledger, 0, count, 1000), bodies)


@case(
    "BKW-BATCH-014",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads of count 2^31 - 1 from the first and from the last of three entries.",
    accepts="The entries from there on.",
    since=SINCE,
    needs=NEEDS,
    provenance="D8",
)
def the_largest_count_costs_nothing(talk: Talk) -> None:
    """A max count of 2^31 - 1 MUST be served as any other: a bookie must not take it for what it has to allocate, nor
    let start + count overflow."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41] * 3)
    for start in (0, 2):
        expect_prefix(talk, talk.requests.batch_read(ledger, start, _INT_MAX, PLENTY), bodies[start:])


@case(
    "BKW-BATCH-015",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads of ten entries of 41 bytes with sizes at, one below and one above 36 + n · (4 + 41).",
    accepts="At most as many entries as fit, where equal is allowed and the 36 bytes count; fewer are tolerated.",
    since=SINCE,
    needs=NEEDS,
    limit_s=20.0,
    provenance="BP-62, D11, the source of Java 4.17 and 4.18",
)
def the_sum_of_sizes_does_not_pass_the_max_size(talk: Talk) -> None:
    """A reply counts 36 bytes, and each entry 4 more than its size; behind the first entry this sum MUST NOT pass the
    max size. Equal is allowed."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41] * 10)
    for number in (1, 2, 3, 10):
        exact = needed_size(bodies[:number])
        for size in (exact - 1, exact, exact + 1, exact + 44):
            expect_prefix(talk, talk.requests.batch_read(ledger, 0, 100, size), longest_prefix(bodies, 100, size))


@case(
    "BKW-BATCH-016",
    MUST,
    "sec-batch-read-budget",
    sends="Twenty batch reads with random starts, counts and sizes, of entries of random sizes.",
    accepts="A prefix of what count and size allow, of one entry at least.",
    since=SINCE,
    needs=NEEDS,
    limit_s=20.0,
    provenance="BP-62, D11",
)
def both_limits_hold_for_entries_of_mixed_sizes(talk: Talk) -> None:
    """Whatever the sizes of the entries, a reply MUST keep to both limits, with one entry at least."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [talk.random.choice((32, 40, 100, 1000, 5000)) for _ in range(24)])
    for _ in range(20):
        start, count = talk.random.randrange(24), talk.random.randrange(0, 26)
        size = talk.random.choice((needed_size(bodies[start : start + 3]), talk.random.randrange(20_000)))
        frame = talk.requests.batch_read(ledger, start, count, size)
        expect_prefix(talk, frame, longest_prefix(bodies[start:], count, size))


@case(
    "BKW-BATCH-017",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads with the max sizes 0, -1, -36 and -2^63, of ten entries.",
    accepts="EOK with the first entry alone.",
    since=SINCE,
    needs=NEEDS,
    provenance="BP-62, the source of Java 4.17 and 4.18",
)
def a_size_of_0_or_less_leaves_room_for_one_entry(talk: Talk) -> None:
    """A max size of 0 or less is no \"no limit\": the reply MUST bring exactly the first entry."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41] * 10)
    for size in (0, -1, -HEAD_SIZE, -_LONG_MAX - 1):
        for count in (0, 10):
            talk.expect(talk.requests.batch_read(ledger, 0, count, size), EOK, entries=(bodies[0],))


@case(
    "BKW-BATCH-018",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads with the max sizes 1, 40, 1000 and 1039 of an entry of 1000 bytes with others behind it.",
    accepts="EOK with that entry alone, whole.",
    since=SINCE,
    needs=NEEDS,
    provenance="BP-62, D11",
)
def the_first_entry_comes_whatever_its_size(talk: Talk) -> None:
    """The first entry MUST be returned even if it passes the max size; else a client could not go on."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [1000, 32, 32])
    for size in (1, 40, 1000, needed_size(bodies[:1]) - 1):
        talk.expect(talk.requests.batch_read(ledger, 0, 3, size), EOK, entries=(bodies[0],))


@case(
    "BKW-BATCH-019",
    SHOULD,
    "sec-batch-read-budget",
    sends="A batch read of max size 5000, of an entry of 1000 bytes and fifty of 100 behind it.",
    accepts="39 entries; from 1 to 38 are a pass that is not strict.",
    since=SINCE,
    needs=NEEDS,
    provenance="BK#4741, D11",
)
def a_large_first_entry_does_not_shorten_the_batch(talk: Talk) -> None:
    """The size of each entry counts, not that of the first: a bookie SHOULD return all that have room. (Java 4.18
    predicts the count from the size of the first entry.)"""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [1000] + [100] * 50)
    for count in (100, 20):
        expect_prefix(talk, talk.requests.batch_read(ledger, 0, count, 5000), longest_prefix(bodies, count, 5000))


@case(
    "BKW-BATCH-020",
    MUST,
    "sec-batch-read-budget",
    sends="A batch read of max size 5000, of an entry of 100 bytes and ten of 1000 behind it.",
    accepts="At most 5 entries: 36 + 104 + 4 · 1004 bytes.",
    since=SINCE,
    needs=NEEDS,
    provenance="BK#4741, D11",
)
def a_small_first_entry_does_not_lengthen_the_batch(talk: Talk) -> None:
    """A bookie that predicts from the first entry how many will fit MUST keep to the max size all the same."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [100] + [1000] * 10)
    expect_prefix(talk, talk.requests.batch_read(ledger, 0, 100, 5000), longest_prefix(bodies, 100, 5000))


@case(
    "BKW-BATCH-021",
    MUST,
    "sec-batch-read-budget",
    sends="Batch reads with the max sizes 10^9 and 2^63 - 1, of seven entries of 1 000 000 bytes.",
    accepts="Between one and five entries: the frame, its length included, has at most 5 242 880 bytes.",
    since=SINCE,
    needs=NEEDS,
    limit_s=20.0,
    provenance="BP-62, the source of Java 4.17 and 4.18",
)
def a_reply_of_several_entries_keeps_to_the_frame_limit(talk: Talk) -> None:
    """Whatever the max size, a reply of more than one entry MUST NOT be larger than the frame limit, over which clients
    close the connection."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [1_000_000] * 7)
    for max_size in (10**9, _LONG_MAX):
        reply = expect_prefix(
            talk, talk.requests.batch_read(ledger, 0, 7, max_size), longest_prefix(bodies, 7, FRAME_SIZE_MAX)
        )
        size = len(reply.raw) + FRAME_LENGTH_SIZE
        talk.check_that(size <= FRAME_SIZE_MAX, "bytes of the frame", f"at most {FRAME_SIZE_MAX}", size)


@case(
    "BKW-BATCH-022",
    MUST,
    "sec-batch-read-budget",
    sends="An add of the largest frame that is allowed, and a batch read of that entry with another one behind it.",
    accepts="EOK with that entry alone, in a frame that passes the limit by at most 36 bytes. V3: EBADREQ without"
    " entries too, if a single read brings it.",
    since=SINCE,
    needs=NEEDS,
    provenance="D11, the source of Java 4.17 and 4.18",
)
def the_largest_entry_comes_in_a_batch_too(talk: Talk) -> None:
    """An entry that could be added MUST come in a batch by itself, even where the reply then is larger than the frame
    limit by its header. Only in V3 it MAY be refused instead, with EBADREQ: a single read brings it."""
    ledger, small = talk.new_ledger(), 200
    overhead = len(talk.requests.add(ledger, 0, body=bytes(small))) - small
    size = FRAME_SIZE_MAX - FRAME_LENGTH_SIZE - overhead
    if talk.dialect is V3:
        size -= 2 * _V3_LENGTH_GROWTH
    bodies = store_run(talk, ledger, [size, 41])
    reply = talk.ask(talk.requests.batch_read(ledger, 0, 2, _LONG_MAX))
    if talk.dialect is V3 and reply.status is EBADREQ:
        talk.check_reply(reply, EBADREQ, entries=())
        talk.expect(talk.requests.read(ledger, 0), EOK, body=bodies[0])
        return
    talk.check_reply(reply, EOK, entries=(bodies[0],))
    size = len(reply.raw) + FRAME_LENGTH_SIZE
    talk.check_that(size <= FRAME_SIZE_MAX + HEAD_SIZE, "bytes of the frame", "the limit and a header at most", size)
