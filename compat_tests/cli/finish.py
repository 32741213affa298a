"""Run an order on a target, tell about it, write the reports, end with the right code."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

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
    with _ended_by_signals(stop), target as entered:
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


@contextmanager
def _ended_by_signals(stop: threading.Event) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends the run in order; a second one is not waited for."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def end(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
