"""Faults that belong together: each plot is the shortest way to a kind of defect, with chances of its own."""

from random import Random

from tests.simulation.world.aim import DELAYS_S, Aim

PLOTS: tuple[tuple[tuple[str, str], ...], ...] = (
    # A fragment whose bookies do not know yet what was confirmed before it.
    (("refused client", "append"), ("takeover", "new fragment")),
    (("slow client", "append"), ("refused client", "append"), ("takeover", "new fragment")),
    # An ensemble that changes while entries are acknowledged by those that go.
    (("slow store", "append"), ("slow client", "append"), ("half a frame", "append")),
    (("half a frame", "append"), ("half a frame", "append")),
    (("refused client", "append"), ("refused client", "new fragment")),
    (("failing writes", "append"), ("refused client", "new fragment")),
    (("failing writes", "append"), ("kill", "new fragment")),
    # A recovery that meets entries on their way.
    (("takeover", "append"), ("slow client", "append")),
    (("takeover", "append"), ("takeover", "recovery"), ("partition", "append")),
    # A recovery that ends in the middle, and another one that sees other bookies.
    (("takeover", "append"), ("killed client", "recovery"), ("kill", "recovery"), ("takeover", "recovery")),
    # Bookies that forget a fence, and a writer that goes on.
    (("takeover", "acknowledged"), ("kill", "closed"), ("kill", "closed")),
    (("takeover", "acknowledged"), ("blackout", "closed")),
    (("takeover", "append"), ("blackout", "closed")),
    # Bookies that forget what they have acknowledged.
    (("kill", "acknowledged"), ("kill", "acknowledged")),
    (("power failure", "acknowledged"), ("kill", "acknowledged")),
    (("blackout", "acknowledged"),),
    # Timers that never come.
    (("swallowed flow", "append"), ("clock step", "append")),
    (("failing writes", "append"), ("failing writes", "append"), ("clock step", "append"), ("clock step", "append")),
    # Files that go away while they are asked for.
    (("vanished directory", "acknowledged"), ("takeover", "acknowledged")),
    (("lost journal file", "acknowledged"),),
    (("zeroed sector", "acknowledged"),),
)
"""Kinds of faults, each with the moment that it waits for."""


def draw(random: Random) -> list[tuple[str, Aim, float]]:
    """Draw a plot: kinds, their aims, and how long they last."""
    drawn = []
    for kind, moment in random.choice(PLOTS):
        often = moment in ("append", "acknowledged")
        number = random.choice((1, 1, 2, 5, 20)) if often else 1
        lasts_s = random.choice((0.1, 0.1, 1, 4, 8))
        drawn.append((kind, Aim(moment, number, random.choice(DELAYS_S), faithful=True), lasts_s))
    return drawn
