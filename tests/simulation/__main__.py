"""Simulated clusters, one for each seed: ``python -m tests.simulation --seeds 0-9999 --jobs 2`` (docs/simulation.md).

The exit code is 0 if nothing was broken, 1 if an invariant was, 2 if something does not go on, 3 if a program broke.
"""

import argparse
import gc
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from attrs import frozen
from twisted.logger import globalLogBeginner

from tests.simulation.planted import DEFECTS, first_found
from tests.simulation.world.history import Stuck, Violation
from tests.simulation.world.shrinking import shrink
from tests.simulation.world.simulation import Simulation

CHUNK = 20
"""Seeds that a process takes at a time."""


@frozen
class Part:
    """What some seeds came to."""

    seeds: int
    steps: int
    cpu_s: float
    counts: Counter[str]
    failed: list[tuple[int, str, int]]
    """Seeds, what is broken, and the exit code for that."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="0-99", help="the first and the last, or one")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--faults", help="of one seed: the numbers of the faults that are to happen")
    parser.add_argument(
        "--planted", choices=[*DEFECTS, "all"], help="put a known defect back, and look which seed finds it"
    )
    parser.add_argument("--failures", type=int, default=1, help="stop after so many seeds that fail")
    chosen = parser.parse_args()
    _be_quiet()
    first, _, last = chosen.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if chosen.planted:
        names = list(DEFECTS) if chosen.planted == "all" else [chosen.planted]
        return _find(names, seeds, chosen.jobs)
    if len(seeds) == 1:
        return _replay(seeds[0], chosen.faults)
    return _run_all(seeds, chosen.jobs, chosen.failures)


def _run_all(seeds: range, jobs: int, failures_max: int) -> int:
    started = time.monotonic()
    steps, done, cpu_s = 0, 0, 0.0
    counts: Counter[str] = Counter()
    failed: list[tuple[int, str, int]] = []
    with ProcessPoolExecutor(jobs) as pool:
        chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
        for part in pool.map(_run_chunk, chunks):
            done, steps, cpu_s = done + part.seeds, steps + part.steps, cpu_s + part.cpu_s
            counts += part.counts
            failed += part.failed
            for seed, text, _ in part.failed:
                print(f"seed {seed}: {text}", flush=True)
            if len(failed) >= failures_max:
                pool.shutdown(cancel_futures=True)
                break
    if failed:
        _replay(failed[0][0], None)
    seconds = time.monotonic() - started
    print(f"{done} seeds, {len(failed)} failed, {steps} steps, {cpu_s:.0f} s of CPU, {seconds:.0f} s")
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    return failed[0][2] if failed else 0


def _find(names: list[str], seeds: range, jobs: int) -> int:
    """Print the table of the page: which seed finds each of the defects; return 0 if all are found."""
    print("| defect | from | what is wrong | found by seed | seeds tried |\n|---|---|---|---|---|", flush=True)
    code = 0
    with ProcessPoolExecutor(jobs) as pool:
        for name, found in zip(names, pool.map(partial(_first_seed, seeds=seeds), names), strict=True):
            code = code if found is not None else 1
            seed, tried = ("none", len(seeds)) if found is None else (found, found - seeds[0] + 1)
            defect = DEFECTS[name]
            print(f"| {name} | {defect.origin} | {defect.text} | {seed} | {tried:,} |", flush=True)
    return code


def _first_seed(name: str, seeds: range) -> int | None:
    found = first_found(DEFECTS[name], seeds)
    if found is not None:
        print(f"{name}: {_text(found.violation)}", file=sys.stderr, flush=True)
    return None if found is None else found.seed


def _be_quiet() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    globalLogBeginner.beginLoggingTo([], redirectStandardIO=False, discardBuffer=True)


def _run_chunk(seeds: range) -> Part:
    started_s, steps = time.process_time(), 0
    counts: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        outcome = Simulation(seed).run()
        counts += Counter(outcome.counts)
        steps += outcome.steps
        if outcome.violation is not None:
            failed.append((seed, _text(outcome.violation), _code(outcome.violation)))
    return Part(len(seeds), steps, time.process_time() - started_s, counts, failed)


def _replay(seed: int, faults: str | None) -> int:
    """Run one seed, and say what happens; made small, if it fails and no faults were chosen."""
    only = None if faults is None else frozenset(int(each) for each in faults.split(",") if each)
    outcome = Simulation(seed, only).run()
    if outcome.violation is not None and only is None:
        only = shrink(lambda some: Simulation(seed, some).run(), len(outcome.faults))
        print(f"replay it: python -m tests.simulation --seeds {seed} --faults {','.join(map(str, sorted(only)))}")
    outcome = Simulation(seed, only, say=print).run()
    if outcome.violation is None:
        print(f"seed {seed}: all is well after {outcome.steps} steps")
        return 0
    print(f"seed {seed}: {_text(outcome.violation)}")
    return _code(outcome.violation)


def _text(violation: BaseException | None) -> str:
    return f"{type(violation).__name__}: {violation}"


def _code(violation: BaseException) -> int:
    if isinstance(violation, Stuck):
        return 2
    return 1 if isinstance(violation, Violation) else 3


if __name__ == "__main__":
    sys.exit(main())
