"""One server process: started with its log in a file, stopped, killed, paused; never left behind."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path

from compat_tests.targets import guardian

_POLL_S = 0.05
_TAIL_SIZE = 64 * 1024
_alive: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


class StartFailed(Exception):
    """A server ended, or was not ready in time; the text has the end of its log."""


class ServerProcess:
    """A process that serves until it is stopped.

    It gets a session of its own, so that Ctrl-C reaches the tests first and they stop it in order.

    :param environment: in place of ours
    :param tied: its standard input is a pipe from us: however we end, it sees the end of the file, and may end too
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        tied: bool = False,
    ) -> None:
        self.name = name
        self.command = command
        self.log = log
        self._environment = environment
        self._tied = tied
        self._popen: subprocess.Popen[bytes] | None = None
        self._log_before = 0

    @property
    def pid(self) -> int:
        """The process id; raises if it was never started."""
        return self._started_process().pid

    @property
    def running(self) -> bool:
        """Whether the process exists (a paused one does)."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def returncode(self) -> int | None:
        """How it ended, ``None`` while it runs; -9 after SIGKILL."""
        return self._started_process().poll()

    def start(self) -> None:
        """Start it; its output is appended to the log."""
        if self.running:
            raise RuntimeError(f"{self.name} is running already")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as output:
            self._log_before = output.tell()
            self._popen = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE if self._tied else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self.log.parent,
                start_new_session=True,
            )
        register(self._popen)

    def wait_until(self, ready: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Poll ``ready``; raises :class:`StartFailed` if the process ends first or the time is over."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if not self.running:
                raise StartFailed(f"{self.name} ended with {self.returncode} before {what}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise StartFailed(f"{self.name}: not {what} in {timeout_s} s:\n{self.tail()}")
            time.sleep(_POLL_S)

    def stop(self, timeout_s: float = 30) -> None:
        """End it with SIGTERM, with SIGKILL if that takes too long; nothing happens if it has ended."""
        if not self.running:
            return
        self.resume()  # a paused process would not see the signal
        self._started_process().terminate()
        try:
            self._started_process().wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close_input()

    def kill(self) -> None:
        """End it with SIGKILL and wait for that."""
        if self.running:
            self._started_process().kill()
            self._started_process().wait()
            self._close_input()

    def remove(self) -> None:
        """End it for good, with whatever it is run in; for a process that is all."""
        self.stop()

    def pause(self) -> None:
        """Stop it in its tracks (SIGSTOP): connections stay open, nothing is answered."""
        process = self._started_process()
        process.send_signal(signal.SIGSTOP)
        # Its threads may run on for a moment.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let a paused process go on."""
        self._started_process().send_signal(signal.SIGCONT)

    def has_said(self, text: str) -> bool:
        """Whether this is in its log since it was started last."""
        with open(self.log, "rb") as file:
            file.seek(self._log_before)
            return text.encode() in file.read()

    def tail(self, lines: int = 40) -> str:
        """The last lines of its log."""
        return tail_of(self.log, lines)

    def _close_input(self) -> None:
        stdin = self._started_process().stdin
        if stdin is not None:
            stdin.close()

    def _started_process(self) -> subprocess.Popen[bytes]:
        if self._popen is None:
            raise RuntimeError(f"{self.name} was never started")
        return self._popen


def tail_of(log: Path, lines: int) -> str:
    """The last lines of a log, however long it has grown."""
    if not log.exists():
        return "(no log)"
    with open(log, "rb") as file:
        file.seek(max(log.stat().st_size - _TAIL_SIZE, 0))
        return "\n".join(file.read(_TAIL_SIZE).decode(errors="replace").splitlines()[-lines:])


def register(popen: subprocess.Popen[bytes]) -> None:
    """Have a process ended when Python exits, or is killed, if it has not ended before."""
    _alive.add(popen)
    guardian.watch_process(popen.pid)


@atexit.register
def _kill_leftovers() -> None:
    for popen in list(_alive):
        if popen.poll() is None:
            guardian.end_group(popen.pid, signal.SIGKILL)
