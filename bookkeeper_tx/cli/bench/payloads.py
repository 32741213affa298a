"""The payloads that ``bktx bench`` writes: of the size asked for, and the same in every run."""

import random
from collections.abc import Iterator
from itertools import cycle, islice

SEED = 4181
DIFFERENT = 1009
"""Number of different payloads: a prime, so that they do not repeat in step with batches or groups."""


def payloads(count: int, size: int, variable: bool) -> Iterator[bytes]:
    """Yield ``count`` payloads of ``size`` bytes, or of ``size`` on average, uniformly within half of it."""
    return islice(cycle(distinct_payloads(size, variable)), count)


def total_size(count: int, size: int, variable: bool) -> int:
    """Return how many bytes the payloads of :func:`payloads` have together."""
    lengths = [len(payload) for payload in distinct_payloads(size, variable)]
    rounds, rest = divmod(count, DIFFERENT)
    return rounds * sum(lengths) + sum(lengths[:rest])


def distinct_payloads(size: int, variable: bool) -> list[bytes]:
    """Return the payloads that are repeated."""
    chance = random.Random(SEED)
    spread = size // 2 if variable else 0
    return [chance.randbytes(chance.randint(size - spread, size + spread)) for _ in range(DIFFERENT)]
