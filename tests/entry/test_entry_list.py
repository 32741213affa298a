"""The list of entries: grouped as far as it can be, right for any set, safe with any bytes."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry import entry_list
from bookkeeper_tx.entry.entry_list import GROUP, HEADER, EntryList, Group, encode, encode_ranges
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields, vectors
from protocol_specs.codecs import Malformed
from protocol_specs.wire import entry_list as spec

PUBLISHED_BEST_CASE = [1, 2, 4, 5, 7, 8, 10, 11]

sparse = st.sets(st.integers(0, 300))
dense = st.builds(lambda lost: set(range(200)) - lost, st.sets(st.integers(0, 199), max_size=20))
far_apart = st.sets(st.one_of(st.integers(0, 50), st.integers(2**31 - 3, 2**31 + 3), st.integers(2**62, 2**63 - 1)))


@st.composite
def stripes(draw: st.DrawFn) -> set[int]:
    """The entries of one bookie of an ensemble, without those that it has lost."""
    ensemble_size = draw(st.integers(1, 7))
    quorum = Quorum(ensemble_size, draw(st.integers(1, ensemble_size)), 1)
    index = draw(st.integers(0, ensemble_size - 1))
    held = {entry_id for entry_id in range(draw(st.integers(0, 120))) if index in quorum.write_set(entry_id)}
    return held - draw(st.sets(st.integers(0, 119), max_size=3))


entry_sets = st.one_of(sparse, dense, far_apart, stripes())


def listed(*groups: tuple[int, int, int, int], version: int = 0, count: int | None = None) -> bytes:
    """Bytes of a list with these groups, right or wrong."""
    head = HEADER.pack_fixed(version, len(groups) if count is None else count, bytes(spec.RESERVED_SIZE))
    return head + b"".join(GROUP.pack_fixed(*group) for group in groups)


@given(entry_sets)
def test_what_is_encoded_is_decoded(entry_ids: set[int]) -> None:
    found = EntryList.decode(encode(entry_ids))
    assert list(found) == sorted(entry_ids)
    assert len(found) == len(entry_ids)
    assert found == EntryList.decode(encode(sorted(entry_ids)))


@given(entry_sets, st.lists(st.one_of(st.integers(-3, 310), st.integers(2**31 - 5, 2**31 + 5), st.integers())))
def test_missing_and_in_are_those_of_the_set(entry_ids: set[int], asked: list[int]) -> None:
    found = EntryList.decode(encode(entry_ids))
    asked += sorted(entry_ids)
    assert found.missing(asked) == [entry_id for entry_id in asked if entry_id not in entry_ids]
    assert [entry_id in found for entry_id in asked] == [entry_id in entry_ids for entry_id in asked]
    assert found.missing(range(320)) == sorted(set(range(320)) - entry_ids)


@given(entry_sets)
def test_the_form_without_groups_says_the_same(entry_ids: set[int]) -> None:
    """As Java's encoder: every sequence is a group."""
    sequences = EntryList.decode(encode(entry_ids)).ranges()
    ungrouped = EntryList.decode(listed(*((each.start, each.start, len(each), 0) for each in sequences)))
    assert list(ungrouped) == sorted(entry_ids)
    assert ungrouped.missing(range(320)) == sorted(set(range(320)) - entry_ids)


@given(entry_sets)
def test_groups_keep_apart_as_readers_need_it(entry_ids: set[int]) -> None:
    everything = EntryList.decode(encode(entry_ids)).groups
    groups = [group for group in everything if group.size]
    assert all(before.end < after.first for before, after in itertools.pairwise(groups))
    assert all(group.period > group.size for group in everything if group.period)
    runs = sum(entry_id - 1 not in entry_ids for entry_id in entry_ids)
    assert len(groups) <= runs


@given(entry_sets)
def test_no_hole_of_two_ids_is_left_to_java(entry_ids: set[int]) -> None:
    """Java's ``getUnavailableEntries`` looks at one id after the end of a group, and never at the next group."""
    groups = EntryList.decode(encode(entry_ids)).groups
    assert all(after.first - before.end <= 1 for before, after in itertools.pairwise(groups))
    assert all(entry_id not in group.sequences() for group in groups if not group.size for entry_id in entry_ids)


def test_holes_are_not_marked_in_a_list_that_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_list, "HOLES_MARKED_MAX", 2)
    assert encode([0, 5, 6]) == listed((0, 0, 1, 0), (1, 4, 0, 1), (5, 5, 2, 0))
    assert encode([0, 5, 6, 20]) == listed((0, 0, 1, 0), (5, 5, 2, 0), (20, 20, 1, 0))


