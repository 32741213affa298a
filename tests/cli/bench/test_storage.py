"""``bktx bench storage``: what it measures of each class, and how it shows that."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from bookkeeper_tx.cli.bench import storage
from bookkeeper_tx.cli.bench.storage_run import StorageLoad, StorageRun
from tests.conftest import result_of
from tests.reactor_thread import run_in_reactor

LOAD = StorageLoad(entries=500, ledgers=7, size=50, run=10, random_reads=30)


@pytest.mark.parametrize("name", storage.CLASSES)
def test_each_class_is_measured_in_all_that_it_does(tmp_path: Path, name: str) -> None:
    if name == "DbLedgerStorage":
        pytest.importorskip("rocksdict")
    from twisted.internet import reactor

    one = StorageRun(reactor, tmp_path / "run", name, LOAD)
    run_in_reactor(one.measure)
    assert set(one.measured) == set(storage.WORKLOADS)
    assert all(set(each) == {"wall_s", "cpu_us", "per_s"} for each in one.measured.values())
    assert list(tmp_path.iterdir()) == [], "its files are gone"


def test_the_entries_are_shared_out_among_the_ledgers() -> None:
    assert (LOAD.of_each, StorageLoad(3, 10, 1, 1, 1).of_each) == (71, 1)


def test_the_classes_take_turns_and_stand_side_by_side(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun = []

    class Run:
        slowest_add_s = 0.25

        def __init__(self, reactor: object, directory: Path, name: str, load: StorageLoad) -> None:
            begun.append(directory.name)
            figures = {"wall_s": 1.0, "cpu_us": float(len(begun)), "per_s": 1000.0 * len(begun)}
            self.measured = dict.fromkeys(storage.WORKLOADS, figures)

        async def measure(self) -> None: ...

    monkeypatch.setattr(storage, "StorageRun", Run)
    from twisted.internet.defer import Deferred

    measuring = storage._measured(None, tmp_path, dict.fromkeys(["A", "B"]), LOAD, 2)
    measured = result_of(Deferred.fromCoroutine(measuring))
    assert begun == ["A-0", "B-0", "A-1", "B-1"]
    assert all(one["slowest_add_s"] == 0.25 and one["other_cores"] >= 0 for runs in measured.values() for one in runs)
    console = Console(width=100)
    with console.capture() as shown:
        console.print(storage._table(measured))
    (adds,) = [line for line in shown.get().splitlines() if " adds " in line]
    assert adds.replace("│", " ").split() == ["adds", "2", "(2,000)", "3", "(3,000)"]


def test_json_has_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {"SortedLedgerStorage": [{"adds": {"cpu_us": 1.0}}]}
    monkeypatch.setattr(storage, "run", lambda operation: measured)
    arguments = ["--class", "SortedLedgerStorage", "--entries", "10", "--ledgers", "2", "--json"]
    result = CliRunner().invoke(storage.storage, arguments)
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert set(report.pop("machine")) == {"python", "system", "cores"}
    shape = {"entries": 10, "ledgers": 2, "size": 100, "run": 10, "runs": 3}
    assert report == {**shape, "classes": measured}
