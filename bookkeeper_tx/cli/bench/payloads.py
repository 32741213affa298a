"""The payloads that ``bktx bench`` writes: of the sizes asked for, and the same in every run."""

import random
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Final

from bookkeeper_tx.config import MIB

SEED = 4181
DIFFERENT = 1009
"""Number of different payloads: a prime, so that they do not repeat in step with batches or groups."""
DIFFERENT_BYTES_MAX = 64 * MIB
"""Fewer payloads differ when they are large: every client process holds them all."""
PAYLOAD_BYTES_MAX = 4 * MIB

EQUAL: Final = "equal"
"""All payloads of that size."""
VARIABLE: Final = "variable"
"""Of that mean, uniformly within half of it."""
MIXED: Final = "mixed"
"""Of that mean, exponentially: most are smaller, some many times as large."""
SIZES: Final = (EQUAL, VARIABLE, MIXED)


def payloads(count: int, size: int, sizes: str = EQUAL) -> Iterator[bytes]:
    """Yield ``count`` payloads of ``size`` bytes, or of ``size`` on average."""
    return islice(cycle(payloads_of(payload_lengths(size, sizes))), count)


def total_size(count: int, lengths: Sequence[int]) -> int:
    """Return how many bytes ``count`` payloads have together whose lengths are ``lengths``, over and over."""
    rounds, rest = divmod(count, len(lengths))
    return rounds * sum(lengths) + sum(lengths[:rest])


def payload_lengths(size: int, sizes: str) -> list[int]:
    """Return the lengths of the payloads that are repeated."""
    chance = random.Random(SEED)
    count = max(1, min(DIFFERENT, DIFFERENT_BYTES_MAX // size))
    return [min(_length(chance, size, sizes), PAYLOAD_BYTES_MAX) for _ in range(count)]


def payloads_of(lengths: Sequence[int]) -> list[bytes]:
    """Return one payload of each length."""
    return [random.Random(SEED + index).randbytes(length) for index, length in enumerate(lengths)]


def _length(chance: random.Random, size: int, sizes: str) -> int:
    if sizes == MIXED:
        return round(chance.expovariate(1 / size))
    spread = size // 2 if sizes == VARIABLE else 0
    return chance.randint(size - spread, size + spread)
