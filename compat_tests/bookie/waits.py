"""Requests that a bookie lets wait: that they do, and that they do not."""

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
"""More than an answer at once takes on a slow machine, and less than any wait that is let be long."""
SETTLES_S: Final = (0.15, 0.5, 1.5)
"""How long a request is given to reach where it waits, and a reply that must not come to come all the same.

Where more turns on it: longer and longer, as a busy machine may need.
"""


def poll(talk: Talk, ledger: int, previous_lac: int, time_out: int | None = None, **options: Any) -> bytes:
    """A long poll with a transaction id of its own, which wants the next entry unless told otherwise."""
    return v3_requests.poll(ledger, previous_lac, time_out, txn_id=talk.requests.number(), **options)


def expect_wait(talk: Talk, line: Line, *frames: bytes, settle_s: float = SETTLES_S[0]) -> None:
    """Want no reply to these requests, which were sent on this connection before, for a moment."""
    for index, frame in enumerate(frames):
        outcome = line.receive_for(frame, 0.02 if index else settle_s)
        talk.check_that(isinstance(outcome, Silence), "a request that is to wait", "no reply yet", outcome)


def in_time(talk: Talk, ask: Callable[[], Reply]) -> Reply:
    """Ask for what must not wait."""
    started = time.monotonic()
    reply = ask()
    took_s = time.monotonic() - started
    talk.check_that(took_s < AT_ONCE_S, "the reply", "at once", f"after {took_s:.1f} s")
    return reply


def with_update_time(talk: Talk, attempt: Callable[[float], Reply]) -> int:
    """The time of the update in the reply of an attempt, ms since 1970. One that reaches the bookie only after the
    update has none: so it is tried again, with more time to get there."""
    for settle_s in SETTLES_S:
        reply = attempt(settle_s)
        if reply.part.HasField("lac_update_timestamp"):
            return int(reply.part.lac_update_timestamp)
    raise Mismatch("lac_update_timestamp", "there", "absent")
