"""Defects that were made once, here or elsewhere, put back to see whether the simulation notices."""

from collections.abc import Iterable

from tests.simulation import bookie_defects, client_defects
from tests.simulation.defect import Planted
from tests.simulation.world.simulation import Outcome, Simulation

DEFECTS = {each.name: each for each in (*client_defects.DEFECTS, *bookie_defects.DEFECTS)}


def first_found(defect: Planted, seeds: Iterable[int]) -> Outcome | None:
    """Return what the first of the seeds that notices a defect came to; None if none does."""
    with defect.in_place():
        outcomes = (Simulation(seed).run() for seed in seeds)
        return next((outcome for outcome in outcomes if outcome.violation is not None), None)
