"""Run one coroutine on the reactor, with a clean exit after success, error and signals."""

import gc
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import click
from twisted.internet.defer import Deferred
from twisted.logger import ILogObserver, LogEvent, globalLogBeginner
from twisted.python.failure import Failure
from zope.interface import provider

from bookkeeper_tx.cli.main import Session
from bookkeeper_tx.transport.monotonic_reactor import make_monotonic

Result = TypeVar("Result")


GARBAGE_THRESHOLDS = (50_000, 50, 1000)
"""New objects before Python looks for garbage cycles among them, and how often it looks at older ones.

Thousands of requests in flight are as many live objects.  With Python's default of 700 it looks at all of them again
and again, which takes a quarter of the CPU of appending.
"""


def run(operation: Callable[[Any], Coroutine[Any, Any, Result]]) -> Result:
    """Run ``operation(reactor)`` to its end and return its result, or raise its error.

    Ctrl-C and SIGTERM cancel it.  It may take its time to clean up; a second Ctrl-C ends it at once.  In both cases
    :class:`click.Abort` is raised.  A reactor runs only once, so this can be called only once in a process.
    """
    from twisted.internet import reactor as installed

    reactor = cast(Any, installed)
    make_monotonic(reactor)
    outcome: list[Result | Failure] = []
    interrupted = False

    def start() -> None:
        running = Deferred.fromCoroutine(operation(reactor))
        reactor.addSystemEventTrigger("before", "shutdown", cancel, running)
        running.addBoth(finish)

    def finish(result: Result | Failure) -> None:
        outcome.append(result)
        if not interrupted:
            reactor.stop()

    def cancel(running: "Deferred[None]") -> "Deferred[None] | None":
        nonlocal interrupted
        if outcome:
            return None
        interrupted = True
        signal.signal(signal.SIGINT, lambda *_: reactor.callFromThread(reactor.crash))
        running.cancel()
        return running  # the reactor goes on until the operation has cleaned up

    _keep_logs_quiet(lambda: not outcome and not interrupted)
    collect_garbage_seldom()
    reactor.callWhenRunning(start)
    reactor.run()
    if interrupted:
        raise click.Abort()
    (result,) = outcome
    if isinstance(result, Failure):
        result.raiseException()
    return result


@contextmanager
def everything_stopped_on_signals() -> Iterator[None]:
    """Make SIGTERM and a closed terminal end the block as Ctrl-C does, so that it stops the processes it started."""

    def interrupt(*_: Any) -> None:
        # A shell's background ignores SIGINT, and a reactor that runs takes SIGTERM, but loses what is raised in it.
        heeded = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) not in deaf]
        if not heeded:
            raise KeyboardInterrupt
        signal.raise_signal(heeded[0])

    deaf = (signal.SIG_IGN, interrupt)
    before = {each: signal.signal(each, interrupt) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def collect_garbage_seldom() -> None:
    """Have Python look for garbage cycles as seldom as a program with thousands of requests in flight should."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def _keep_logs_quiet(under_way: Callable[[], bool]) -> None:
    """Keep Twisted from printing tracebacks beside our one line of error; ``bktx --debug`` shows them.

    An error that no caller handles is printed as a warning of one line, since it may be the reason for a standstill.
    After the operation has ended no warning is printed: its own error says more.
    """

    @provider(ILogObserver)
    def observe(event: LogEvent) -> None:
        failure = event.get("log_failure")
        if failure is not None and under_way():
            text = f"{failure.type.__name__}: {failure.getErrorMessage()}"
            click.echo(f"warning: {text} (bktx --debug … shows where)", err=True)

    context = click.get_current_context(silent=True)
    session = context.find_object(Session) if context else None
    if session is None or not session.debug:
        globalLogBeginner.beginLoggingTo([observe], redirectStandardIO=False, discardBuffer=True)
