"""The connection that each event of an exchange belongs to: a line that was closed may have been opened again."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from compat_tests.judge.recording import NOTE, Event

Connection: TypeAlias = tuple[str, int]
"""The name of the line, and how often it had been opened before."""

_ENDS = ("closed by", "reset by")


def by_connection(events: Sequence[Event]) -> Iterator[tuple[Event, Connection]]:
    """Yield the events with their connections.

    A remark on no line says that the target was stopped or started: no connection outlives that.
    """
    opened: dict[str, int] = {}
    ended: set[str] = set()
    for event in events:
        if event.sender == NOTE:
            if not event.line:
                ended |= opened.keys()
            elif event.text.startswith(_ENDS):
                ended.add(event.line)
        elif event.line in ended:
            ended.discard(event.line)
            opened[event.line] += 1
        yield event, (event.line, opened.setdefault(event.line, 0))
