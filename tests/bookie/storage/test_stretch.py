from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.stretch import checked_offsets
from tests.bookie.seams import SCOPED, entry, run_of

FIRST = (5 << 32) + 1028


def locations_of(offsets: list[int], first: int = FIRST) -> "array[int]":
    return array("Q", [first + offset for offset in offsets])


def simple_offsets(ledger_id: int, entry_id: int, locations: "array[int]", data: bytes) -> list[int]:
    """Find the offsets in the simplest way."""
    offsets = [0]
    ids = entry(0, 40, ledger_id)[: 25 if ledger_id == SCOPED else 16]
    for location in locations:
        start = location - locations[0]
        if start != offsets[-1] or not 0 <= start <= len(data) - 4 - len(ids):
            break
        length = int.from_bytes(data[start : start + 4], "big", signed=True)
        end = start + 4 + length
        wanted = ids[:-8] + entry_id.to_bytes(8, "big")
        if data[start + 4 : start + 4 + len(ids)] != wanted or length < len(ids) or end > len(data):
            break
        offsets.append(end)
        entry_id += 1
    return offsets


sizes_of_records = st.one_of(
    st.lists(st.integers(33, 90), min_size=1, max_size=40),
    st.builds(lambda size, count: [size] * count, st.integers(33, 90), st.integers(1, 40)),
    st.builds(lambda size, count, last: [size] * count + [last], *[st.integers(33, 49)] * 3),
)
every_format = pytest.mark.parametrize("ledger", [7, SCOPED], ids=["V1", "V2"])


@every_format
@given(sizes=sizes_of_records, first=st.integers(0, 2**40), data=st.data())
def test_the_run_is_what_a_loop_finds(ledger: int, sizes: list[int], first: int, data: st.DataObject) -> None:
    run = run_of(first, *sizes, ledger_id=ledger)
    locations = locations_of(list(run.offsets[:-1]))
    records = bytearray(run.buffer)
    for _ in range(data.draw(st.integers(0, 1))):
        at = data.draw(st.sampled_from(range(4 + sizes[0], len(records)))) if len(sizes) > 1 else 0
        records[at] ^= data.draw(st.integers(1, 255)) if at else 0
    for _ in range(data.draw(st.integers(0, 1))):
        at = data.draw(st.integers(0, len(locations) - 1))
        if at:
            locations[at] = data.draw(st.one_of(st.integers(0, 2**64 - 1), st.just(0), st.just(locations[at] + 7)))
    cut = data.draw(st.integers(4 + sizes[0], len(records)))
    piece = bytes(records[:cut]) + data.draw(st.binary(max_size=30))
    found = checked_offsets(ledger, first, locations, piece, 4 + sizes[0])
    assert list(found) == simple_offsets(ledger, first, locations, piece)


@pytest.mark.parametrize("sizes", [[60] * 1024, [40 + at % 7 for at in range(1024)]], ids=["one size", "many sizes"])
@every_format
def test_a_whole_page_is_one_run(ledger: int, sizes: list[int]) -> None:
    run = run_of(2048, *sizes, ledger_id=ledger)
    found = checked_offsets(ledger, 2048, locations_of(list(run.offsets[:-1])), run.buffer, 4 + sizes[0])
    assert list(found) == list(run.offsets)
    assert isinstance(found, range) == (len(set(sizes)) == 1)


@pytest.mark.parametrize("sizes", [[60] * 20, [40 + at % 7 for at in range(20)]], ids=["one size", "many sizes"])
@pytest.mark.parametrize(("ledger", "at"), [(7, at) for at in range(20)] + [(SCOPED, at) for at in range(29)])
def test_every_byte_of_every_head_counts(sizes: list[int], ledger: int, at: int) -> None:
    run = run_of(0, *sizes, ledger_id=ledger)
    locations = locations_of(list(run.offsets[:-1]))
    for wrong in range(1, 20):
        records = bytearray(run.buffer)
        records[run.offsets[wrong] + at] ^= 1
        found = list(checked_offsets(ledger, 0, locations, bytes(records), 4 + sizes[0]))
        # A length may be wrong and the record still complete: then the next record is not at its location.
        last_wrong = at < 4 and len(found) == wrong + 2 and found.pop() != run.offsets[wrong + 1]
        assert found == list(run.offsets[: wrong + 1]), last_wrong


def test_a_gap_ends_the_run() -> None:
    run = run_of(0, *[60] * 20)
    locations = locations_of([offset + 100 * (at >= 12) for at, offset in enumerate(run.offsets[:-1])])
    data = run.buffer[: run.offsets[12]] + bytes(100) + run.buffer[run.offsets[12] :]
    found = checked_offsets(7, 0, locations, data, 64)
    assert list(found) == list(run.offsets[:13])
    assert {end - start for start, end in pairwise(found)} == {64}
