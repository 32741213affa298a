"""A server that keeps metadata, on loopback, for as long as a test needs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from compat_tests.targets.ports import choose_port
from compat_tests.targets.process import ServerProcess


class MetadataServer(ABC):
    """A standalone server; a context manager, or ``start()`` and ``stop()``.

    Started again it has the same port and the same data. It does not sync its log to disk: what it loses in a power
    failure no test asks for.

    :param port: chosen if not given
    """

    def __init__(self, work_dir: Path, port: int | None = None) -> None:
        self.work_dir = work_dir
        self.port = port or choose_port()
        self._process: ServerProcess | None = None

    @property
    def hosts(self) -> str:
        """``host:port``, as it stands in a metadata URI."""
        return f"127.0.0.1:{self.port}"

    @property
    def process(self) -> ServerProcess:
        """The process, for its pid and log."""
        if self._process is None:
            self._process = self._new_process()
        return self._process

    def start(self, timeout_s: float = 60) -> Self:
        """Start it and wait until it serves."""
        self.work_dir.mkdir(parents=True, exist_ok=True)
        for name, text in self._files().items():
            (self.work_dir / name).write_text(text, encoding="utf-8")
        self.process.start()
        self.process.wait_until(self.serving, timeout_s, "serving")
        return self

    def stop(self) -> None:
        """Stop it; sessions and leases live on when it is started again soon enough."""
        if self._process is not None:
            self._process.stop()

    def remove(self) -> None:
        """Stop it for good: what it is run in goes, too."""
        if self._process is not None:
            self._process.remove()

    def pause(self) -> None:
        """Freeze it: connections stay, nothing is answered."""
        self.process.pause()

    def resume(self) -> None:
        """Let it go on after :meth:`pause`."""
        self.process.resume()

    @abstractmethod
    def serving(self) -> bool:
        """Whether it serves."""

    def _files(self) -> dict[str, str]:
        """Return the files that it reads when it starts, by name."""
        return {}

    @abstractmethod
    def _new_process(self) -> ServerProcess:
        """Return its process, which is not started."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()
