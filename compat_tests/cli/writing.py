"""Write the reports that were asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from compat_tests.judge.result import Run

DOCS_URL = ""

_NEEDS_EXTRA = ("html_path", "junit_path", "badge_path", "pcap_path")


def check_writers(options: Mapping[str, Any]) -> None:
    """Find out before anything runs whether what writes the reports is installed."""
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


def write_reports(runs: Sequence[Run], options: Mapping[str, Any], mutants_path: Path | None = None) -> None:
    """Write them.  JUnit, badge and capture are of one run."""
    if options.get("json_path"):
        from compat_tests.report.runs import write_json

        write_json(_one(runs, "--json"), options["json_path"])
    if options.get("html_path"):
        write_page(runs, options["html_path"], mutants_path, options.get("docs_url", DOCS_URL))
    if options.get("junit_path"):
        from compat_tests.report.junit import write_junit

        write_junit(_one(runs, "--junit"), options["junit_path"])
    if options.get("badge_path"):
        from compat_tests.report.badge import write_badge

        write_badge(_one(runs, "--badge"), options["badge_path"])
    if options.get("markdown_path"):
        from compat_tests.report.markdown import write_markdown

        write_markdown(runs, options["markdown_path"])
    if options.get("pcap_path"):
        from compat_tests.report.pcap import write_pcap

        write_pcap(_one(runs, "--pcap"), options["pcap_path"], options.get("case"))


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
