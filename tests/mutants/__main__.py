"""The mutation score: ``python -m tests.mutants [--full] [--json FILE] [NAME…]``; * in a name is anything."""

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from compat_tests.targets.zookeeper import ZooKeeper
from tests.mutants.all_mutants import MUTANTS
from tests.mutants.mutant import CLIENT, Mutant
from tests.mutants.scoring import AT_ONCE, Judge, Outcome, report


def main() -> int:
    """Try the mutants and print each outcome as it comes; exit code 1 if a mutant survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"])
    parser.add_argument("--full", action="store_true", help="try every case on every mutant")
    parser.add_argument("--role", choices=["bookie", "client"])
    parser.add_argument("--json", type=Path, help="where to write the score")
    chosen = parser.parse_args()
    mutants = [
        mutant
        for mutant in MUTANTS.values()
        if any(fnmatchcase(mutant.name, name) for name in chosen.names) and chosen.role in (None, mutant.role)
    ]
    outcomes = []
    with _metadata(mutants) as metadata, Judge(metadata) as judge, ThreadPoolExecutor(AT_ONCE) as pool:
        for outcome in pool.map(judge.all_kills if chosen.full else judge.first_kill, mutants):
            outcomes.append(outcome)
            print(_line(outcome), flush=True)
    score = report(outcomes, chosen.full)
    print(f"{score['score']} killed; survivors: {', '.join(score['survivors']) or 'none'}")
    if chosen.json:
        chosen.json.write_text(json.dumps(score, indent=1), encoding="utf-8")
    return 1 if score["survivors"] else 0


@contextmanager
def _metadata(mutants: list[Mutant]) -> Iterator[str | None]:
    """One ZooKeeper for all mutants of the client."""
    with ExitStack() as stack:
        if not any(mutant.role == CLIENT for mutant in mutants):
            yield None
            return
        folder = stack.enter_context(TemporaryDirectory())
        zookeeper = stack.enter_context(ZooKeeper(Path(folder) / "zookeeper"))
        yield f"zk+hierarchical://{zookeeper.hosts}/ledgers"


def _line(outcome: Outcome) -> str:
    killed = ", ".join(outcome.killed_by[:4]) + (
        f" and {more} more" if (more := len(outcome.killed_by) - 4) > 0 else ""
    )
    return f"{outcome.seconds:6.1f} s  {outcome.mutant.name}: {killed or 'SURVIVES'}"


if __name__ == "__main__":
    sys.exit(main())
