"""Run one coroutine on the reactor, and leave cleanly however it ends."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import click
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

Result = TypeVar("Result")


def run(operation: Callable[[Any], Coroutine[Any, Any, Result]]) -> Result:
    """Run ``operation(reactor)`` to its end and return its result, or raise its error.

    Ctrl-C and SIGTERM cancel it; it may take its time to clean up.  Then :class:`click.Abort` is raised.  A reactor
    runs once, so this can be called once a process.
    """
    from twisted.internet import reactor

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
        running.cancel()
        return running  # the reactor goes on until the operation has cleaned up

    reactor.callWhenRunning(start)
    reactor.run()
    if interrupted:
        raise click.Abort()
    (result,) = outcome
    if isinstance(result, Failure):
        result.raiseException()
    return result
