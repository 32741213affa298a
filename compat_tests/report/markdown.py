"""The outcomes of runs as a table in Markdown: for the summary of a job, and for pages."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from compat_tests.judge.result import Run
from compat_tests.judge.verdict import Verdict
from compat_tests.report.matrix import matrices
from compat_tests.report.verdict_style import STYLES

FAILURES_SHOWN = 30
"""Failures that a summary names; the reports have all."""


def write_markdown(runs: Iterable[Run], path: Path) -> None:
    """Append a summary to a file, as GitHub wants it in ``GITHUB_STEP_SUMMARY``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(summary(runs))


def summary(runs: Iterable[Run]) -> str:
    """Return a table of targets by verdict, and the failures by name."""
    runs = list(runs)
    lines = ["# BookKeeper conformance", "", *verdict_table(runs)]
    bad = [(run, result) for run in runs for result in run.results if result.verdict in (Verdict.FAIL, Verdict.ERROR)]
    if bad:
        lines += ["", *table(["target", "case", "", "what is wrong"], [])]
    for run, result in bad[:FAILURES_SHOWN]:
        what = f"{STYLES[result.verdict].sign} {STYLES[result.verdict].word.lower()}"
        message = result.message.strip().rpartition("\n")[2]
        lines.append(_row([run.target.name, f"{result.case} {result.dialect}".rstrip(), what, message]))
    if len(bad) > FAILURES_SHOWN:
        lines += ["", f"{len(bad) - FAILURES_SHOWN} more are in the reports."]
    return "\n".join(lines) + "\n"


def verdict_table(runs: Sequence[Run]) -> list[str]:
    """Return the lines of a table of targets by verdict; a case counts by the worse of its protocol versions."""
    rows = []
    used = [
        verdict
        for verdict in STYLES
        if verdict in (Verdict.PASS, Verdict.FAIL) or any(run.counts[verdict] for run in runs)
    ]
    for matrix in matrices(runs):
        for column in matrix.columns:
            target = column.run.target
            counts = dict(column.counts)
            cells = [str(counts[verdict] or "") for verdict in used]
            if column.run.not_checked is not None:
                cells = [f"not checked: {column.run.not_checked}", *[""] * (len(used) - 1)]
            rows.append([matrix.role, target.name, *cells, target.how])
    heads = [f"{STYLES[verdict].sign} {STYLES[verdict].word.lower()}" for verdict in used]
    return table(["role", "target", *heads, "how it was run"], rows)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(cell, cells))} |"


def cell(text: str) -> str:
    """Return text that stays in its cell and is no markup."""
    flat = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return flat.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")
