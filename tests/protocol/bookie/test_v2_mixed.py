"""V2 adds and reads of alternating ledgers: nothing is lost between runs of one ledger and requests of many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol.bookie import v2, v2_mixed
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Flag, Operation
from tests.protocol.bookie.v2_frames import ADD, KEY, add_frame, ids, read_frame

Added = tuple[int, int, bytes, bytes]


def added(request: v2.AddRequests | v2_mixed.MixedAddRequests) -> list[Added]:
    """Return ledger id, entry id, key and entry of each add."""
    if isinstance(request, v2_mixed.MixedAddRequests):
        return [(ledger_id, entry_id, key, record[4:]) for ledger_id, entry_id, _, key, record in request.adds]
    run = request.entries
    assert run.size == len(run.buffer)
    return [(run.ledger_id, run.first_entry_id + i, request.master_key, entry) for i, entry in enumerate(run)]


def asked(request: v2.ReadRequests | v2_mixed.MixedReadRequests) -> list[tuple[int, int]]:
    if isinstance(request, v2_mixed.MixedReadRequests):
        return list(request.reads)
    return [(request.ledger_id, entry_id) for entry_id in request.entry_ids]


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),
            st.sampled_from([1, 1, 1, 2]),
            st.sampled_from([b"", b"x" * 20, b"x" * 20, b"y" * 21]),
            st.booleans(),
            st.sampled_from([ADD, ADD, ADD, ADD, ADD | Flag.RECOVERY_ADD]),
            st.integers(1, 12),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_requests_hold_every_add_in_order(steps: list[tuple[int, int, bytes, bool, int, int]]) -> None:
    """On each path of the reader the entries are those that were sent, with their keys and flags."""
    sent: list[tuple[Added, bool]] = []
    stream, entry_id = b"", 0
    for ledger_id, step, rest, other_key, header, count in steps:
        key = bytes(20) if other_key else KEY
        for _ in range(count):
            entry_id += step
            sent.append(((ledger_id, entry_id, key, ids(ledger_id, entry_id) + rest), header != ADD))
            stream += add_frame(ledger_id, entry_id, rest, key, header)
    got: list[tuple[Added, bool]] = []
    position = 0
    while position < len(stream):
        request, position = v2_mixed.read_adds(stream, position, len(stream))
        got += [(each, request.recovery) for each in added(request)]
    assert got == sent


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(-2, 5), st.integers(1, 12)), min_size=1, max_size=20))
def test_requests_hold_every_read_in_order(steps: list[tuple[int, int, int]]) -> None:
    requests = [(ledger_id, entry_id + i) for ledger_id, entry_id, count in steps for i in range(count)]
    stream = b"".join(read_frame(ledger_id, entry_id) for ledger_id, entry_id in requests)
    got, position = [], 0
    while position < len(stream):
        request, position = v2_mixed.read_reads(stream, position, len(stream), position + 24)
        got += asked(request)
    assert got == requests


def alternating(count: int, rest: bytes = b"z" * 20) -> bytes:
    return b"".join(add_frame(i % 3, i // 3, rest + bytes(i % 2)) for i in range(count))


def test_adds_of_alternating_ledgers_are_one_request() -> None:
    stream = alternating(60)
    request, position = v2_mixed.read_adds(stream, 0, len(stream))
    assert isinstance(request, v2_mixed.MixedAddRequests)
    assert (len(request.adds), position) == (60, len(stream))
    ledger_id, entry_id, last_add_confirmed, key, record = request.adds[4]
    assert (ledger_id, entry_id, last_add_confirmed, key) == (1, 1, int.from_bytes(b"z" * 8, "big"), KEY)
    assert record == (36).to_bytes(4, "big") + ids(1, 1) + b"z" * 20


@pytest.mark.parametrize("indexes", [range(6), [0, 2, 5], [3]])
def test_replies_echo_the_ids_of_their_adds(indexes: list[int]) -> None:
    stream = alternating(6)
    request, _ = v2_mixed.read_adds(stream, 0, len(stream))
    assert isinstance(request, v2_mixed.MixedAddRequests)
    head = (24).to_bytes(4, "big") + ADD.to_bytes(4, "big") + (101).to_bytes(4, "big")
    assert request.replies(indexes, statuses.EIO) == b"".join(head + ids(i % 3, i // 3) for i in indexes)


def test_a_run_of_one_ledger_ends_what_is_mixed() -> None:
    mixed = alternating(10)
    stream = mixed + b"".join(add_frame(9, i, b"w" * 16) for i in range(20))
    first, position = v2_mixed.read_adds(stream, 0, len(stream))
    second, end = v2_mixed.read_adds(stream, position, len(stream))
    assert (len(added(first)), position, end) == (10, len(mixed), len(stream))
    assert isinstance(second, v2.AddRequests)


@pytest.mark.parametrize(
    "refused",
    [
        add_frame(5, -1, b"z" * 20),
        add_frame(5, 1, b"z" * 7),
        add_frame(5, 1, b"z" * 20, header=ADD | Flag.HIGH_PRIORITY),
    ],
)
def test_an_add_of_another_kind_stands_alone(refused: bytes) -> None:
    mixed = alternating(4)
    stream = mixed + refused + mixed
    _, position = v2_mixed.read_adds(stream, 0, len(stream))
    assert position == len(mixed)
    alone, position = v2_mixed.read_adds(stream, position, len(stream))
    assert isinstance(alone, v2.AddRequests)
    assert (alone.entries.count, position) == (1, len(mixed) + len(refused))


def test_an_incomplete_frame_ends_what_is_mixed() -> None:
    stream = alternating(5)[:-1]
    request, position = v2_mixed.read_adds(stream, 0, len(stream))
    assert (len(added(request)), position) == (4, len(alternating(4)))


@pytest.mark.parametrize("before", [1, 2, 15, 16, 17, 79, 80, 81, 200])
@pytest.mark.parametrize("count", [7, 8, 9, 100])
def test_a_run_of_reads_of_one_ledger_ends_what_is_mixed(before: int, count: int) -> None:
    reads = [(each % 7, each) for each in range(before)] + [(9, each) for each in range(count)]
    stream = b"".join(read_frame(*each) for each in [*reads, (1, 0)])
    request, position = v2_mixed.read_reads(stream, 0, len(stream), 24)
    assert isinstance(request, v2_mixed.MixedReadRequests)
    assert asked(request) == (reads[:before] if count >= 8 else [*reads, (1, 0)])
    assert position == 24 * len(request.reads)


def test_fencing_reads_are_never_mixed() -> None:
    version_1 = framing.join_header(1, Operation.READ_ENTRY, Flag.FENCING)
    stream = b"".join(read_frame(i % 2, i, header=version_1) for i in range(6))
    request, position = v2_mixed.read_reads(stream, 0, len(stream), 24)
    assert isinstance(request, v2.ReadRequests)
    assert (request.fencing, position) == (True, 24)


def test_reads_of_alternating_ledgers_are_one_request() -> None:
    stream = b"".join(read_frame(i % 2, i) for i in range(6))
    request, position = v2_mixed.read_reads(stream, 0, len(stream), 24)
    assert isinstance(request, v2_mixed.MixedReadRequests)
    assert position == len(stream)
    replies = b"".join(bytes(part) for part in request.replies([1, 4], [b"one", b"four"], [0, 0]))
    each = [request.part(index).replies([entry], 0) for index, entry in ((1, b"one"), (4, b"four"))]
    assert replies == b"".join(bytes(part) for parts in each for part in parts)
    assert asked(request.rest(4)) == [(0, 4), (1, 5)]
