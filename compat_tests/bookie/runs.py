"""Ledgers filled with entries of chosen sizes, and V3 replies compared in all of their fields."""

from collections.abc import Mapping, Sequence

from compat_tests.bookie.pipeline import ask_all, statuses
from compat_tests.bookie.talk import Talk
from compat_tests.wire.entries import entry
from compat_tests.wire.replies import Reply
from protocol_specs.wire import v3
from protocol_specs.wire.status import Status

WRITER = "writer"
"""The connection for adds: the connection under test then carries nothing else."""

_METADATA_SIZE = len(entry(0, 0, payload=b""))
_AT_ONCE = 250
"""Adds that are on their way at a time."""


def entry_of_size(talk: Talk, ledger: int, entry_id: int, size: int) -> bytes:
    """An entry of so many bytes in all, which confirms the one before it; no two have the same payload."""
    return entry(ledger, entry_id, entry_id - 1, talk.random.randbytes(size - _METADATA_SIZE))


def store(talk: Talk, ledger: int, bodies: Mapping[int, bytes]) -> None:
    """Add entries by their ids, many at a time; all have been acknowledged when this returns."""
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in bodies.items()]
    for at in range(0, len(frames), _AT_ONCE):
        some = frames[at : at + _AT_ONCE]
        talk.check("the statuses of the adds", statuses(ask_all(talk.line(WRITER), some)), ["EOK"] * len(some))


def store_run(talk: Talk, ledger: int, sizes: Sequence[int]) -> list[bytes]:
    """Add entries of these sizes from 0 on; returns them."""
    bodies = [entry_of_size(talk, ledger, entry_id, size) for entry_id, size in enumerate(sizes)]
    store(talk, ledger, dict(enumerate(bodies)))
    return bodies


def store_ids(talk: Talk, ledger: int, entry_ids: Sequence[int], size: int = 40) -> dict[int, bytes]:
    """Add entries with these ids; returns them."""
    bodies = {entry_id: entry_of_size(talk, ledger, entry_id, size) for entry_id in entry_ids}
    store(talk, ledger, bodies)
    return bodies


def check_part(talk: Talk, reply: Reply, status: Status, **wanted: object) -> Reply:
    """Require a V3 reply with this status in both places, header version 3, and a part of just these fields."""
    talk.check_reply(reply, status)
    talk.check("header version of the reply", reply.version, v3.VERSION)
    talk.check_that(reply.part is not None, "the part of the reply", "there", "absent")
    seen = {field.name: value for field, value in reply.part.ListFields()}
    if "body" in seen and not isinstance(seen["body"], bytes):
        seen["body"] = list(seen["body"])
    expected = {"status": status.v3, **wanted}
    talk.check("fields of the part", sorted(seen), sorted(expected))
    for name, value in expected.items():
        talk.check(f"{name} of the part", seen[name], value)
    return reply
