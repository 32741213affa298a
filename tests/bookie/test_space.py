"""bookkeeper_tx.bookie.space: when a disk is full, and when it is not any more."""

from typing import Any

import pytest

from bookkeeper_tx.bookie.space import Space
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import InvalidConfig


def space_of(**settings: Any) -> Space:
    settings = {"high_priority_free_bytes_min": 20} | settings
    return Space(BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **settings))


def looks(space: Space, *used: int) -> list[tuple[bool, bool, bool]]:
    seen = []
    for each in used:
        space.look(1000, 1000 - each)
        seen.append((space.short, space.full, space.reserve_used))
    return seen


def test_a_disk_is_short_then_full_then_without_reserve() -> None:
    assert looks(space_of(), 900, 901, 950, 951, 979, 980, 950) == [
        (False, False, False),
        (True, False, False),
        (True, False, False),
        (True, True, False),
        (True, True, False),
        (True, True, True),
        (True, False, False),
    ]


def test_a_full_disk_is_full_down_to_the_low_water_mark() -> None:
    assert [full for _, full, _ in looks(space_of(disk_usage_low_water=0.8), 951, 801, 800, 949)] == [
        True,
        True,
        False,
        False,
    ]


def test_a_threshold_of_1_is_never_passed() -> None:
    assert looks(space_of(disk_usage_threshold=1), 1000) == [(True, False, False)]


def test_a_low_water_mark_above_the_threshold_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="diskUsageLwmThreshold"):
        space_of(disk_usage_low_water=0.96)
