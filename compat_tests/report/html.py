"""Runs as one HTML file that loads nothing: no font, no script, no picture from anywhere."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import jinja2

from compat_tests.judge.result import Run
from compat_tests.report.annotate import Row
from compat_tests.report.console import lines
from compat_tests.report.matrix import matrices
from compat_tests.report.mutants import Mutants
from compat_tests.report.verdict_style import STYLES

TITLE = "BookKeeper conformance"


def write_html(
    runs: Iterable[Run], path: Path, mutants: Mutants | None = None, docs_url: str = "", title: str = TITLE
) -> None:
    """Write the page.

    :param runs: of any number of targets, of one role or both
    :param mutants: the trial of the suite itself, if it shall be on the page
    :param docs_url: where the reference stands, relative to the page or not; sections link there
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(runs, mutants, docs_url, title), encoding="utf-8")


def page(runs: Iterable[Run], mutants: Mutants | None = None, docs_url: str = "", title: str = TITLE) -> str:
    """Return the page."""
    found = list(runs)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("compat_tests.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["day"] = _day
    return environment.get_template("matrix.html").render(
        title=title,
        matrices=matrices(found),
        runs=found,
        with_bytes=any(result.exchange for run in found for result in run.results),
        mutants=mutants,
        docs_url=docs_url,
        styles=STYLES,
        lines_of=_lines_of,
    )


def _lines_of(rows: Sequence[Row]) -> str:
    return "\n".join(f"  {line}" for line in lines(rows))


def _day(started: str) -> str:
    """Return the day and minute of an ISO time, or the text as it is."""
    try:
        return datetime.fromisoformat(started).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return started
