"""Shared by the cases of batch read: the feature that they need, sizes, and checks of replies."""

from collections.abc import Sequence
from typing import Any, Final

from compat_tests.bookie.talk import Talk
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply
from protocol_specs import codecs
from protocol_specs.wire import v2
from protocol_specs.wire.status import EOK

SINCE: Final = "4.17"
NEEDS: Final = ("batch-read-{dialect}",)
"""The feature, in the protocol version that the case is run in."""

HEAD_SIZE: Final = codecs.derive("batch read reply", v2.BATCH_READ_REPLY_FRAME).size
"""The size that a reply counts before its first entry: 36 bytes, in both protocol versions."""
RECORD_HEAD_SIZE: Final = 4
"""The size that each entry counts beside its own bytes."""

PLENTY: Final = 1_000_000
"""A max size that does not matter."""


def needed_size(bodies: Sequence[bytes]) -> int:
    """The smallest max size that leaves room for all of these."""
    return HEAD_SIZE + sum(RECORD_HEAD_SIZE + len(body) for body in bodies)


def longest_prefix(bodies: Sequence[bytes], max_count: int, max_size: int) -> list[bytes]:
    """The most of these entries that a reply may bring."""
    count = max_count if max_count > 0 else len(bodies)
    allowed = [number for number in range(1, len(bodies) + 1) if needed_size(bodies[:number]) <= max_size]
    return list(bodies[: min(count, max(allowed, default=1))])


def expect_prefix(talk: Talk, frame: bytes, at_most: Sequence[bytes], on: Line | None = None, **wanted: Any) -> Reply:
    """Ask for a batch that may bring these entries and no more; fewer are tolerated, but not none."""
    reply = talk.expect(frame, EOK, on, **wanted)
    check_prefix(talk, reply, at_most)
    return reply


def check_prefix(talk: Talk, reply: Reply, at_most: Sequence[bytes]) -> None:
    """Check that the entries of a reply are the first of these, one at least."""
    count = len(reply.entries)
    talk.check_that(1 <= count <= len(at_most), "the number of entries", f"1 to {len(at_most)}", count)
    talk.check("the entries", list(reply.entries), list(at_most[:count]))
    if count < len(at_most):
        talk.tolerate(f"{count} entries, where {len(at_most)} had room")
