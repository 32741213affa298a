"""Which request a reply belongs to."""

from math import inf
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol.client.correlation import Correlation

STEPS = st.lists(st.tuples(st.sampled_from(["add", "pop"]), st.integers(0, 3)), max_size=60)


@given(STEPS)
def test_each_reply_answers_the_oldest_equal_request(steps: list[tuple[str, int]]) -> None:
    correlation, model = Correlation(), {}
    for number, (step, key) in enumerate(steps):
        if step == "add":
            correlation.add(key, number, 10.0)
            model.setdefault(key, []).append(number)
        else:
            expected = model[key].pop(0) if model.get(key) else None
            assert correlation.pop(key) == expected
        assert len(correlation) == sum(map(len, model.values()))
    assert sorted(correlation.take_all()) == sorted(number for numbers in model.values() for number in numbers)
    assert not correlation


def test_what_is_overdue_expires_and_the_rest_stays() -> None:
    correlation = Correlation()
    correlation.add("a", 1, 5.0)
    correlation.add("a", 2, 6.0)
    correlation.add("b", 3, 7.0)
    assert correlation.expire(4.9) == []
    assert correlation.expire(6.0) == [1, 2]
    assert correlation.pop("b") == 3


def test_a_request_that_moved_up_expires_on_time() -> None:
    correlation = Correlation()
    correlation.add("a", 1, 5.0)
    correlation.add("a", 2, 6.0)
    correlation.add("b", 3, 7.0)
    assert correlation.pop("a") == 1
    assert correlation.expire(6.0) == [2]
    assert correlation.pop("b") == 3


def filled(requests: list[tuple[int, int]], in_order: bool) -> tuple[Correlation, dict[int, tuple[int, int]]]:
    """Add the requests, keys and deadlines; return the table, and the requests by number.

    In a table with one time-out deadlines grow; in another they come in any order, and equal requests in order.
    """
    if in_order:
        requests = sorted(requests, key=lambda request: request[1])
    else:
        requests = list(dict(requests).items())
    correlation, left = Correlation(one_timeout=in_order), dict(enumerate(requests))
    for number, (key, deadline) in left.items():
        correlation.add(key, number, deadline)
    return correlation, left


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=60),
    st.lists(st.integers(0, 21), max_size=5),
    st.booleans(),
)
def test_what_expires_is_what_is_overdue(requests: list[tuple[int, int]], sweeps: list[int], in_order: bool) -> None:
    correlation, left = filled(requests, in_order)
    for now in sorted(sweeps):
        overdue = [number for number, (_, deadline) in left.items() if deadline <= now]
        assert sorted(correlation.expire(now)) == overdue
        for number in overdue:
            del left[number]
        assert len(correlation) == len(left)
    assert sorted(correlation.take_all()) == list(left)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=60),
    st.lists(st.tuples(st.integers(0, 21), st.integers(0, 5)), max_size=5),
    st.booleans(),
)
def test_each_slow_request_is_told_once_and_goes_on_waiting(
    requests: list[tuple[int, int]], looks: list[tuple[int, int]], in_order: bool
) -> None:
    """Between the looks the first request of some key is answered."""
    correlation, left = filled(requests, in_order)
    told: list[int] = []

    def tell(number: int) -> int:
        told.append(number)
        return number + 1000

    for now, answered in sorted(looks):
        untold = [deadline for number, (_, deadline) in left.items() if deadline > now]
        assert correlation.tell_slow(now, tell) == min(untold, default=inf)
        slow = [number for number, (_, deadline) in left.items() if deadline <= now]
        assert len(told) == len(set(told))
        assert set(slow) <= set(told)
        first = next((number for number, (key, _) in left.items() if key == answered), None)
        expected = first + 1000 if first in told and first is not None else first
        assert correlation.pop(answered) == expected
        left.pop(first, None)
    assert sorted(each % 1000 for each in correlation.take_all()) == list(left)


class CountedIteration(dict[Any, Any]):
    """A table that counts how often it is walked."""

    walks = 0

    def __iter__(self) -> Any:
        CountedIteration.walks += 1
        return super().__iter__()

    def items(self) -> Any:
        CountedIteration.walks += 1
        return super().items()

    def values(self) -> Any:
        CountedIteration.walks += 1
        return super().values()


def test_a_table_is_walked_once_however_many_requests_leave_it() -> None:
    """A dict from which the first keys were taken one by one has to skip their places at each new walk."""
    CountedIteration.walks = 0
    for leave in (lambda table: table.expire(2.0), Correlation.take_all):
        correlation = Correlation()
        correlation._waiting = CountedIteration()
        for number in range(1000):
            correlation.add(number, number, 1.0)
        assert leave(correlation) == list(range(1000))
    assert CountedIteration.walks == 2
