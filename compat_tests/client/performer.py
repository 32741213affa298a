"""The processes in which the judged clients live."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from compat_tests.targets.java.driver_process import LineDriver, Reply
from compat_tests.targets.process import StartFailed


class Performer:
    """One driver process, started when it is first needed, and again when it has ended."""

    def __init__(self, name: str, command: Sequence[str], work_dir: Path) -> None:
        self.name = name
        self._command = command
        self._work_dir = work_dir
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._driver: LineDriver | None = None

    def new_name(self) -> str:
        """A name for a client that no other has had."""
        return f"client-{next(self._numbers)}"

    def submit(self, verb: str, values: Mapping[str, object]) -> Future[Reply]:
        """Send a request."""
        return self._running().submit_values(verb, values)

    def end(self) -> None:
        """End the process."""
        if self._driver is not None:
            self._driver.end(timeout_s=2)

    def _running(self) -> LineDriver:
        with self._lock:
            if self._driver is None or self._driver.popen.poll() is not None:
                self._work_dir.mkdir(parents=True, exist_ok=True)
                try:
                    self._driver = LineDriver(self.name, self._command, self._work_dir / "client.log")
                except OSError as error:
                    raise StartFailed(f"the driver {self._command[0]!r} cannot be started: {error}") from error
            return self._driver
