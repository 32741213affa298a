"""Programs that use the client, as processes of their own: what they print, what they warn of, how they end."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import TracebackType
from typing import Self

TIMEOUT_S = 60
ROOT = Path(__file__).parents[3]

# A warning is an error, and those that have nobody to be raised to are written to standard error.
_STRICT = ("-W", "error")
_LEFT_OPEN = ("-W", "ignore::ResourceWarning")


def as_in_the_foreground() -> None:
    """Take Ctrl-C, though a shell may have started the tests in its background, where SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Program:
    """A Python program that runs; its arguments are in ``sys.argv``.

    ``leaves_open``: it closes nothing before its end, so Python may say that its sockets were open.
    ``python_path``: one more directory of modules.
    """

    def __init__(self, text: str, *arguments: str, leaves_open: bool = False, python_path: Path = ROOT) -> None:
        options = _STRICT + (_LEFT_OPEN if leaves_open else ())
        self.process = subprocess.Popen(
            [sys.executable, *options, "-u", "-c", dedent(text), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=as_in_the_foreground,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{python_path}"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        """The next line that it prints, empty at its end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def tell(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ended(self) -> tuple[int, list[str], str]:
        """Wait for its end: its exit code, the lines that were not read, what it has written to standard error."""
        output, errors = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, output.splitlines(), errors


def outcome(text: str, *arguments: str, leaves_open: bool = False) -> tuple[int, list[str], str]:
    """Run a program to its end; see :meth:`Program.ended`."""
    with Program(text, *arguments, leaves_open=leaves_open) as program:
        return program.ended()
