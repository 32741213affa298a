"""Planning over many ledgers is measured each way; no test looks at the speed."""

import pytest

from bookkeeper_tx.cli.bench import planning
from bookkeeper_tx.cli.bench.planning import LedgersMissing
from bookkeeper_tx.cli.bench.planning_stores import LEDGER, planning_store
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.metadata.blocking.store import open_blocking_store

COUNT = 1100


def planned(uri):
    assert uri.startswith("sqlite:///")
    return 0.25, 0.5


def test_the_ledgers_of_a_file_are_read_each_way(tmp_path):
    with planning_store(None, tmp_path, COUNT) as store:
        runs = planning.compare(store, COUNT, planned, runs=2)
        with open_blocking_store(store.uri) as ours:
            assert ours.list_ledgers() == list(range(COUNT))
            assert ours.read_ledger(COUNT - 1).metadata.fragments == LEDGER.fragments
    assert len(runs) == 2
    for run in runs:
        assert min(run.raw_s, run.read_s, run.listed_and_read_s) > 0
        assert (run.load_s, run.plan_s) == (0.25, 0.5)
        assert run.as_dictionary()["listed_and_read_ratio"] == pytest.approx(run.listed_and_read_s / run.raw_s, 0.01)
        assert run.as_dictionary()["planned_ratio"] == pytest.approx(0.75 / run.raw_s, 0.01)
    assert planning.median_of(runs)["load_s"] == 0.25


def test_ledgers_that_are_missing_are_an_error(tmp_path):
    with planning_store(None, tmp_path, COUNT) as store, pytest.raises(LedgersMissing, match="1100 ledgers were read"):
        planning.compare(store, COUNT + 1, planned, runs=1)


def test_no_other_store_than_zookeeper_is_filled(tmp_path):
    uri = f"sqlite://{tmp_path / 'somebody.db'}"
    with pytest.raises(InvalidArgument, match="ZooKeeper"), planning_store(uri, tmp_path, COUNT):
        pytest.fail("it was made")
    assert not list(tmp_path.iterdir())
