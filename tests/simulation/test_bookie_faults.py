"""The whole bookie of test_bookie_crashes on a disk that fails now and then as well, or is full.

A group that could not be written is an I/O error to those who wait for it; adds with deferred sync in it were
acknowledged before, so that a force must not be told of them as safe.  A failed sync ends the process.
"""

import pytest

from protocol_specs.wire import status as statuses
from tests.bookie.crashing_disk import Crashed
from tests.simulation.test_bookie_crashes import _History

pytestmark = pytest.mark.crash

HISTORIES = 120


class _FaultyHistory(_History):
    failures = (statuses.EIO, statuses.EREADONLY)

    def start(self) -> None:
        self.ended = False
        self.disk.capacity = None
        super().start()

    def _fatal(self, error: BaseException) -> None:
        self.ended = True

    def alive(self) -> None:
        if self.ended:
            raise Crashed
        super().alive()

    def step(self) -> None:
        fault = self.random.random()
        if fault < 0.03:
            self.disk.fail_writes(1)
        elif fault < 0.032:
            self.disk.fail_syncs(1)
        elif fault < 0.04:
            self.disk.capacity = self.random.choice((None, None, 3000, 0))
        super().step()


def test_what_clients_were_told_is_true_whatever_the_disk_does() -> None:
    counted = ("acknowledged_count", "forced_count", "fence_count", "failed_count", "failed_forces")
    counts = dict.fromkeys(counted, 0)
    for seed in range(HISTORIES):
        history = _FaultyHistory(seed)
        try:
            history.run()
        except BaseException:
            print(f"seed {seed}")
            raise
        for name in counts:
            counts[name] += getattr(history, name)
    assert min(counts.values()) > 50, counts
