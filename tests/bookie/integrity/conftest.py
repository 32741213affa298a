"""What tests of the check share."""

from collections.abc import Iterator

import pytest
from twisted.logger import LogEvent, globalLogPublisher


@pytest.fixture
def logged() -> Iterator[list[LogEvent]]:
    """Return what is logged from now on."""
    events: list[LogEvent] = []
    globalLogPublisher.addObserver(events.append)
    yield events
    globalLogPublisher.removeObserver(events.append)
