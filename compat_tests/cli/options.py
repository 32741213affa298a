"""The options that both roles have, and the order that they make."""

import shlex
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

from compat_tests.catalogue import load, select
from compat_tests.judge import features
from compat_tests.judge.case import Role
from compat_tests.judge.divergences import of_implementation
from compat_tests.judge.features import FeatureFile
from compat_tests.judge.judgement import Measure
from compat_tests.judge.run import Order
from compat_tests.judge.schedule import Pace

Function = TypeVar("Function", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option("--only", multiple=True, metavar="PATTERN", help="Cases by id, area or section; * is anything."),
    click.option("--skip", multiple=True, metavar="PATTERN", help="Cases to leave out, likewise."),
    click.option("--features", "features_path", type=_FILE, help="TOML file: what the target is, has and diverges in."),
    click.option("--strict", is_flag=True, help="SHOULD and MAY bind like MUST; nothing is tolerated."),
    click.option(
        "--seed", type=click.IntRange(0, (1 << 18) - 1), help="Ledger ids and random choices; shown in reports."
    ),
    click.option("--jobs", type=click.IntRange(1, 64), default=8, show_default=True, help="Cases at a time."),
    click.option("--first-failure", is_flag=True, help="End at the first failure."),
    click.option("--json", "json_path", type=_FILE, help="Write the whole run, exchanges too, as JSON."),
    click.option("--html", "html_path", type=_FILE, help="Write one self-contained HTML page."),
    click.option("--junit", "junit_path", type=_FILE, help="Write JUnit XML."),
    click.option("--badge", "badge_path", type=_FILE, help="Write an SVG badge (or .json for shields)."),
    click.option("--pcap", "pcap_path", type=_FILE, help="Write the exchanges as a packet capture."),
    click.option("--markdown", "markdown_path", type=_FILE, help="Append a table, as to GITHUB_STEP_SUMMARY."),
    click.option("--verbose", is_flag=True, help="Show every case, and the traceback of a fault of the suite."),
)


def run_options(function: Function) -> Function:
    """Give a command the options that both roles have."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read_features(path: Path | None) -> FeatureFile:
    """The user's feature file; a usage error names what is wrong with it."""
    if path is None:
        return FeatureFile()
    try:
        return features.read(path)
    except features.BadFeatureFile as error:
        raise click.UsageError(str(error)) from None


def order_of(role: Role, feature_file: FeatureFile, implementation: str, chosen: dict[str, Any]) -> Order:
    """The order to run.  Raises UsageError for a pattern, or a divergence of the feature file, without a case."""
    _demand_cases(role, feature_file)
    try:
        cases = select(load(role), chosen["only"], chosen["skip"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    divergences = [*feature_file.divergences, *of_implementation(implementation)]
    return Order(
        cases,
        Measure(chosen["strict"], divergences),
        chosen["seed"],
        Pace(jobs=chosen["jobs"]),
        command(),
        feature_file.features,
        chosen["first_failure"],
    )


def _demand_cases(role: Role, feature_file: FeatureFile) -> None:
    """Require that every divergence is of a case of the role: another one would have no effect."""
    ids = {case.id for case in load(role)}
    for wrong in (each.case for each in feature_file.divergences if each.case not in ids):
        where = f"{feature_file.source}: divergence of {wrong}"
        if other := next((case.role for case in load() if case.id == wrong), None):
            raise click.UsageError(f"{where}: that is a case for a {other.value}, and this is a {role.value}")
        near = get_close_matches(wrong.upper(), sorted(ids), n=3)
        meant = f"did you mean {' or '.join(near)}" if near else "`bookkeeper-conformance list` shows what there is"
        raise click.UsageError(f"{where}: there is no such case; {meant}")


def command() -> str:
    """The command line as it was typed."""
    return shlex.join(["bookkeeper-conformance", *sys.argv[1:]])
