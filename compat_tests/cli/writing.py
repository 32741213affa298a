"""Write the reports that were asked for."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from compat_tests.judge.result import Run

_PATH = "_path"
_NEEDS_EXTRA = ("html_path", "junit_path", "badge_path", "pcap_path")


class NotWritten(click.ClickException):
    """A report could not be written; the text says which, and why."""

    exit_code = 3


def check_writers(options: Mapping[str, Any]) -> None:
    """Check before anything runs that reports can be written: the packages are installed, the places can be written.

    Raises UsageError.
    """
    if any(options.get(name) for name in _NEEDS_EXTRA):
        try:
            import anybadge  # noqa: F401
            import dpkt  # noqa: F401
            import jinja2  # noqa: F401
            import junitparser  # noqa: F401
        except ImportError as error:
            raise click.UsageError(
                f"{error.name} is not installed, which these reports need: pip install 'bookkeeper_tx[conformance]'"
            ) from None
    for name, path in options.items():
        if name.endswith(_PATH) and path is not None:
            _check_place(f"--{name.removesuffix(_PATH)}", path)


def _check_place(option: str, path: Path) -> None:
    """Check the file, or the nearest folder above it that exists: the folders between are made later."""
    place = path if path.exists() else next(each for each in path.absolute().parents if each.exists())
    if (place != path and not place.is_dir()) or not os.access(place, os.W_OK):
        raise click.UsageError(f"{option} {path}: nothing can be written to {place}")


def write_reports(runs: Sequence[Run], options: Mapping[str, Any], mutants_path: Path | None = None) -> None:
    """Write them.  JUnit, badge and capture are of one run.

    Raises NotWritten when all were tried and the disk did not take some.
    """
    troubles = []
    for name, write in _writers(options, mutants_path).items():
        path = options.get(name)
        if path is not None:
            try:
                write(runs, path)
            except OSError as error:
                troubles.append(f"--{name.removesuffix(_PATH)} {path}: {error.strerror or error}")
    if troubles:
        raise NotWritten("; ".join(troubles))


def _writers(
    options: Mapping[str, Any], mutants_path: Path | None
) -> dict[str, Callable[[Sequence[Run], Path], object]]:
    """The writers by option; each imports its own packages, some of which may not be installed."""

    def json(runs: Sequence[Run], path: Path) -> None:
        from compat_tests.report.runs import write_json

        write_json(_one(runs, "--json"), path)

    def html(runs: Sequence[Run], path: Path) -> None:
        write_page(runs, path, mutants_path, options.get("docs_url", ""))

    def junit(runs: Sequence[Run], path: Path) -> None:
        from compat_tests.report.junit import write_junit

        write_junit(_one(runs, "--junit"), path)

    def badge(runs: Sequence[Run], path: Path) -> None:
        from compat_tests.report.badge import write_badge

        write_badge(_one(runs, "--badge"), path)

    def markdown(runs: Sequence[Run], path: Path) -> None:
        from compat_tests.report.markdown import write_markdown

        write_markdown(runs, path)

    def pcap(runs: Sequence[Run], path: Path) -> None:
        from compat_tests.report.pcap import write_pcap

        write_pcap(_one(runs, "--pcap"), path, options.get("case"))

    writers = (json, html, junit, badge, markdown, pcap)
    return {f"{write.__name__}{_PATH}": write for write in writers}


def write_page(runs: Sequence[Run], path: Path, mutants_path: Path | None, docs_url: str) -> None:
    """Write the HTML page of any number of runs."""
    from compat_tests.report.html import write_html
    from compat_tests.report.mutants import read_mutants

    mutants = read_mutants(mutants_path) if mutants_path else None
    write_html(runs, path, mutants, docs_url)


def _one(runs: Sequence[Run], option: str) -> Run:
    if len(runs) != 1:
        raise click.UsageError(f"{option} takes one run, and these are {len(runs)}")
    return runs[0]
