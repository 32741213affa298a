"""Requests that a bookie may let wait, and checks that they wait or do not."""

import time
from collections.abc import Callable
from typing import Any, Final

from compat_tests.bookie.talk import Talk
from compat_tests.judge.verdict import Mismatch
from compat_tests.wire import v3_requests
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply, Silence

LONG_MS: Final = 60_000
"""A time-out that no case lets pass."""
SHORT_MS: Final = 300
"""One that each case can let pass."""

AT_ONCE_S = 8.0
"""More than an answer at once takes on a slow machine, and less than any long wait."""
SETTLES_S: Final = (0.15, 0.5, 1.5)
"""How long a case gives a request to arrive and begin its wait, and gives a reply that must not come.

A case that depends on the arrival tries them in turn: a busy machine may need longer.
"""


def poll(talk: Talk, ledger: int, previous_lac: int, time_out: int | None = None, **options: Any) -> bytes:
    """A long poll with a transaction id of its own; it wants the next entry unless ``options`` say otherwise."""
    return v3_requests.poll(ledger, previous_lac, time_out, txn_id=talk.requests.number(), **options)


def expect_wait(talk: Talk, line: Line, *frames: bytes, settle_s: float = SETTLES_S[0]) -> None:
    """Require that requests that were sent on this connection before get no reply for a moment."""
    for index, frame in enumerate(frames):
        outcome = line.receive_for(frame, 0.02 if index else settle_s)
        talk.check_that(isinstance(outcome, Silence), "a request that is to wait", "no reply yet", outcome)


def in_time(talk: Talk, ask: Callable[[], Reply]) -> Reply:
    """Ask, and require that the reply comes at once."""
    started = time.monotonic()
    reply = ask()
    took_s = time.monotonic() - started
    talk.check_that(took_s < AT_ONCE_S, "the reply", "at once", f"after {took_s:.1f} s")
    return reply


def with_update_time(talk: Talk, attempt: Callable[[float], Reply]) -> int:
    """The time of the update in the reply to a poll, ms since 1970.

    ``attempt`` gets the seconds that the poll may take to arrive.  The reply to a poll that arrives after the update
    has no such time: then it is tried again, with more seconds.
    """
    for settle_s in SETTLES_S:
        reply = attempt(settle_s)
        if reply.part.HasField("lac_update_timestamp"):
            return int(reply.part.lac_update_timestamp)
    raise Mismatch("lac_update_timestamp", "there", "absent")
