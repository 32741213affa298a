"""Histories of a bookie with two journals: their marks move together, and their syncs do not."""

from typing import Any

from tests.bookie.workers import SteppedWorker
from tests.simulation.bookie_history import BookieHistory

SECOND = "/second/current"


class SeveralJournalsHistory(BookieHistory):
    """Ledgers of even and odd ids are in different journals, whose threads are independent."""

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        super().__init__(seed, syncs_lie)
        self.disk.make_directories(SECOND)

    def more_journals(self) -> list[Any]:
        self.workers.append(SteppedWorker())
        return [(SECOND, self.workers[-1])]
