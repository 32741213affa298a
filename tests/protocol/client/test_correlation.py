"""Which request a reply belongs to."""

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
    assert list(correlation.expire(4.9)) == []
    assert list(correlation.expire(6.0)) == [("a", 1), ("a", 2)]
    assert correlation.pop("b") == 3


def test_a_request_that_moved_up_expires_on_time() -> None:
    correlation = Correlation()
    correlation.add("a", 1, 5.0)
    correlation.add("a", 2, 6.0)
    correlation.add("b", 3, 7.0)
    assert correlation.pop("a") == 1
    assert list(correlation.expire(6.0)) == [("a", 2)]
    assert correlation.pop("b") == 3