@given(st.data())
def test_ranges_say_the_same_as_their_entries(data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, 100), max_size=12)))
    ranges = [range(start, stop) for start, stop in zip(cuts[::2], cuts[1::2], strict=False)]
    assert encode_ranges(ranges) == encode(itertools.chain.from_iterable(ranges))


@pytest.mark.parametrize(
    ("entry_ids", "groups"),
    [
        ([], []),
        ([0], [(0, 0, 1, 0)]),
        (range(1_000_000), [(0, 0, 1_000_000, 0)]),
        (PUBLISHED_BEST_CASE, [(1, 10, 2, 3)]),
        ([0, 2, 4, 6], [(0, 6, 1, 2)]),
        ([0, 2, 4, 6, 7], [(0, 4, 1, 2), (6, 6, 2, 0)]),
        ([0, 5, 7, 9, 11], [(0, 5, 1, 5), (7, 11, 1, 2)]),
        ([3, 3, 1, 2, 1], [(1, 1, 3, 0)]),
        ([0, 2, 3, 9], [(0, 0, 1, 0), (2, 2, 2, 0), (4, 8, 0, 1), (9, 9, 1, 0)]),
    ],
)
def test_groups(entry_ids: list[int], groups: list[tuple[int, int, int, int]]) -> None:
    assert encode(entry_ids) == listed(*groups)


@pytest.mark.parametrize("ensemble_size", range(2, 8))
def test_a_stripe_takes_a_handful_of_groups_however_long(ensemble_size: int) -> None:
    for write_quorum_size in range(1, ensemble_size):
        quorum = Quorum(ensemble_size, write_quorum_size, 1)
        for index in range(ensemble_size):
            held = [entry_id for entry_id in range(6000) if index in quorum.write_set(entry_id)]
            found = EntryList.decode(encode(held))
            # One group more, after a hole, for each sequence that the ledger's start or end cuts short.
            assert len(found.groups) <= 5
            assert found.missing(held) == []
            assert found.missing([*held[:10], 6000, 6001, *held[10:]]) == [6000, 6001]


def test_sequences_and_periods_beyond_32_bits_are_split() -> None:
    most = spec.SEQUENCE_SIZE_MAX
    pieces = [(5, most), (5 + most, most), (5 + 2 * most, 3)]
    assert encode_ranges([range(5, 2 * most + 8)]) == listed(*((start, start, size, 0) for start, size in pieces))
    assert encode([0, most + 1]) == listed((0, 0, 1, 0), (1, most, 0, 1), (most + 1, most + 1, 1, 0))
    assert encode([0, most]) == listed((0, most, 1, most))
    assert len(EntryList.decode(encode_ranges([range(5 * most)]))) == 5 * most


def test_ranges_that_touch_are_one_sequence() -> None:
    assert encode_ranges([range(3), range(3, 5), range(9, 9), range(9, 11)]) == encode([0, 1, 2, 3, 4, 9, 10])


@pytest.mark.parametrize(
    "ranges",
    [[range(5), range(4, 6)], [range(5, 6), range(2)], [range(-1, 2)], [range(0, 4, 2)], [range(2**63, 2**63 + 1)]],
)
def test_ranges_in_no_order_are_refused(ranges: list[range]) -> None:
    with pytest.raises(ValueError, match="range"):
        encode_ranges(ranges)


@pytest.mark.parametrize("entry_id", [-1, -2, fields.ENTRY_ID_MAX + 1])
def test_what_is_no_entry_is_not_listed(entry_id: int) -> None:
    with pytest.raises(ValueError, match="entries"):
        encode([1, entry_id])


def test_any_width_of_claim_costs_nothing() -> None:
    found = EntryList.decode(listed((0, 2**63 - 2, 1, 2)))
    assert len(found) == 2**62
    assert found.missing([0, 1, 2, 2**63 - 2, 2**63 - 1]) == [1, 2**63 - 1]
    assert list(itertools.islice(found, 3)) == [0, 2, 4]
    assert list(itertools.islice(found.ranges(), 2)) == [range(1), range(2, 3)]
    assert "2" not in found


