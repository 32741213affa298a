"""Fixtures of the tests of mutants: the mutants of a run are tried several at a time, in no order of the tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from compat_tests.targets.zookeeper import ZooKeeper
from tests.mutants.mutant import BOOKIE, CLIENT, Mutant
from tests.mutants.scoring import AT_ONCE, Judge, Outcome, report


class Trial:
    """The mutants of one role that the tests of this run name."""

    def __init__(self, judge: Judge, mutants: list[Mutant], every_case: bool) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        how = judge.all_kills if every_case else judge.first_kill
        self._outcomes: dict[str, Future[Outcome]] = {each.name: self._pool.submit(how, each) for each in mutants}

    def outcome_of(self, mutant: Mutant) -> Outcome:
        """Wait for the outcome of a mutant."""
        return self._outcomes[mutant.name].result()

    def end(self) -> None:
        """Try no more."""
        self._pool.shutdown(cancel_futures=True)

    def known(self) -> list[Outcome]:
        """The outcomes of the mutants whose trial came to its end."""
        return [each.result() for each in self._outcomes.values() if not each.cancelled() and not each.exception()]


def _trial(request: pytest.FixtureRequest, role: str, metadata: str | None, kept: Path | None) -> Iterator[Trial]:
    chosen = [item.callspec.params.get("mutant") for item in request.session.items if hasattr(item, "callspec")]
    mutants = [mutant for mutant in chosen if isinstance(mutant, Mutant) and mutant.role == role]
    with Judge(metadata) as judge:
        trial = Trial(judge, mutants, every_case=kept is not None)
        yield trial
        trial.end()
        if kept:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / f"mutants-{role}.json").write_text(json.dumps(report(trial.known(), full=True), indent=1))


@pytest.fixture(scope="module")
def bookie_trial(request: pytest.FixtureRequest, kept_runs: Path | None) -> Iterator[Trial]:
    yield from _trial(request, BOOKIE, None, kept_runs)


@pytest.fixture(scope="module")
def client_trial(
    request: pytest.FixtureRequest, kept_runs: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trial]:
    folder: Path = tmp_path_factory.mktemp("metadata")
    with ZooKeeper(folder / "zookeeper") as zookeeper:
        yield from _trial(request, CLIENT, f"zk+hierarchical://{zookeeper.hosts}/ledgers", kept_runs)
