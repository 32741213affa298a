"""Many requests at once on one connection, and which reply belongs to which."""

from collections.abc import Iterable, Sequence

from compat_tests.judge.verdict import Mismatch
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply, answers
from protocol_specs.wire.status import ETOOMANYREQUESTS


def ask_all(line: Line, frames: Iterable[bytes]) -> list[Reply]:
    """Send all in one go; return their replies, in the order of the requests."""
    frames = list(frames)
    line.send(*frames)
    return collect(line, frames)


def collect(line: Line, frames: Sequence[bytes]) -> list[Reply]:
    """Wait for the replies to requests that were sent before, in any order: one for each request, and no other."""
    open_indices = list(range(len(frames)))
    found: dict[int, Reply] = {}
    while open_indices:
        reply = line.receive()
        if not isinstance(reply, Reply):
            raise Mismatch("the replies to requests sent together", f"{len(frames)}", f"{len(found)}, then {reply}")
        index = next((each for each in open_indices if answers(frames[each], reply)), None)
        if index is None:
            raise Mismatch("a reply", "the one to a request that is still open", str(reply))
        open_indices.remove(index)
        found[index] = reply
    return [found[index] for index in range(len(frames))]


def ask_until_served(line: Line, frames: Iterable[bytes]) -> list[Reply]:
    """Do what :func:`ask_all` does, and ask once more, one by one, for what the bookie refused as too much at once."""
    frames = list(frames)
    replies = ask_all(line, frames)
    return [
        ask_all(line, [frame])[0] if reply.status is ETOOMANYREQUESTS else reply
        for frame, reply in zip(frames, replies, strict=True)
    ]


def statuses(replies: Iterable[Reply]) -> list[str]:
    """The names of their statuses."""
    return [reply.status.name if reply.status else "" for reply in replies]
