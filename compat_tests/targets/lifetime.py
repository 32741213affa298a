"""The lifetime of all that a target starts: servers, final actions, and a directory for their files."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Protocol, TypeVar

from compat_tests.targets import guardian
from compat_tests.targets.unavailable import Unavailable

T = TypeVar("T")

#: These end a program without running its ``finally`` clauses; while a target lives they raise SystemExit instead.
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)

#: As many starts at once as a small machine can bear: a Java bookie takes a core for two seconds.
_STARTS_AT_ONCE = 2

#: How long the end waits for a start that is under way; its server is stopped, so the start fails soon.
_START_ENDS_WITHIN_S = 30.0


class Stoppable(Protocol):
    """A server that can be stopped more than once, also while it starts."""

    def stop(self) -> None: ...


class CleanupFailed(Exception):
    """Something could not be stopped or removed; the text names it."""


class Lifetime:
    """A context manager: whatever ends it, the servers and directories that were made within are then removed.

    Ctrl-C and SIGTERM reach the main thread only. Starts are made in other threads, so that no signal comes between a
    process and the note that it exists.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._servers: list[Stoppable] = []
        self._last: list[Callable[[], None]] = []
        self._starting = 0
        self._closed = False
        self._directory: Path | None = None
        self._numbers: dict[str, int] = {}
        self._threads = ThreadPoolExecutor(_STARTS_AT_ONCE, "start")
        self._handlers: dict[int, object] = {}

    def directory(self, name: str) -> Path:
        """A new directory, which is removed at the end; names may be given more than once."""
        if threading.current_thread() is threading.main_thread():
            return self.run(partial(self._make_directory, name))
        return self._make_directory(name)

    @property
    def root(self) -> Path:
        """The directory that all of them are in."""
        if threading.current_thread() is threading.main_thread():
            return self.run(self._make_root)
        return self._make_root()

    def _make_root(self) -> Path:
        with self._changed:
            self._refuse_if_closed()
            if self._directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix="bookkeeper-conformance-"))
                guardian.watch_directory(self._directory)
            return self._directory

    def _make_directory(self, name: str) -> Path:
        with self._changed:
            root = self._make_root()
            self._numbers[name] = self._numbers.get(name, 0) + 1
            path = root / f"{name}{self._numbers[name]}"
            path.mkdir()
        return path

    def launch(self, server: Stoppable, start: Callable[[], T]) -> T:
        """Run ``start`` and return its result; ``server`` is stopped at the end, even if the end comes meanwhile."""
        with self._changed:
            self._refuse_if_closed()
            self._servers.append(server)
        return self.run(start)

    def run(self, start: Callable[[], T]) -> T:
        """Run ``start`` where no signal interrupts it; the end waits for it."""
        with self._changed:
            self._refuse_if_closed()
            self._starting += 1
        return self._threads.submit(self._run_start, start).result()

    def forget(self, server: Stoppable) -> None:
        """Drop a server that has been stopped and will not be started again."""
        with self._changed:
            if server in self._servers:
                self._servers.remove(server)

    def finally_do(self, action: Callable[[], None]) -> None:
        """Do this at the end, after the servers have been stopped; the last action that was given comes first."""
        with self._changed:
            self._refuse_if_closed()
            self._last.append(action)

    def close(self) -> None:
        """Stop and remove everything; raises :class:`CleanupFailed` after all was tried. May be called again."""
        with self._changed:
            self._closed = True
        with _signals_ignored():
            troubles = self._stop_servers()
            with self._changed:
                self._changed.wait_for(lambda: self._starting == 0, _START_ENDS_WITHIN_S)
            troubles += self._stop_servers()  # servers whose process came up only after the first stop
            self._threads.shutdown(wait=False)
            while self._last:
                troubles += _errors_of(self._last.pop())
            if self._directory is not None:
                directory = self._directory
                troubles += _errors_of(lambda: shutil.rmtree(directory))
                self._directory = None
        if troubles:
            raise CleanupFailed("; ".join(dict.fromkeys(troubles)))

    def _run_start(self, start: Callable[[], T]) -> T:
        try:
            return start()
        finally:
            with self._changed:
                self._starting -= 1
                self._changed.notify_all()

    def _stop_servers(self) -> list[str]:
        with self._changed:
            servers = list(self._servers)
        if not servers:
            return []
        with ThreadPoolExecutor(len(servers), "stop") as threads:
            return [
                trouble for found in threads.map(lambda server: _errors_of(server.stop), servers) for trouble in found
            ]

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Unavailable("the target has been closed")

    def __enter__(self) -> Lifetime:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    self._handlers[number] = signal.signal(number, _raise_exit)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            self.close()
        finally:
            for number in self._handlers:
                signal.signal(number, signal.SIG_DFL)
            self._handlers.clear()


def _raise_exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _errors_of(action: Callable[[], None]) -> list[str]:
    try:
        action()
    except Exception as error:  # the rest is to be removed all the same; close() reports this one
        return [f"{type(error).__name__}: {error}"]
    return []


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """A second Ctrl-C must not leave half of the servers running; stopping them takes seconds at most."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *_SIGNALS)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
