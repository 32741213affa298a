"""The nursery as those see it who want mutants started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from compat_tests.targets import guardian
from compat_tests.targets.process import register
from tests.mutants import stand_in

_ROOT = Path(__file__).parent.parent.parent


class NurseryProcess:
    """Runs within a ``with``; all mutants end with it."""

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(prefix="mutants-")
        guardian.watch_directory(Path(self._folder.name))
        self._place = f"{self._folder.name}/nursery"
        self._popen = subprocess.Popen(
            [sys.executable, "-u", "-m", "tests.mutants.nursery", self._place],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the tests, which then end it
        )
        register(self._popen)
        assert self._popen.stdout is not None
        if not self._popen.stdout.readline():
            raise RuntimeError(f"the nursery of the mutants ended with {self._popen.wait()}")
        return self

    def __exit__(self, *ended: object) -> None:
        self._popen.communicate()
        self._folder.cleanup()

    def launcher(self, name: str) -> list[str]:
        """The command that takes the words of ``twistd``, or the module of a driver, and runs a mutant."""
        return [sys.executable, "-I", "-S", stand_in.__file__, self._place, name, "--"]
