"""Filters on ledger and entry ids that decide which entries are read at all."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from attrs import evolve, field, frozen
from pyspark.sql import datasource

from bookkeeper_tx.model import LedgerId

MIN, MAX = -(2**63), 2**63 - 1

IDS_MAX = 10_000
"""A longer list of ids only says where to begin and where to end; Spark filters the rest."""


@frozen
class IdFilter:
    """The wanted ids: those from ``low`` to ``high``, and if ``only`` is given, only those of them in it."""

    low: int = MIN
    high: int = MAX
    only: frozenset[int] | None = field(default=None)

    def and_from(self, low: int) -> "IdFilter":
        return evolve(self, low=max(self.low, low))

    def and_to(self, high: int) -> "IdFilter":
        return evolve(self, high=min(self.high, high))

    def and_in(self, ids: Iterable[int]) -> "IdFilter":
        wanted = frozenset(ids)
        if not wanted:
            return evolve(self, high=self.low - 1)
        bounded = self.and_from(min(wanted)).and_to(max(wanted))
        if len(wanted) > IDS_MAX:
            return bounded
        return evolve(bounded, only=wanted if self.only is None else self.only & wanted)

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high and (self.only is None or value in self.only)

    def spans(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield first and last of the consecutive ids of ``first`` … ``last`` that are wanted, in order."""
        first, last = max(first, self.low), min(last, self.high)
        if self.only is None:
            if first <= last:
                yield first, last
            return
        start: int | None = None
        before = first
        for value in sorted(each for each in self.only if first <= each <= last):
            if start is None:
                start = value
            elif value != before + 1:
                yield start, before
                start = value
            before = value
        if start is not None:
            yield start, before


class Ids(Protocol):
    """What :func:`wanted` cuts: the entries ``first`` … ``last`` of a ledger."""

    @property
    def ledger_id(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


@frozen
class EntryFilter:
    """The wanted entries."""

    ledger_id: IdFilter = IdFilter()
    """A filter of the column ``ledger_id``, which is the lower half of the id."""
    entry_id: IdFilter = IdFilter()

    def has_ledger(self, ledger_id: int) -> bool:
        return LedgerId(ledger_id).ledger_id in self.ledger_id

    def spans(self, ledger_id: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield first and last of the consecutive entries of ``first`` … ``last`` that are wanted, in order."""
        if self.has_ledger(ledger_id):
            yield from self.entry_id.spans(first, last)


def _of_in(current: IdFilter, values: Any) -> IdFilter:
    # A null in the list matches nothing.
    return current.and_in(value for value in values if value is not None)


_NARROWED: dict[type[datasource.Filter], Callable[[IdFilter, Any], IdFilter]] = {
    datasource.EqualTo: lambda current, value: current.and_in([value]),
    datasource.In: _of_in,
    datasource.GreaterThanOrEqual: lambda current, value: current.and_from(value),
    datasource.GreaterThan: lambda current, value: current.and_from(value + 1),
    datasource.LessThanOrEqual: lambda current, value: current.and_to(value),
    datasource.LessThan: lambda current, value: current.and_to(value - 1),
}


def push(filters: Iterable[datasource.Filter]) -> tuple[EntryFilter, list[datasource.Filter]]:
    """Return the filter on ids that all ``filters`` together make, and the filters that Spark still has to apply."""
    found, rest = EntryFilter(), []
    for each in filters:
        narrow = _NARROWED.get(type(each))
        path: tuple[str, ...] = getattr(each, "attribute", ())
        value = getattr(each, "value", None)
        if narrow is None or path not in (("ledger_id",), ("entry_id",)) or not _is_ids(value):
            rest.append(each)
            continue
        column = path[0]
        found = evolve(found, **{column: narrow(getattr(found, column), value)})
        if isinstance(each, datasource.In) and len(each.value) > IDS_MAX:
            rest.append(each)
    return found, rest


def _is_ids(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(each is None or _is_id(each) for each in value)
    return _is_id(value)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
