"""Histories of many seeds: each must succeed, or, to test the checks themselves, must fail."""

from collections.abc import Callable
from typing import Protocol, TypeVar


class History(Protocol):
    """One seed's sequence of lives, the same whenever it runs."""

    crashes: int
    acknowledged_count: int

    def run(self) -> None: ...


Run = TypeVar("Run", bound=History)


def run_all(make: Callable[[int], Run], count: int) -> list[Run]:
    """Run the histories of ``count`` seeds; a failure names the seed and the life."""
    histories = []
    for seed in range(count):
        history = make(seed)
        try:
            history.run()
        except BaseException:
            print(f"failing history: seed {seed}, crash {history.crashes}")
            raise
        histories.append(history)
    return histories


def count_failing(make: Callable[[int], History], count: int, expected: tuple[type[BaseException], ...]) -> int:
    """Return how many of ``count`` histories fail with one of ``expected``."""
    failing = 0
    for seed in range(count):
        try:
            make(seed).run()
        except expected:
            failing += 1
    return failing
