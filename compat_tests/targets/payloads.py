"""Entry bodies that the Java driver and a test compute alike, and the hash of a range of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def pattern(index: int, size: int, seed: int = 0) -> bytes:
    """The body of the entry with this index: 8 bytes of index and 4 of seed, over and over, cut to ``size``."""
    unit = index.to_bytes(8, "big") + seed.to_bytes(4, "big")
    return (unit * (size // len(unit) + 1))[:size]


def patterns(count: int, size: int, seed: int = 0, index: int = 0) -> list[bytes]:
    """The bodies that :meth:`JavaLedger.append_many` writes with the same arguments."""
    return [pattern(number, size, seed) for number in range(index, index + count)]


def hash_of(bodies: Iterable[bytes]) -> str:
    """The sha256 of bodies, each after its length in 4 bytes: what the driver answers to a hashed read."""
    digest = hashlib.sha256()
    for body in bodies:
        digest.update(len(body).to_bytes(4, "big") + body)
    return digest.hexdigest()
