"""The part of an exchange that is kept."""

from compat_tests.judge.recording import BYTES_MAX, EVENTS_MAX, Recording


def test_a_flood_is_counted_and_not_kept():
    recording = Recording()
    for _ in range(3):
        recording.received("main", bytes(BYTES_MAX // 2))
    *kept, last = recording.events
    assert sum(len(event.data) for event in kept) == BYTES_MAX
    assert last.text == f"{BYTES_MAX // 2} more bytes are not shown"


def test_many_small_events_are_not_kept_either():
    recording = Recording()
    for _ in range(EVENTS_MAX + 5):
        recording.sent("main", b"x")
    assert len(recording.events) == EVENTS_MAX + 1
    assert recording.events[-1].text.startswith("5 more")
