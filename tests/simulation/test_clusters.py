"""Simulated clusters: whatever fails, what clients were told stays true, and everything goes on afterwards."""

import gc
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.operations.brake import Brake
from bookkeeper_tx.bookie.storage.scrub import Looked, Scrub, Suspect
from bookkeeper_tx.client.append_queue import AppendQueue
from bookkeeper_tx.client.long_poll import TailWait
from bookkeeper_tx.config import BookieConfig
from compat_tests.targets.pytest_plugin import is_full
from tests.simulation import planted
from tests.simulation.world import bookie_node, fault, faults, storage_classes
from tests.simulation.world.history import Violation
from tests.simulation.world.shrinking import shrink
from tests.simulation.world.simulation import Outcome, Simulation

pytestmark = pytest.mark.crash

CHUNK = 25
SEEDS, SEEDS_OF_FULL = 500, 5000
SEEDS_TO_FIND = 20_000
"""Within so many each known defect has to be found."""
QUICKLY_FOUND = (
    "addresses-are-forgotten",
    "any-error-is-absence",
    "closed-ledgers-stay-where-they-were",
    "confirms-while-the-ensemble-changes",
    "not-sent-again",
    "one-acknowledgement-is-enough",
)
PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seeds" in metafunc.fixturenames:
        count = SEEDS_OF_FULL if is_full(metafunc.config) else SEEDS
        chunks = [range(first, first + CHUNK) for first in range(0, count, CHUNK)]
        metafunc.parametrize("seeds", chunks, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
    if "defect" in metafunc.fixturenames:
        found = [name for name, seed in seeds_of_page().items() if seed is not None]
        metafunc.parametrize("defect", found if is_full(metafunc.config) else QUICKLY_FOUND)


@pytest.fixture(scope="module", autouse=True)
def few_objects() -> Iterator[None]:
    """Each simulation looks for garbage before it begins: not among what the test run has."""
    gc.freeze()
    yield
    gc.unfreeze()


def test_what_clients_were_told_stays_true_and_everything_goes_on(seeds: range) -> None:
    counts: Counter[str] = Counter()
    for seed in seeds:
        outcome = Simulation(seed).run()
        assert outcome.violation is None, f"python -m tests.simulation --seeds {seed}"
        counts += Counter(outcome.counts)
    assert counts["bookies with databases"]
    assert (
        min(
            counts[each]
            for each in ("appends", "appends together", "entries read", "entries tailed", "recoveries", "faults")
        )
        > 20
    )


@pytest.mark.full
@pytest.mark.parametrize("first", range(0, 2 * CHUNK, CHUNK))
def test_so_it_is_with_bookies_of_several_directories(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    config_of = bookie_node.config_of

    def with_more(address: str, random: Random) -> BookieConfig:
        more: dict[str, Any] = {
            "more_ledger_directories": ("/more", "/journal"),
            "index_directories": ("/index", "/ledgers"),
        }
        return evolve(config_of(address, random), **more)

    monkeypatch.setattr(bookie_node, "config_of", with_more)
    index_files = [storage_classes.INDEX_FILES] * storage_classes.BOOKIES_MAX
    monkeypatch.setattr(storage_classes, "draw", lambda seed: index_files)  # databases have one directory
    for seed in range(first, first + CHUNK):
        assert Simulation(seed).run().violation is None, seed


def test_one_seed_of_eight_has_databases_at_all_bookies_or_at_some() -> None:
    kinds = [frozenset(storage_classes.draw(seed)) for seed in range(8 * 20)]
    assert [seed for seed, each in enumerate(kinds) if storage_classes.DATABASES in each] == list(range(4, 160, 8))
    assert len(set(kinds)) == 3


def test_a_seed_is_one_history() -> None:
    # The bookies of 4 and 36 have databases; in the last two many connections end at once.
    seeds = [*range(3, 6), 36, 50026, 50043]
    script = (
        "from tests.simulation.world.simulation import Simulation\n"
        f"outcomes = [Simulation(seed).run() for seed in {seeds}]\n"
        "print([(outcome.steps, sorted(outcome.counts.items())) for outcome in outcomes])\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(printed) == 1
    assert "appends" in printed.pop()


def test_a_failure_is_made_small() -> None:
    def run(only: frozenset[int]) -> Outcome:
        return Outcome(1, [], Violation() if {2, 5} <= only else None, {}, 1)

    assert shrink(run, 9) == {2, 5}
    assert shrink(lambda only: Outcome(1, [], Violation(), {}, 1), 9) == frozenset()


def test_a_known_defect_is_noticed(defect: str) -> None:
    """At the seed of the page, or, since other changes change what a seed is, at one of the others."""
    seed = seeds_of_page()[defect]
    assert seed is not None
    found = planted.first_found(planted.DEFECTS[defect], [seed, *range(SEEDS_TO_FIND)])
    assert found is not None
    assert isinstance(found.violation, Violation)


def test_every_defect_is_on_the_page() -> None:
    assert list(seeds_of_page()) == list(planted.DEFECTS)


def test_every_fault_is_on_the_page() -> None:
    table = PAGE.read_text().split("## What goes wrong")[1].split("\n## ")[0]
    rows = re.findall(r"^\| *\w* *\| ([a-z ]+) \|", table, re.MULTILINE)
    assert sorted(set(rows) - {"fault"}) == sorted(fault.KINDS)


@pytest.mark.parametrize(
    ("place", "name", "unbounded"),
    [(Brake, "holds", lambda *_: False), (AppendQueue, "_find_room", lambda _: True)],
    ids=["bookie", "writer"],
)
def test_memory_without_a_bound_is_noticed(
    place: type, name: str, unbounded: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, unbounded)
    monkeypatch.setattr(faults, "chosen_kinds", lambda random, count: ["stalled disk"] * count)
    violations = (Simulation(seed).run().violation for seed in range(200))
    noticed = str(next(each for each in violations if each is not None))
    assert re.search("of the budget queued, and may have 20000|are on their way, and (10|10000) may be", noticed)


def test_an_operation_that_takes_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    end = TailWait._timed_out
    monkeypatch.setattr(TailWait, "_timed_out", lambda wait: wait._later(2.0, end, wait))
    violations = (Simulation(seed).run().violation for seed in range(20))
    assert "s, and may take 1.5 s" in str(next(each for each in violations if each is not None))


def test_what_the_scrubber_of_a_bookie_finds_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Looked(1, [Suspect(0, 1028, "entry 0 is not at offset 1024")], None)
    monkeypatch.setattr(Scrub, "look", lambda *_: found)
    violations = (Simulation(seed).run().violation for seed in range(storage_classes.OFFSET, 80, storage_classes.EVERY))
    assert str(next(each for each in violations if each)) == "nothing was damaged: entry 0 is not at offset 1024"


def seeds_of_page() -> dict[str, int | None]:
    """Return the defects of the page, each with the seed that finds it."""
    rows = re.findall(r"^\| ([a-z-]+) \| [^|]* \| [^|]* \| (\d+|none) \|", PAGE.read_text(), re.MULTILINE)
    return {name: None if seed == "none" else int(seed) for name, seed in rows}


@pytest.mark.parametrize("kind", sorted(fault.KINDS))
def test_a_fault_alone_breaks_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "chosen_kinds", lambda random, count: [kind] * count)
    monkeypatch.setattr(faults, "draw_plot", lambda random, at_s: [])
    monkeypatch.setattr(faults, "TAKEOVERS", 0.0)
    outcome = Simulation(1).run()
    assert outcome.violation is None
    assert outcome.counts["faults"]
