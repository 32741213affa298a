"""``bookkeeper-conformance report``: make reports of runs that were kept."""

from pathlib import Path
from typing import Any

import click

from compat_tests.cli.writing import check_writers, write_reports
from compat_tests.report.runs import NotARun, read_all

_FILE = click.Path(dir_okay=False, path_type=Path)
_REPORTS = ("html_path", "junit_path", "badge_path", "pcap_path", "markdown_path")
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=_EXISTING)
@click.option("--html", "html_path", type=_FILE, help="One page with all of them, targets beside each other.")
@click.option("--junit", "junit_path", type=_FILE, help="JUnit XML, of one run.")
@click.option("--badge", "badge_path", type=_FILE, help="SVG badge, or .json for shields, of one run.")
@click.option("--pcap", "pcap_path", type=_FILE, help="The exchanges of one run as a packet capture.")
@click.option("--markdown", "markdown_path", type=_FILE, help="Append a table, as to GITHUB_STEP_SUMMARY.")
@click.option("--case", help="For --pcap: of one case only.")
@click.option("--mutants", "mutants_path", type=_EXISTING, help="For --html: the trial of the suite itself.")
@click.option("--docs-url", default="", help="For --html: where the reference stands.")
def report(runs: tuple[Path, ...], mutants_path: Path | None, **options: Any) -> None:
    """Make reports of runs that were kept.

    RUNS are files that --json has written, or the published ones of docs/conformance/runs.json.

    \b
      bookkeeper-conformance report mine.json java.json --html both.html
    """
    check_writers(options)
    if not any(options[name] for name in _REPORTS):
        raise click.UsageError("ask for a report: --html, --junit, --badge, --markdown or --pcap")
    try:
        found = read_all(runs)
        if options["case"] and not any(options["case"] == result.case for run in found for result in run.results):
            raise click.UsageError(f"--case: no result of {options['case']} in these runs")
        write_reports(found, options, mutants_path)
    except NotARun as error:
        raise click.UsageError(str(error)) from None
    except (LookupError, TypeError, AttributeError, ValueError) as error:  # JSON of the right form with other content
        names = ", ".join(map(str, runs))
        raise click.UsageError(f"{names}: what is no run, as --json writes them: {error!r}") from None
