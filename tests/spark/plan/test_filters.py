"""The entries that filters leave of a ledger, compared with a plain evaluation of the filters."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.plan import filters
from bookkeeper_tx.spark.plan.filters import EntryFilter, push

LEDGER, ENTRY = ("ledger_id",), ("entry_id",)

MEANING: dict[type[Filter], Callable[[int, Any], bool]] = {
    EqualTo: lambda id_, value: id_ == value,
    In: lambda id_, value: id_ in value,
    GreaterThan: lambda id_, value: id_ > value,
    GreaterThanOrEqual: lambda id_, value: id_ >= value,
    LessThan: lambda id_, value: id_ < value,
    LessThanOrEqual: lambda id_, value: id_ <= value,
}

ids = st.integers(-3, 13)
lists = st.lists(ids | st.none(), max_size=5).map(tuple)
pushable = st.one_of(
    st.builds(In, st.sampled_from([LEDGER, ENTRY]), lists),
    *(st.builds(kind, st.sampled_from([LEDGER, ENTRY]), ids) for kind in MEANING if kind is not In),
)


def ids_of(found: EntryFilter, ledgers: range, last: int) -> set[tuple[int, int]]:
    spans = [(ledger, span) for ledger in ledgers for span in found.spans(ledger, 0, last)]
    listed = [(ledger, entry) for ledger, (low, high) in spans for entry in range(low, high + 1)]
    assert len(set(listed)) == len(listed)
    assert listed == sorted(listed)
    return set(listed)


@given(st.lists(pushable, max_size=4))
def test_what_is_read_is_what_the_filters_say(pushed: list[Any]) -> None:
    found, rest = push(pushed)
    assert rest == []
    expected = {
        (ledger, entry)
        for ledger in range(10)
        for entry in range(11)
        if all(MEANING[type(each)](ledger if each.attribute == LEDGER else entry, each.value) for each in pushed)
    }
    assert ids_of(found, range(10), 10) == expected


@pytest.mark.parametrize(
    "other",
    [
        EqualTo(("payload",), b"x"),
        EqualTo(("a", "ledger_id"), 1),
        EqualTo(LEDGER, 1.5),
        EqualTo(LEDGER, True),
        EqualTo(LEDGER, None),
        In(ENTRY, (1, "x")),
        IsNotNull(LEDGER),
        Not(EqualTo(LEDGER, 1)),
    ],
    ids=str,
)
def test_everything_else_is_left_to_spark(other: Filter) -> None:
    equal = EqualTo(LEDGER, 3)
    found, rest = push([other, equal])
    assert [id(each) for each in rest] == [id(other)]
    assert ids_of(found, range(5), 1) == {(3, 0), (3, 1)}


def test_a_long_list_is_cut_by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "IDS_MAX", 3)
    wanted = In(ENTRY, (2, 4, 6, 8))
    found, rest = push([wanted])
    assert rest == [wanted]
    assert list(found.spans(0, 0, 100)) == [(2, 8)]


def test_a_ledger_of_a_scope_goes_by_its_lower_half() -> None:
    found, _ = push([EqualTo(LEDGER, -5)])
    assert found.has_ledger(LedgerId(-5, 12))
    assert not found.has_ledger(LedgerId(5, 12))
