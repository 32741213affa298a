"""Values as a report shows them."""

import pytest

from compat_tests.judge.attempt import Attempt, Brief, as_text
from compat_tests.judge.case import V2
from compat_tests.judge.verdict import Mismatch
from protocol_specs.wire.status import EOK, EUA
from tests.compat_tests.judge.fake_environment import make_case


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (EOK, "EOK"),
        ([EOK, EUA], "[EOK, EUA]"),
        (V2, "V2"),
        ("text", "text"),
        (7, "7"),
        (b"", "(no bytes)"),
        (b"\x01\x02", "0102 (2 bytes)"),
    ],
)
def test_a_value_is_shown_by_what_it_is(value: object, text: str) -> None:
    assert as_text(value) == text


@pytest.fixture
def attempt() -> Attempt:
    return Attempt(Brief(make_case("BKW-X-001"), V2, 1))


LONG = bytes(100)
DAMAGED = bytes(70) + b"\x01" + bytes(29)


def test_a_difference_behind_what_is_shown_is_shown(attempt: Attempt) -> None:
    with pytest.raises(Mismatch) as wrong:
        attempt.check("the entry", DAMAGED, LONG)
    assert wrong.value.expected == f"{as_text(LONG)}, from byte 70 on {'00' * 30}"
    assert wrong.value.seen == f"{as_text(LONG)}, from byte 70 on 01{'00' * 29}"


def test_so_is_one_in_a_list(attempt: Attempt) -> None:
    with pytest.raises(Mismatch) as wrong:
        attempt.check("the entries", [b"", LONG, DAMAGED], [b"", LONG, LONG])
    assert ", number 2: 0000" in wrong.value.seen
    assert wrong.value.seen.endswith(f"from byte 70 on 01{'00' * 29}")


@pytest.mark.parametrize(("expected", "seen"), [(b"ab", b"ac"), ([1], [1, 2]), (bytes(60), bytes(61)), ("a", "b")])
def test_what_shows_needs_no_more(attempt: Attempt, expected: object, seen: object) -> None:
    with pytest.raises(Mismatch) as wrong:
        attempt.check("it", seen, expected)
    assert (wrong.value.expected, wrong.value.seen) == (as_text(expected), as_text(seen))


def test_the_first_of_nothing_is_a_failure(attempt: Attempt) -> None:
    assert attempt.first("reads", ["a", "b"]) == "a"
    with pytest.raises(Mismatch, match="reads: expected one at least, seen none"):
        attempt.first("reads", [])
