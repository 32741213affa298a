"""Entry logs of ledgers whose index somebody has lost: they are all that is left of them."""

import pytest

from bookkeeper_tx.errors import MetadataUnavailable
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.garbage.bookies import ELSEWHERE, Bench, with_two_logs, without_index
from tests.bookie.seams import entry
from tests.bookie.storage.storages import read


@pytest.fixture
def bench(disk: CrashingDisk) -> Bench:
    """A log of ledgers 1 and 2, and one of 3, after a restart without the index of ledger 1."""
    return without_index(with_two_logs(disk), 1)


def looked_up(bench: Bench) -> list[int]:
    """Return the ledgers that a server of the store was asked for that is not behind."""
    return [each[1] for each in bench.store.calls if each[0] == "read latest"]


def test_a_log_stays_while_the_store_knows_a_ledger_without_an_index(bench: Bench) -> None:
    bench.delete(2)
    for _ in range(2):
        bench.collect(major=True)
    assert "0.log" in bench.logs
    assert bench.collector.status.unindexed_logs == ("0.log",)
    assert bench.collector.status.failed_log_count == 0
    bench.delete(1)
    bench.collect(major=True)
    assert "0.log" not in bench.logs
    assert bench.collector.status.unindexed_logs == ()


def test_a_log_all_of_whose_indexes_are_lost_stays(disk: CrashingDisk) -> None:
    before = Bench(disk)
    before.stored(1, 1000)
    before.stored(2, 1000)
    before.stored(3, 2000)
    bench = without_index(before, 1, 2)
    bench.collect(major=True)
    assert "0.log" in bench.logs


def test_a_closed_ledger_that_is_elsewhere_keeps_no_log(bench: Bench) -> None:
    bench.store.ledgers[1] = ELSEWHERE
    bench.collect(major=True)
    assert bench.collector.status.unindexed_logs == ()
    bench.delete(2)
    bench.collect(major=True)
    assert "0.log" not in bench.logs


def test_a_ledger_is_looked_up_once_in_each_collection_until_it_is_gone(bench: Bench) -> None:
    for _ in range(2):
        bench.collect()
    assert looked_up(bench) == [1, 1]
    bench.delete(1)
    for _ in range(2):
        bench.collect()
    assert looked_up(bench) == [1, 1, 1]


def test_what_was_deleted_here_is_not_looked_up(disk: CrashingDisk) -> None:
    bench = Bench(disk)
    bench.stored(1, 1000)
    bench.stored(2, 1000)
    bench.stored(3, 2000)
    bench.delete(1)
    for _ in range(2):
        bench.collect()
    assert looked_up(bench) == []


def test_nothing_is_taken_from_a_store_that_is_away_or_is_another_cluster(bench: Bench) -> None:
    bench.delete(1, 2)
    bench.store.instance = "another"
    bench.collect(major=True)
    assert "0.log" in bench.logs
    bench.store.instance = "an instance"
    bench.store.read_error = MetadataUnavailable("away")
    bench.store.listed = [2, 3]
    bench.collect(major=True)
    assert bench.collector.status.last_error == "away"
    assert "0.log" in bench.logs
    assert read(bench.storage, 2, 0) == entry(0, 1000, 2)
    bench.store.read_error = bench.store.listed = None
    bench.collect(major=True)
    assert "0.log" not in bench.logs
