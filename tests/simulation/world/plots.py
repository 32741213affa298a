"""Faults that belong together: each plot is the shortest way to a kind of defect, with chances of its own."""

from random import Random

from attrs import frozen

from tests.simulation.world.aim import DELAYS_S, Aim
from tests.simulation.world.fault import Fault, Party


@frozen
class Step:
    """One fault of a plot, and the moment that it waits for.  What it does not say is drawn."""

    kind: str
    moment: str
    place: int | None = None
    """Which bookie of the ledger: steps of one plot with one place strike at the same one, with two at two."""
    party: Party | None = None
    """Whose connections: those of the writer, or of another client."""
    number: int | None = None
    """It strikes when that happens for this time."""
    delay_s: float | None = None
    lasts_s: float | None = None
    by_s: float | None = None
    """How late something is, or by how much a clock is set."""


HOUR_S = 3600.0

PLOTS: tuple[tuple[Step, ...], ...] = (
    # A fragment whose bookies do not know yet what was confirmed before it.
    (Step("refused client", "append"), Step("takeover", "new fragment")),
    (Step("late requests", "append"), Step("refused client", "append"), Step("takeover", "new fragment")),
    # An ensemble that changes while entries are acknowledged by those that go.
    (Step("half a frame", "append"), Step("half a frame", "append")),
    (Step("refused client", "append"), Step("refused client", "new fragment")),
    (Step("failing writes", "append"), Step("refused client", "new fragment")),
    (Step("failing writes", "append"), Step("kill", "new fragment")),
    # The same: one has acknowledged some entries when it goes, and the store is slow.  The others acknowledge them
    # before there is a new fragment, which begins with them, though the bookie that is new in it lacks them.
    (
        Step("slow store", "append", number=1, delay_s=0.0, lasts_s=4.0),
        Step("late answers", "append", place=0, party="writer", number=1, delay_s=0.0, lasts_s=4.0, by_s=0.1),
        Step("half a frame", "append", place=1, party="writer", number=1, delay_s=0.0),
    ),
    # A recovery that meets entries on their way.
    (Step("takeover", "append"), Step("late requests", "append")),
    (Step("takeover", "append"), Step("takeover", "recovery"), Step("partition", "append")),
    # The same: an entry lies on all bookies but one, which does not hear of the fence.  It says that it has no such
    # entry before the others say that they have it, gets it later, and acknowledges it.
    (
        Step("late requests", "append", place=1, party="writer", number=1, delay_s=0.0, lasts_s=8.0, by_s=0.4),
        Step("takeover", "append", party="other", number=2, delay_s=0.003),
        Step("refused client", "recovery", place=1, party="other", number=1, delay_s=0.0, lasts_s=0.05),
        Step("late answers", "recovery", place=0, party="other", number=1, delay_s=0.0, lasts_s=4.0, by_s=0.1),
        Step("late answers", "recovery", place=2, party="other", number=1, delay_s=0.0, lasts_s=4.0, by_s=0.1),
    ),
    # The same, and the fence is lost on its way.
    (
        Step("late requests", "append", place=1, party="writer", number=1, delay_s=0.0, lasts_s=8.0, by_s=2.0),
        Step("takeover", "append", party="other", number=1, delay_s=0.02),
        Step("late requests", "recovery", place=1, party="other", number=1, delay_s=0.0, lasts_s=0.02, by_s=0.2),
        Step("reset", "recovery", place=1, party="other", number=1, delay_s=0.02),
        Step("late answers", "recovery", place=0, party="other", number=1, delay_s=0.0, lasts_s=4.0, by_s=0.05),
        Step("late answers", "recovery", place=2, party="other", number=1, delay_s=0.0, lasts_s=4.0, by_s=0.05),
    ),
    # A recovery that ends in the middle, and another one that sees other bookies.
    (
        Step("takeover", "append"),
        Step("killed client", "recovery"),
        Step("kill", "recovery"),
        Step("takeover", "recovery"),
    ),
    # Bookies that forget a fence, and a writer that goes on.
    (Step("takeover", "acknowledged"), Step("kill", "closed"), Step("kill", "closed")),
    (Step("takeover", "acknowledged"), Step("blackout", "closed")),
    (Step("takeover", "append"), Step("blackout", "closed")),
    # Bookies that forget what they have acknowledged.
    (Step("kill", "acknowledged"), Step("kill", "acknowledged")),
    (Step("power failure", "acknowledged"), Step("kill", "acknowledged")),
    (Step("blackout", "acknowledged"),),
    # Timers that never come: those of a client that waits, and of a bookie that will try its disk again.
    (Step("swallowed flow", "append"), Step("clock step", "append")),
    (Step("failing writes", "append", place=0), Step("clock step", "append", place=0, by_s=-HOUR_S)),
    # Files that go away while they are asked for; the second time those of the only bookie that can say what it has.
    (Step("vanished directory", "acknowledged"), Step("takeover", "acknowledged")),
    (
        Step("vanished index", "pause", place=0, number=1, delay_s=0.5, lasts_s=4.0),
        Step("kill", "pause", place=1, number=1, delay_s=0.5, lasts_s=4.0),
        Step("takeover", "pause", party="other", number=1, delay_s=0.5),
    ),
    (Step("lost journal file", "acknowledged"),),
    (Step("zeroed sector", "acknowledged"),),
)


def draw(random: Random, at_s: float) -> list[Fault]:
    """Draw a plot, the faults of which wait for their moments from ``at_s`` on."""
    first = random.randrange(1000)
    return [_fault_of(step, random, at_s, first) for step in random.choice(PLOTS)]


def _fault_of(step: Step, random: Random, at_s: float, first: int) -> Fault:
    often = step.moment in ("append", "acknowledged")
    number = random.choice((1, 1, 2, 5, 20)) if often else 1
    delay_s, lasts_s = random.choice(DELAYS_S), random.choice((0.1, 0.1, 1, 4, 8))
    aim = Aim(
        step.moment,
        number if step.number is None else step.number,
        delay_s if step.delay_s is None else step.delay_s,
        faithful=True,
    )
    return Fault(
        at_s,
        step.kind,
        random.randrange(1000) if step.place is None else first + step.place,
        lasts_s if step.lasts_s is None else step.lasts_s,
        random.getrandbits(32),
        aim,
        is_placed=step.place is not None,
        party=step.party,
        by_s=step.by_s,
    )
