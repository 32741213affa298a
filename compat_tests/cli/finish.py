"""Judge a target, show the run, write the reports, and exit with the code of the run."""

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import click

from compat_tests.cli.signals import stop_on_signals
from compat_tests.cli.writing import check_writers, write_reports
from compat_tests.judge.environment import Environment
from compat_tests.judge.result import Run
from compat_tests.judge.run import Order, Progress, perform
from compat_tests.judge.verdict import Verdict
from compat_tests.report.console import Console
from compat_tests.targets.lifetime import CleanupFailed

CONFORMS, DOES_NOT, FAULT, NOT_CHECKED, INTERRUPTED = 0, 1, 3, 4, 130

TargetT = TypeVar("TargetT", bound=AbstractContextManager[Any])


def judge_and_report(
    target: TargetT, environment_of: Callable[[Any], Environment], order: Order, options: Mapping[str, Any]
) -> None:
    """Judge the target and exit; it is entered and left, whatever happens."""
    check_writers(options)
    with stop_on_signals() as stop:
        run, left = judge_target(target, environment_of, order, Console(bool(options.get("verbose"))), stop)
    write_reports([run], options)
    sys.exit(exit_code(run) or (FAULT if left else CONFORMS))


def judge_target(
    target: TargetT,
    environment_of: Callable[[Any], Environment],
    order: Order,
    progress: Progress,
    stop: threading.Event,
) -> tuple[Run, bool]:
    """Open and judge a target; return the run, and whether something was left behind, which is printed."""
    run = None
    try:
        with target as open_target:
            run = perform(environment_of(open_target), order, progress, stop)
    except CleanupFailed as trouble:
        click.echo(f"left behind: {trouble}", err=True)
        if run is None:
            raise click.ClickException("the target could not be judged") from None
        return run, True
    return run, False


def exit_code(run: Run) -> int:
    """How the command ends."""
    if run.interrupted:
        return INTERRUPTED
    if run.not_checked is not None:
        return NOT_CHECKED
    if run.counts[Verdict.ERROR]:
        return FAULT
    return CONFORMS if run.succeeded else DOES_NOT
