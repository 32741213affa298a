"""Ledgers that are elsewhere: what tests of the collector do not show."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.garbage.overreplicated_ledgers import OverReplicatedLedgers
from bookkeeper_tx.bookie.garbage.pace import Pace
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.garbage.bookies import BOOKIE, ELSEWHERE, Bench


def test_a_process_that_ends_while_a_ledger_is_locked_waits_for_nothing(disk: CrashingDisk) -> None:
    bench = Bench(disk)
    bench.stored(2, 1000, metadata=ELSEWHERE)
    store: Any = bench.store
    answer: Deferred[Any] = Deferred()
    bench.store.on_lock = lambda: setattr(store, "read_ledger", lambda ledger_id: answer)
    pace = Pace(bench.clock, 10**9)
    ledgers = OverReplicatedLedgers(store, bench.storage.collection, bench.worker, BOOKIE, pace)
    collecting = ledgers.collect()
    running = Deferred.fromCoroutine(collecting)
    assert bench.store.calls[-1] == ("lock", 2)
    collecting.close()  # as when it is collected with all that has waited in the process
    assert ("unlock", 2) not in bench.store.calls
    assert not running.called
