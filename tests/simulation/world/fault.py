"""One fault, and the kinds that there are."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias

from attrs import frozen

from tests.simulation.world.aim import Aim

if TYPE_CHECKING:
    from tests.simulation.world.simulation import Simulation


Party: TypeAlias = Literal["writer", "other"]
"""A client: that which writes a ledger, or another one."""


@frozen
class Fault:
    """One thing that goes wrong at a time; it ends after ``lasts_s``, if it is one that ends."""

    at_s: float
    kind: str
    target: int
    """A number from which the machine is chosen."""
    lasts_s: float
    seed: int
    """Draws the rest."""
    aim: Aim | None = None
    """What it waits for from then on, if it is aimed at a ledger."""
    ledger_id: int | None = None
    """That ledger, once it is known."""
    is_placed: bool = False
    """Whether ``target`` is the number of a place in the last ensemble of that ledger."""
    party: Party | None = None
    """At which client of that ledger it strikes, if that is not to be drawn."""
    by_s: float | None = None
    """How late something is, or by how much a clock is set, if that is not to be drawn."""

    def __str__(self) -> str:
        which = "" if self.ledger_id is None else f", {self.aim} of ledger {self.ledger_id}"
        return f"{self.at_s:6.2f} s: {self.kind} of {self.target}, {self.lasts_s:.2f} s{which}"


Make = Callable[["Simulation", Fault, Random], None]

KINDS: dict[str, Make] = {}
"""All faults, by name."""

WEIGHTS: dict[str, float] = {}


def fault(weight: float) -> Callable[[Make], Make]:
    """Make a function one of the faults, drawn so often."""

    def add(make: Make) -> Make:
        name = make.__name__.replace("_", " ")
        KINDS[name], WEIGHTS[name] = make, weight
        return make

    return add
