"""How much a reader asks for, by the answers so far."""

import pytest

from bookkeeper_tx.client.read_window import FAR_SIZE_MAX, FIRST_SINGLES, NEAR_SIZE_MAX, START_SIZE, ReadWindow
from bookkeeper_tx.config import MIB, ClientConfig
from bookkeeper_tx.entry.entry_run import EntryRun

CONFIG = ClientConfig(read_timeout_s=5)


def run_of(size: int, count: int = 1) -> EntryRun:
    """A run of entries that take ``size`` bytes each in a batch reply."""
    return EntryRun(0, 0, b"", range(0, size * count + 1, size))


def settled(rate: float, round_trip_s: float, entry_size: int = 10_000, config: ClientConfig = CONFIG) -> ReadWindow:
    """A window after many requests over a link that brings ``rate`` bytes a second, one answer after the other."""
    window = ReadWindow(config, entry_size)
    now = free = 0.0
    asked = []
    for _ in range(600):
        while not asked or window.in_flight < window.size:
            count = window.count_for(window.size // 4)
            free = max(free, now + round_trip_s) + count * entry_size / rate
            asked.append((free, count, window.sent(count * entry_size, now)))
        now, count, request = asked.pop(0)
        window.arrived(request, run_of(entry_size, count), now)
    return window


def test_it_begins_small() -> None:
    window = ReadWindow(CONFIG, 0.0)
    assert window.size == START_SIZE
    assert window.count_for(MIB) == 3, "each may be as large as a frame, and in memory more than once"
    assert ReadWindow(ClientConfig(frame_size_max=MIB), 0.0).count_for(MIB) == FIRST_SINGLES
    assert ReadWindow(ClientConfig(frame_size_max=99 * MIB), 0.0).count_for(MIB) == 1


@pytest.mark.parametrize("rate", [1e6, 3e6, 12e6])
def test_a_slow_link_has_no_more_in_flight_than_it_brings_soon(rate: float) -> None:
    assert rate * 0.2 <= settled(rate, 0.001).size <= rate * 0.5


def test_a_very_slow_link_has_as_much_as_at_the_beginning() -> None:
    assert settled(20_000, 0.001).size == START_SIZE


def test_a_fast_link_is_filled() -> None:
    assert settled(1e9, 0.0001).size == NEAR_SIZE_MAX


def test_a_long_link_is_filled_too() -> None:
    assert settled(50e6, 0.1).size >= 2 * 50e6 * 0.1 * 0.9
    assert settled(1e9, 0.1).size == FAR_SIZE_MAX


def test_however_long_it_is_the_answers_come_well_before_the_time_out() -> None:
    assert settled(3e6, 2.0).size <= 3e6 * CONFIG.read_timeout_s / 4 * 1.01


def test_memory_is_a_bound_as_well() -> None:
    assert settled(1e9, 0.1, config=ClientConfig(read_bytes_max=8 * MIB)).size == 2 * MIB


def test_a_link_that_becomes_slow_has_less_in_flight() -> None:
    window = settled(12e6, 0.001)
    now = 1000.0
    for _ in range(20):
        asked = window.sent(100_000, now)
        now += 0.1
        window.arrived(asked, run_of(10_000, 10), now)
    assert window.size <= 1e6 * 0.5


def test_a_request_that_fails_is_not_in_flight_and_tells_nothing() -> None:
    window = ReadWindow(CONFIG, 100.0)
    window.arrived(window.sent(5000, 0.0), None, 9.0)
    assert (window.in_flight, window.size, window.entry_size) == (0, START_SIZE, 100.0)


def test_larger_entries_are_expected_at_once_and_smaller_ones_by_and_by() -> None:
    window = ReadWindow(CONFIG, 0.0)
    window.learn(run_of(1000, 3))
    assert window.entry_size == 1000
    window.learn(run_of(5000))
    assert window.entry_size == 5000
    window.learn(run_of(1000))
    assert window.entry_size == 3000
