"""Running one coroutine on the reactor, each time in a process of its own: a reactor runs once."""

import signal
import subprocess
import sys

import pytest

from tests.cli.bktx_process import environment

PROGRAM = """
import os, signal, time
import click
from twisted.internet import defer, task
from bookkeeper_tx.cli.run import everything_stopped_on_signals, run

# Signal handlers as in a terminal: in tests run in the background they may be ignored.
signal.signal(signal.SIGINT, signal.CTRL_C)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

async def returns(reactor):
    await task.deferLater(reactor, 0)
    return 7

def outlives_a_clock_set_back():
    from twisted.internet import reactor
    late_s = 0.0
    reactor.seconds = lambda: time.time() - late_s
    async def operation(reactor):
        nonlocal late_s
        timed = task.deferLater(reactor, 0.01)
        late_s = 3600.0
        await timed
        return 7
    return operation

async def raises(reactor):
    await task.deferLater(reactor, 0)
    raise ValueError("wrong")

async def waits(reactor):
    reactor.callLater(0, os.kill, os.getpid(), NUMBER)
    try:
        await defer.Deferred()
    finally:
        await task.deferLater(reactor, 0.01)
        print("cleaned up")

async def never_ends(reactor):
    reactor.callLater(0, os.kill, os.getpid(), NUMBER)
    reactor.callLater(0.1, os.kill, os.getpid(), NUMBER)
    try:
        await defer.Deferred()
    finally:
        await defer.Deferred()

async def forgets_an_error(reactor):
    reactor.callLater(0, lambda: 1 / 0)
    await task.deferLater(reactor, 0.01)

with everything_stopped_on_signals():
    try:
        print(run(OPERATION))
    except click.Abort:
        print("aborted")
    except ValueError as error:
        print("raised", error)
"""


BEFORE_THE_REACTOR = """
import os, signal
from bookkeeper_tx.cli.run import everything_stopped_on_signals

signal.signal(signal.SIGINT, signal.CTRL_C)
try:
    with everything_stopped_on_signals():
        os.kill(os.getpid(), NUMBER)
        print("not reached")
except KeyboardInterrupt:
    print("interrupted")
"""

IN_A_TERMINAL, IN_THE_BACKGROUND = "default_int_handler", "SIG_IGN"
"""What Ctrl-C does: a shell has its background ignore it."""


def outcome(operation, sent=signal.SIGINT, ctrl_c=IN_A_TERMINAL, program=PROGRAM):
    """Run an operation of a program; return its output, and its error output."""
    program = program.replace("OPERATION", operation).replace("NUMBER", str(int(sent))).replace("CTRL_C", ctrl_c)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, timeout=30, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_result_is_returned():
    assert outcome("returns") == ("7\n", "")


def test_timers_do_not_wait_for_a_clock_that_was_set_back():
    assert outcome("outlives_a_clock_set_back()") == ("7\n", "")


def test_the_error_is_raised():
    assert outcome("raises") == ("raised wrong\n", "")


@pytest.mark.parametrize("ctrl_c", [IN_A_TERMINAL, IN_THE_BACKGROUND])
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_block_in_the_background_as_well(sent, ctrl_c):
    assert outcome("waits", sent, ctrl_c) == ("cleaned up\naborted\n", "")
    assert outcome("", sent, ctrl_c, BEFORE_THE_REACTOR) == ("interrupted\n", "")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_and_cleaning_up_is_waited_for(sent):
    assert outcome("waits", sent) == ("cleaned up\naborted\n", "")


def test_a_second_ctrl_c_waits_no_longer():
    printed, _ = outcome("never_ends")
    assert printed == "aborted\n"


def test_an_error_that_nobody_waits_for_is_told():
    printed, said = outcome("forgets_an_error")
    assert printed == "None\n"
    assert said.startswith("warning: ZeroDivisionError")
    assert "Traceback" not in said
