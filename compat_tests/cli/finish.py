"""Run an order on a target, tell about it, write the reports, end with the right code."""

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from compat_tests.cli.signals import ended_by_signals
from compat_tests.cli.writing import check_writers, write_reports
from compat_tests.judge.ground import Ground
from compat_tests.judge.result import Run
from compat_tests.judge.run import Order, perform
from compat_tests.judge.verdict import Verdict
from compat_tests.report.console import Console

CONFORMS, DOES_NOT, FAULT, NOT_CHECKED, INTERRUPTED = 0, 1, 3, 4, 130

Judged = TypeVar("Judged", bound=AbstractContextManager[Any])


def judge_and_report(
    target: Judged, ground_of: Callable[[Any], Ground], order: Order, options: Mapping[str, Any]
) -> None:
    """Judge the target and exit; it is entered and left, whatever happens."""
    check_writers(options)
    stop = threading.Event()
    with ended_by_signals(stop), target as entered:
        run = perform(ground_of(entered), order, Console(bool(options.get("verbose"))), stop)
    write_reports([run], options)
    sys.exit(exit_code(run))


def exit_code(run: Run) -> int:
    """How the command ends."""
    if run.interrupted:
        return INTERRUPTED
    if run.not_checked is not None:
        return NOT_CHECKED
    if run.counts[Verdict.ERROR]:
        return FAULT
    return CONFORMS if run.succeeded else DOES_NOT
