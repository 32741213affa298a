"""Bring the matrix of the docs up to date: ``python -m compat_tests.report.publish RUN.json… [--mutants FILE]…``.

The runs are made with ``bookkeeper-conformance bookie --target … --json RUN.json`` and the same for clients, at any
time and on any machine; ``bookkeeper-conformance matrix`` makes them all in one go.  Written are the published form of
the runs and of the trial of the suite, and the pages of ``compat_tests.report.pages``.  Of several runs of one target
the last counts: ``docs/conformance/runs.json``, named first, keeps the targets that were not judged anew.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from compat_tests.judge.result import Run
from compat_tests.report import pages
from compat_tests.report.json_rows import json_rows
from compat_tests.report.mutants import Mutants, join, read_mutants
from compat_tests.report.published import MUTANTS, RUNS, write_published
from compat_tests.report.runs import NotARun, read_all

ROOT = Path(__file__).parent.parent.parent


def publish(runs: Sequence[Run], root: Path, mutants: Mutants | None = None) -> None:
    """Write the published form; the mutants of before stay if none are given."""
    write_published(runs, root / RUNS)
    if mutants is not None:
        (root / MUTANTS).write_text(json_rows(mutants.to_json(with_times=False)), encoding="utf-8")


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Publish the runs that are named; return the exit code."""
    names, trials = list(arguments), list[Path]()
    while "--mutants" in names[:-1]:
        at = names.index("--mutants")
        trials.append(Path(names[at + 1]))
        del names[at : at + 2]
    if not names or any(name.startswith("-") for name in names):
        print("usage: python -m compat_tests.report.publish RUN.json... [--mutants FILE]...", file=sys.stderr)
        return 2
    try:
        runs = read_all(map(Path, names))
        mutants = join([read_mutants(path) for path in trials]) if trials else None
    except NotARun as error:
        print(error, file=sys.stderr)
        return 2
    publish(runs, root, mutants)
    for path in (RUNS, *([MUTANTS] if mutants else []), *(each.relative_to(root) for each in pages.write(root))):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
