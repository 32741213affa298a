"""Values as a report shows them."""

import pytest

from compat_tests.judge.attempt import shown
from compat_tests.judge.case import V2
from protocol_specs.wire.status import EOK, EUA


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (EOK, "EOK"),
        ([EOK, EUA], "[EOK, EUA]"),
        (V2, "V2"),
        ("text", "text"),
        (7, "7"),
        (b"", "(no bytes) (0 bytes)"),
        (b"\x01\x02", "0102 (2 bytes)"),
    ],
)
def test_a_value_is_shown_by_what_it_is(value: object, text: str) -> None:
    assert shown(value) == text
