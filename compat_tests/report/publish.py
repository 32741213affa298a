"""Put the matrix of the docs up to date: ``python -m compat_tests.report.publish RUN.json… [--mutants FILE]…``.

The runs are made with ``bookkeeper-conformance bookie --target … --json RUN.json`` and the same for clients, at any
time and on any machine; ``bookkeeper-conformance matrix`` makes them all in one go.  Written are the page with all
exchanges, and the runs without them, of which ``python -m compat_tests.report.pages`` makes the table of the docs.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from compat_tests.judge.result import Run
from compat_tests.report.html import write_html
from compat_tests.report.mutants import Mutants, joined, read_mutants
from compat_tests.report.runs import NotARun, read_all, write_json

FOLDER = Path("docs/_extra/conformance/full")
"""Copied as it is: the page links to the reference beside it."""

DOCS_URL = "../.."

PAGE, RUNS, MUTANTS = "matrix.html", "matrix.json", "mutants.json"


def publish(runs: Sequence[Run], folder: Path, mutants: Mutants | None = None) -> None:
    """Write the page and the runs."""
    write_html(runs, folder / PAGE, mutants, docs_url=DOCS_URL)
    if mutants is not None:
        text = json.dumps(mutants.to_json(), ensure_ascii=False, indent=1)
        (folder / MUTANTS).write_text(text + "\n", encoding="utf-8")
    write_json([run.without_exchanges() for run in runs], folder / RUNS)


def main(arguments: Sequence[str]) -> int:
    """Publish the runs that are named; return the exit code."""
    root = Path(__file__).parent.parent.parent
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
        mutants = joined([read_mutants(path) for path in trials]) if trials else None
    except NotARun as error:
        print(error, file=sys.stderr)
        return 2
    publish(runs, root / FOLDER, mutants)
    print(f"{FOLDER / PAGE}; now run python -m compat_tests.report.pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
