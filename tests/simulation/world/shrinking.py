"""Making a failing history small: faults that are not needed for the failure are left out."""

from collections.abc import Callable

from tests.simulation.world.simulation import Outcome

Run = Callable[[frozenset[int]], Outcome]


def shrink(run: Run, count: int, attempts_max: int = 200) -> frozenset[int]:
    """Return the numbers of few of ``count`` faults with which ``run`` still fails; it fails with all of them.

    Halves are left out first, then quarters, and so on, as long as that goes on to fail.
    """
    needed = list(range(count))
    size = max(1, len(needed) // 2)
    attempts = 0
    while needed and attempts < attempts_max:
        smaller = None
        for start in range(0, len(needed), size):
            rest = needed[:start] + needed[start + size :]
            attempts += 1
            if run(frozenset(rest)).violation is not None:
                smaller = rest
                break
        if smaller is not None:
            needed = smaller
            size = max(1, min(size, len(needed) // 2))
        elif size == 1:
            break
        else:
            size = max(1, size // 2)
    return frozenset(needed)
