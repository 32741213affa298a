"""What goes wrong: all of it is drawn from the seed before anything happens, and each fault can be left out."""

from random import Random

from tests.simulation.world import disk_faults, network_faults, process_faults
from tests.simulation.world.aim import draw as draw_aim
from tests.simulation.world.fault import KINDS, WEIGHTS, Fault
from tests.simulation.world.plots import draw as draw_plot
from tests.simulation.world.temperament import Temperament

PARTS = network_faults, disk_faults, process_faults
"""Where the kinds are."""

TAKEOVERS = 0.3
"""How many of those that are aimed are recoveries, since most defects show in one."""

HARMLESS = ("clock step", "late turn")
"""Those that must not let anything fail, the second one at a client."""


def chosen_kinds(random: Random, count: int) -> list[str]:
    """Draw so many kinds."""
    return random.choices(list(KINDS), [WEIGHTS[kind] for kind in KINDS], k=count)


def draw(random: Random, count: int, end_s: float, temperament: Temperament) -> list[Fault]:
    """Return so many faults between now and ``end_s``; those that are aimed wait for their moment from one time on."""
    drawn = []
    # Those that are aimed strike close to each other.
    together_s = random.random() * end_s * 0.7
    for kind in random.choices(HARMLESS, k=count) if temperament.harmless else chosen_kinds(random, count):
        lasts_s = random.choice((0.1, 1, 4, 8))
        at_s, target, seed = random.random() * end_s, random.randrange(1000), random.getrandbits(32)
        if random.random() < temperament.aimed:
            if random.random() < TAKEOVERS and not temperament.harmless:
                kind = "takeover"
            drawn.append(Fault(together_s, kind, target, lasts_s, seed, draw_aim(random)))
        else:
            drawn.append(Fault(at_s, kind, target, lasts_s, seed))
    if random.random() < temperament.plotted:
        drawn += draw_plot(random, together_s)
    return sorted(drawn, key=lambda each: each.at_s)
