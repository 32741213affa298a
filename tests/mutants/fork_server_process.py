"""The process of the fork server, and the command that has it start a mutant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from compat_tests.targets import guardian
from compat_tests.targets.process import register
from tests.mutants import fork_client

_ROOT = Path(__file__).parent.parent.parent


class ForkServerProcess:
    """A context manager; all mutants that the server has started end with it."""

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(prefix="mutants-")
        guardian.watch_directory(Path(self._folder.name))
        self._place = f"{self._folder.name}/fork-server"
        self._popen = subprocess.Popen(
            [sys.executable, "-u", "-m", "tests.mutants.fork_server", self._place],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the tests, which then end it
        )
        register(self._popen)
        assert self._popen.stdout is not None
        if not self._popen.stdout.readline():
            raise RuntimeError(f"the fork server of the mutants ended with {self._popen.wait()}")
        return self

    def __exit__(self, *ended: object) -> None:
        self._popen.communicate()
        self._folder.cleanup()

    def launcher(self, name: str) -> list[str]:
        """The command that runs a mutant; the arguments of ``twistd``, or the module of a driver, follow it."""
        return [sys.executable, "-I", "-S", fork_client.__file__, self._place, name, "--"]
