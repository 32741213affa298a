"""Entries of ledgers, chosen by the option ``entries``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.options.entry_ranges import EntryRanges, parse_entry_ranges

SPANS = st.lists(
    st.tuples(st.sampled_from([0, 7, LedgerId(7, 3)]), st.integers(0, 60), st.integers(0, 9)).map(
        lambda each: (each[0], each[1], each[1] + each[2])
    ),
    min_size=1,
)


@given(SPANS, st.integers(0, 60), st.integers(0, 60))
def test_what_is_cut_out_is_what_was_put_in(spans: list[tuple[int, int, int]], first: int, last: int) -> None:
    ranges = parse_entry_ranges(str(EntryRanges.of(spans)))
    for ledger in {each[0] for each in spans}:
        wanted = {entry for each, low, high in spans if each == ledger for entry in range(low, high + 1)}
        found = [entry for low, high in ranges.cut(ledger, first, last) for entry in range(low, high + 1)]
        assert found == sorted(wanted & set(range(first, last + 1)))


def test_of_a_ledger_that_is_not_named_all_is_looked_at() -> None:
    assert list(EntryRanges.of([(7, 1, 2)]).cut(8, 0, 9)) == [(0, 9)]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("7", "must be an object"),
        ("{}", "must be an object"),
        ('{"7": 5}', "must be an object"),
        ('{"7": "0-9", "7": "1"}', "named twice"),
        ('{"x": "0-9"}', "'x' is no ledger id"),
        ('{"7": "9-0"}', "ends before it begins"),
        ('{"7": "a"}', "'a' is no id"),
        ("{", "no JSON"),
    ],
)
def test_what_makes_no_sense_is_said(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse_entry_ranges(text)
