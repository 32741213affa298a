"""What is usual in the world of a seed: seeds differ in more than in their faults."""

from random import Random

from attrs import frozen


@frozen
class Temperament:
    """How the world of one seed is."""

    jitter: float
    """By how many times the latency a piece may be late: much of it lets connections overtake each other."""
    jobs_s: tuple[float, ...]
    """About how long a job of a thread takes, at each of some bookies in turn."""
    store_s: float
    """How much later the metadata store answers."""
    session_s: float
    """After so long without its process a session of the metadata store expires."""
    add_timeout_s: float
    """After so long without an answer a client gives a bookie up."""
    quorums: tuple[tuple[int, int, int], ...]
    """Those that ledgers may have."""
    aimed: float
    """How many of the faults are aimed at a ledger that is written, in the middle of what is done with it."""
    plotted: float
    """How likely it is that some faults belong together."""
    harmless: bool
    """Whether there are only faults that must not let anything fail."""


QUORUMS = ((3, 3, 2), (3, 3, 3), (2, 2, 2), (3, 2, 2), (4, 3, 2))


JOBS_S = (0.000_3, 0.000_3, 0.003, 0.03)


def draw(random: Random) -> Temperament:
    """Draw that of a seed."""
    if random.random() < 0.05:
        return Temperament(1.0, (0.000_3,), 0.0, 6.0, 5.0, QUORUMS, random.choice((0.0, 0.5)), 0.0, harmless=True)
    return Temperament(
        jitter=random.choice((1.0, 1.0, 50.0, 1000.0)),
        jobs_s=tuple(random.choice(JOBS_S) for _ in range(random.choice((1, 6)))),
        store_s=random.choice((0.0, 0.0, 0.03)),
        session_s=random.choice((0.3, 6.0)),
        add_timeout_s=random.choice((0.5, 5.0)),
        quorums=random.choice((QUORUMS, QUORUMS, ((2, 2, 2), (3, 3, 3)), ((3, 3, 2),))),
        aimed=random.choice((0.0, 0.5, 1.0)),
        plotted=0.7,
        harmless=False,
    )
