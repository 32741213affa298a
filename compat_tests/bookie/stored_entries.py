"""Entries that a case stores on a bookie, and checks that the bookie has exactly these."""

from collections.abc import Mapping, Sequence

from compat_tests.bookie.pipeline import ask_all, ask_until_served, statuses
from compat_tests.bookie.talk import Talk
from compat_tests.wire.entries import KEY, entry
from protocol_specs.wire.status import ENOENTRY, EOK

Bodies = Sequence[bytes] | Mapping[int, bytes]
"""Entries of a ledger by their ids, from 0 on if it is a sequence."""


def fill(talk: Talk, ledger: int, count: int, *, first: int = 0, size: int = 5, key: bytes = KEY) -> list[bytes]:
    """Add ``count`` entries with different payloads, require that each is acknowledged, and return them."""
    bodies = [make_entry(ledger, first + index, size) for index in range(count)]
    frames = [talk.requests.add(ledger, first + index, body=body, key=key) for index, body in enumerate(bodies)]
    replies = ask_all(talk.main, frames)
    talk.check(f"the statuses of {count} adds", statuses(replies), ["EOK"] * count)
    return bodies


def make_entry(ledger: int, entry_id: int, size: int = 5, mark: int = 0) -> bytes:
    """An entry with a payload that no other has; another ``mark`` makes another entry with the same ids."""
    payload = (b"%d/%d/%d " % (ledger, entry_id, mark) * (size // 8 + 1))[-size:] if size else b""
    return entry(ledger, entry_id, entry_id - 1, bytes([mark]) + payload[1:] if payload else b"", digest="crc32c")


def expect_stored(talk: Talk, ledger: int, bodies: Bodies) -> None:
    """Read each entry, and require the very bytes."""
    wanted = dict(bodies) if isinstance(bodies, Mapping) else dict(enumerate(bodies))
    frames = [talk.requests.read(ledger, entry_id) for entry_id in wanted]
    for (entry_id, body), reply in zip(wanted.items(), ask_until_served(talk.main, frames), strict=True):
        talk.check(f"the status of a read of entry {entry_id}", reply.status, EOK)
        talk.check(f"entry {entry_id}", reply.body, body)


def wait_until_stored(talk: Talk, ledger: int, count: int, what: str) -> None:
    """Wait for the first entries of a ledger, whose adds were sent on a connection that has ended: they may be late."""

    def there() -> bool:
        reads = [talk.requests.read(ledger, entry_id) for entry_id in range(count)]
        return all(reply.status is EOK for reply in ask_all(talk.main, reads))

    talk.wait_until(there, what)


def expect_absent(talk: Talk, ledger: int, *entry_ids: int) -> None:
    """Require "no such entry" for each: the ledger is known, and nothing was stored."""
    for entry_id in entry_ids:
        talk.expect(talk.requests.read(ledger, entry_id), ENOENTRY)
