"""``bookkeeper-conformance matrix``: many targets, both roles, one page."""

import shlex
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import click

from compat_tests.bookie.bookie_environment import BookieEnvironment
from compat_tests.catalogue import load
from compat_tests.cli.finish import FAULT, INTERRUPTED, exit_code, judge_target
from compat_tests.cli.signals import stop_on_signals
from compat_tests.cli.writing import NotWritten, check_writers, write_page
from compat_tests.client.client_environment import ClientEnvironment
from compat_tests.client.client_target import parse_client
from compat_tests.judge.case import Role
from compat_tests.judge.divergences import of_implementation
from compat_tests.judge.judgement import Measure
from compat_tests.judge.result import Run
from compat_tests.judge.run import Order
from compat_tests.report.console import Console
from compat_tests.report.mutants import read_mutants
from compat_tests.report.runs import NotARun, write_json
from compat_tests.targets.address import AddressTarget
from compat_tests.targets.lockfile import RELEASES
from compat_tests.targets.target import BadTarget, TargetOptions, parse

_SEED = 1
"""The same for all targets, so that the page keeps equal exchanges once."""

ALL = ("ours", *(f"java:{release}" for release in RELEASES))


@click.command()
@click.option("--target", "targets", multiple=True, metavar="NAME", help="One of several; all that are known if none.")
@click.option("--role", "roles", multiple=True, type=click.Choice([str(role) for role in Role]), help="Both if none.")
@click.option("--output", required=True, type=click.Path(file_okay=False, path_type=Path), help="A directory.")
@click.option(
    "--mutants",
    "mutants_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The trial of the suite itself, for the page.",
)
@click.option("--docs-url", default="", help="Where the reference stands, relative to the page or not.")
def matrix(
    targets: tuple[str, ...], roles: tuple[str, ...], output: Path, mutants_path: Path | None, docs_url: str
) -> None:
    """Judge several targets, and put them beside each other.

    Written are matrix.html, and matrix.json without the exchanges.

    Targets are ours, java:RELEASE and docker:RELEASE.  One that cannot be had does not keep the others from being
    judged; the exit code is that of the worst target.
    """
    check_writers({"html_path": output / "matrix.html", "json_path": output / "matrix.json"})
    chosen = [Role(role) for role in roles] or list(Role)
    for name in targets:
        _check_name(name, chosen)
    _check_mutants(mutants_path)
    runs: list[Run] = []
    codes = [0]
    with stop_on_signals() as stop:
        for role in chosen:
            for name in targets or ALL:
                if not stop.is_set():
                    run, left = _judge(role, name, stop)
                    runs.append(run)
                    codes += [exit_code(run), FAULT if left else 0]
    try:
        output.mkdir(parents=True, exist_ok=True)
        write_json([run.without_exchanges() for run in runs], output / "matrix.json")
        write_page(runs, output / "matrix.html", mutants_path, docs_url)
    except OSError as error:
        raise NotWritten(f"--output {output}: {error.strerror or error}") from None
    sys.exit(INTERRUPTED if stop.is_set() else max(codes))


def _check_name(name: str, roles: Sequence[Role]) -> None:
    """Find a mistake in a name before any target is judged."""
    try:
        if isinstance(parse(name), AddressTarget):  # all runs have one seed, and so the ledgers of the run before
            raise BadTarget(f"{name}: judge it with `bookie --address`, and put the runs together with `report`")
        if Role.CLIENT in roles:
            parse_client(name)
    except BadTarget as error:
        raise click.UsageError(str(error)) from None


def _check_mutants(path: Path | None) -> None:
    try:
        if path is not None:
            read_mutants(path)
    except NotARun as error:
        raise click.UsageError(str(error)) from None


def _judge(role: Role, name: str, stop: threading.Event) -> tuple[Run, bool]:
    command = shlex.join(["bookkeeper-conformance", role, "--target", name])

    def order_for(implementation: str) -> Order:
        return Order(load(role), Measure(divergences=of_implementation(implementation)), _SEED, command=command)

    if role is Role.CLIENT:
        client = ClientEnvironment(parse_client(name))
        return judge_target(
            client, lambda environment: environment, order_for(client.info.implementation), Console(), stop
        )
    target = parse(name, TargetOptions(with_metadata=True))
    return judge_target(target, BookieEnvironment, order_for(target.implementation), Console(), stop)
