"""``bookkeeper-conformance matrix``: many targets, both roles, one page."""

import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from compat_tests.bookie.ground import BookieGround
from compat_tests.cli.finish import exit_code
from compat_tests.cli.signals import ended_by_signals
from compat_tests.cli.writing import check_writers, write_page
from compat_tests.client.client_target import parse_client
from compat_tests.client.ground import ClientGround
from compat_tests.judge.case import Role
from compat_tests.judge.catalogue import load
from compat_tests.judge.ground import Ground
from compat_tests.judge.judgement import Measure
from compat_tests.judge.known import of_implementation
from compat_tests.judge.result import Run
from compat_tests.judge.run import Order, perform
from compat_tests.report.console import Console
from compat_tests.report.runs import write_json
from compat_tests.targets.lockfile import RELEASES
from compat_tests.targets.target import BadTarget, TargetOptions, parse

_SEED = 1
"""The same for all: equal exchanges are then kept once."""

ALL = ("ours", *(f"java:{release}" for release in RELEASES))


@click.command()
@click.option("--target", "targets", multiple=True, metavar="NAME", help="One of several; all that are known if none.")
@click.option("--role", "roles", multiple=True, type=click.Choice([str(role) for role in Role]), help="Both if none.")
@click.option("--output", required=True, type=click.Path(file_okay=False, path_type=Path), help="A directory.")
@click.option("--mutants", "mutants_path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--docs-url", default="", help="Where the reference stands, relative to the page or not.")
def matrix(
    targets: tuple[str, ...], roles: tuple[str, ...], output: Path, mutants_path: Path | None, docs_url: str
) -> None:
    """Judge several targets and put them beside each other: matrix.html, and matrix.json without the exchanges.

    Targets are ours, java:RELEASE and docker:RELEASE.
    """
    check_writers({"html_path": output / "matrix.html"})
    stop = threading.Event()
    runs: list[Run] = []
    with ended_by_signals(stop):
        for role in roles or tuple(map(str, Role)):
            for name in targets or ALL:
                if not stop.is_set():
                    runs.append(_judge(Role(role), name, stop))
    output.mkdir(parents=True, exist_ok=True)
    write_json([run.without_exchanges() for run in runs], output / "matrix.json")
    write_page(runs, output / "matrix.html", mutants_path, docs_url)
    sys.exit(max(map(exit_code, runs), default=0))


def _judge(role: Role, name: str, stop: threading.Event) -> Run:
    command = shlex.join(["bookkeeper-conformance", role, "--target", name])
    with _ground(role, name) as ground:
        measure = Measure(divergences=of_implementation(ground.info.implementation))
        return perform(ground, Order(load(role), measure, _SEED, command=command), Console(), stop)


@contextmanager
def _ground(role: Role, name: str) -> Iterator[Ground]:
    try:
        if role is Role.CLIENT:
            with ClientGround(parse_client(name.replace("docker:", "java:"))) as ground:
                yield ground
            return
        options: Any = TargetOptions(with_metadata=True)
        with parse(name, options) as target:
            yield BookieGround(target)
    except BadTarget as error:
        raise click.UsageError(str(error)) from None