def test_holes_that_are_marked_list_nothing() -> None:
    found = EntryList.decode(listed((0, 2**62, 0, 1), (2**62 + 1, 2**62 + 1, 2, 0), (2**62 + 9, 2**62 + 9, 0, 0)))
    assert list(found) == [2**62 + 1, 2**62 + 2]
    assert len(found) == 2
    assert 5 not in found
    assert found.missing([0, 5, 2**62, 2**62 + 1, 2**62 + 9]) == [0, 5, 2**62, 2**62 + 9]


def test_bytes_behind_the_groups_and_in_the_header_are_ignored() -> None:
    data = listed((1, 10, 2, 3))
    assert list(EntryList.decode(data + b"whatever")) == PUBLISHED_BEST_CASE
    assert list(EntryList.decode(memoryview(data[:8] + b"x" * 56 + data[64:]))) == PUBLISHED_BEST_CASE


MALFORMED = {
    "empty": (b"", "version", 0),
    "header cut short": (listed()[:63], "reserved", 63),
    "version 1": (listed(version=1), "version", 0),
    "version -1": (listed(version=-1), "version", 0),
    "negative count": (listed((0, 0, 1, 0), count=-1), "group_count", 4),
    "more groups than bytes": (listed((0, 0, 1, 0), count=2), "group_count", 4),
    "huge count": (listed((0, 0, 1, 0), count=2**31 - 1), "group_count", 4),
    "last group cut short": (listed((0, 0, 1, 0))[:-1], "group_count", 4),
    "negative id": (listed((-1, 3, 1, 2)), "first_sequence_start", 64),
    "one hole twice": (listed((0, 0, 0, 0), (0, 0, 1, 0)), "first_sequence_start", 88),
    "negative size": (listed((0, 0, -1, 0)), "sequence_size", 80),
    "last before first": (listed((9, 1, 1, 2)), "last_sequence_start", 72),
    "several without a period": (listed((0, 4, 1, 0)), "sequence_period", 84),
    "negative period": (listed((0, 4, 1, -2)), "sequence_period", 84),
    "sequences that touch": (listed((0, 4, 2, 2)), "sequence_period", 84),
    "period that does not lead there": (listed((0, 5, 1, 2)), "last_sequence_start", 72),
    "ids past the last one": (listed((2**63 - 1, 2**63 - 1, 2, 0)), "last_sequence_start", 72),
    "out of order": (listed((5, 5, 1, 0), (1, 1, 1, 0)), "first_sequence_start", 88),
    "overlapping": (listed((0, 8, 1, 2), (8, 8, 1, 0)), "first_sequence_start", 88),
    "twice": (listed((5, 5, 1, 0), (5, 5, 1, 0)), "first_sequence_start", 88),
}


@pytest.mark.parametrize(("data", "field", "offset"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_lists_are_refused(data: bytes, field: str, offset: int) -> None:
    with pytest.raises(Malformed) as caught:
        EntryList.decode(data)
    assert (caught.value.field, caught.value.offset) == (field, offset)


starts = st.one_of(st.integers(-2, 9), st.integers(-(2**63), 2**63 - 1))


@given(
    st.lists(st.tuples(starts, starts, st.integers(-2, 9), st.integers(-2, 9))),
    st.integers(-1, 3),
)
def test_any_bytes_are_a_list_or_malformed(groups: list[tuple[int, int, int, int]], more: int) -> None:
    try:
        found = EntryList.decode(listed(*groups, count=len(groups) + more))
    except Malformed:
        return
    assert found.groups == tuple(Group(*group) for group in groups[: len(groups) + more])
    few = list(itertools.islice(found, 50))
    assert few == sorted(set(few))
    assert all(entry_id in found for entry_id in few)
    assert len(found) >= len(few)


def _java_lists() -> list[tuple[str, bytes]]:
    return [
        (vector["name"].removeprefix("v3 LIST "), bytes.fromhex(reply["availability_of_entries_of_ledger"]))
        for vector in vectors.load("wire")
        if (reply := vector.get("reply_fields", {}).get("get_list_of_entries_of_ledger_response", {})).get(
            "availability_of_entries_of_ledger"
        )
        and re.fullmatch("v3 LIST [0-9,]+", vector["name"])
    ]


@pytest.mark.parametrize(("name", "data"), _java_lists(), ids=[name for name, _ in _java_lists()])
def test_lists_captured_from_java(name: str, data: bytes) -> None:
    entry_ids = [int(text) for text in name.split(",")]
    assert list(EntryList.decode(data)) == entry_ids
    assert len(encode(entry_ids)) <= len(data)
