"""Aiming faults: they wait until something is done with a ledger, and strike at the bookies and clients of that one."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from tests.simulation.world.history import LedgerHistory

if TYPE_CHECKING:
    from tests.simulation.world.fault import Fault
    from tests.simulation.world.simulation import Simulation

MOMENTS = ("append", "append", "acknowledged", "pause", "new fragment", "recovery", "recovery", "closed")
"""What faults wait for; each as often as it stands here."""

DELAYS_S = (0.0, 0.000_5, 0.003, 0.02, 0.1, 0.5)
"""How long after that they strike."""

FAITHFUL = 0.8
"""How many of them strike at the ledger that was struck before, as long as it is not closed."""


@frozen
class Aim:
    """What a fault waits for."""

    moment: str
    number: int
    """It strikes when that happens for this time since its own time has come."""
    delay_s: float
    faithful: bool = False
    """Whether it strikes at no other ledger than those before, unless that is closed."""

    def __str__(self) -> str:
        return f"{self.delay_s:g} s after {self.moment} {self.number}"


def draw(random: Random) -> Aim:
    """Draw an aim."""
    moment = random.choice(MOMENTS)
    often = moment in ("append", "acknowledged")
    number = random.choice((1, 2, 5, 20)) if often else 1
    return Aim(moment, number, random.choice(DELAYS_S), random.random() < FAITHFUL)


class Aiming:
    """The faults that wait.  ``strike`` is called with each, aimed at a bookie or a client of its ledger."""

    def __init__(self, simulation: "Simulation", strike: Callable[["Fault"], None]) -> None:
        self._simulation = simulation
        self._strike = strike
        self._waiting: list[tuple[Fault, int]] = []
        self._prey: LedgerHistory | None = None

    def wait(self, fault: "Fault") -> None:
        """Let a fault wait for its moment."""
        assert fault.aim is not None
        self._waiting.append((fault, fault.aim.number))

    def happened(self, moment: str, ledger: LedgerHistory) -> None:
        """Hear of what is done with a ledger."""
        if not self._waiting:
            return
        still: list[tuple[Fault, int]] = []
        for fault, number in self._waiting:
            aim = fault.aim
            assert aim is not None
            if aim.moment != moment or not self._is_prey(ledger, aim):
                still.append((fault, number))
            elif number > 1:
                still.append((fault, number - 1))
            else:
                self._prey = ledger
                self._simulation.timeline.after(aim.delay_s, self._strike_at, fault, ledger)
        self._waiting = still

    def _is_prey(self, ledger: LedgerHistory, aim: Aim) -> bool:
        prey = self._prey
        return prey is None or prey is ledger or prey.end is not None or not aim.faithful

    def _strike_at(self, fault: "Fault", ledger: LedgerHistory) -> None:
        """Choose a bookie of the ledger, or its writer: then or at an earlier time."""
        if ledger.metadata is None:
            return
        simulation, random = self._simulation, Random(fault.seed)
        targets = [each.bookie_id for each in simulation.bookies]
        fragments = ledger.metadata.fragments
        if fault.is_placed:
            ensemble = fragments[-1].ensemble
            target = targets.index(ensemble[fault.target % len(ensemble)])
        else:
            ensemble = random.choice((fragments[-1], fragments[-1], random.choice(fragments))).ensemble
            target = targets.index(random.choice(ensemble))
            if fault.kind in ("killed client", "clock step", "late turn") and random.random() < 0.7:
                target = ledger.writer if fault.kind == "killed client" else len(targets) + ledger.writer
        self._strike(evolve(fault, target=target, ledger_id=ledger.ledger_id))
