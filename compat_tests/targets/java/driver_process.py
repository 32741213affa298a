"""Talk to the driver of a client: numbered requests on its standard input, replies in any order from its output."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from pathlib import Path

import attrs

from compat_tests.targets.java.class_archive import class_archive
from compat_tests.targets.java.driver_classes import MAIN_CLASS, driver_classes
from compat_tests.targets.java_logging import logging_flags
from compat_tests.targets.java_program import JavaProgram, bookkeeper
from compat_tests.targets.java_runner import JavaRunner, chosen_runner
from compat_tests.targets.jvm import OPENED_PACKAGES, SMALL_JVM, property_flags
from compat_tests.targets.process import register, tail_of

Reply = Mapping[str, str]

_LINE_MAX = 256 << 20
"""Bytes of a reply: a hundred entries of the largest size in hexadecimal fit many times."""


@attrs.define(eq=False)
class JavaError(Exception):
    """The client reports an error; for Java's client, an exception."""

    code: int | None
    """BookKeeper's client code (-7 no such ledger, -101 fenced, ...); ``None`` for any other exception."""
    name: str
    """The class of the exception, without its package."""
    message: str
    fields: Reply = attrs.field(factory=dict, repr=False)
    """Further values of the driver's reply, as the number of adds that were acknowledged nevertheless."""

    def __str__(self) -> str:
        return f"{self.name} ({self.code}): {self.message}"


class DriverEnded(Exception):
    """The process ended with requests unanswered; the text has the end of its log."""


def parse_reply(line: str) -> tuple[int, Reply | JavaError]:
    """Split a reply line into the request's number and its values, or the error it reports."""
    number, outcome, *parts = line.rstrip("\n").split("\t")
    values = dict(part.split("=", 1) for part in parts)
    if outcome == "ok":
        return int(number), values
    code = values.pop("code")
    error = JavaError(None if code == "-" else int(code), values.pop("name"), values.pop("message"), values)
    return int(number), error


def render_request(number: int, verb: str, values: Mapping[str, object]) -> str:
    """One request line; bytes become hex, booleans Java's words, ``None`` is left out."""
    parts = [str(number), verb]
    for name, value in values.items():
        if isinstance(value, bytes):
            value = value.hex()
        elif isinstance(value, bool):
            value = str(value).lower()
        if value is not None:
            text = f"{name}={value}"
            if "\t" in text or "\n" in text:
                raise ValueError(f"a tab or a line end in {text!r}")
            parts.append(text)
    return "\t".join(parts) + "\n"


def java_driver_command(
    release: str,
    work_dir: Path,
    heap_mb: int = 256,
    properties: Mapping[str, object] | None = None,
    more_jars: Sequence[Path] = (),
    runner: JavaRunner | None = None,
) -> list[str]:
    """The command line of the driver of one release; the configuration of its log is written to ``work_dir``."""
    runner = runner or chosen_runner()
    temporary = work_dir / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    product = bookkeeper(release)
    program = JavaProgram(
        product=product,
        main=MAIN_CLASS,
        arguments=(),
        work_dir=work_dir,
        log=work_dir / "client.log",
        heap_mb=heap_mb,
        base_flags=[*SMALL_JVM, *(class_archive(release).flags() if runner.maps_classes(product) else ())],
        flags=[
            *OPENED_PACKAGES,
            *property_flags(properties),
            f"-Djava.io.tmpdir={temporary}",
            *logging_flags(work_dir, level="warn"),
        ],
        classes=[driver_classes(release), *more_jars],
    )
    return runner.command(program)


class LineDriver:
    """A running driver of any client; raises OSError if its command cannot be started."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = log
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Reply]] = {}
        self._lock = threading.Lock()
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended: DriverEnded | None = None
        with open(log, "ab") as output:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                env=environment,
            )
        register(self._popen)
        threading.Thread(target=self._read, name=f"replies of {name}", daemon=True).start()
        threading.Thread(target=self._write, name=f"requests to {name}", daemon=True).start()

    @property
    def popen(self) -> subprocess.Popen[bytes]:
        """The process."""
        return self._popen

    def submit(self, verb: str, **values: object) -> Future[Reply]:
        """Send a request; its future has the reply's values or raises :class:`JavaError`."""
        return self.submit_values(verb, values)

    def submit_values(self, verb: str, values: Mapping[str, object]) -> Future[Reply]:
        """As :meth:`submit`, for names that are no Python names."""
        future: Future[Reply] = Future()
        with self._lock:
            number = next(self._numbers)
            line = render_request(number, verb, values)
            if self._ended is not None:
                future.set_exception(self._ended)
                return future
            self._waiting[number] = future
            self._to_write.put(line.encode())
        return future

    def call(self, verb: str, timeout_s: float = 60, **values: object) -> Reply:
        """Send a request and wait; raises :class:`JavaError`, :class:`DriverEnded` or :class:`TimeoutError`."""
        return self.submit_values(verb, values).result(timeout_s)

    def end(self, timeout_s: float = 10) -> None:
        """Close its standard input: it then halts without closing a ledger."""
        self._to_write.put(None)
        try:
            self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """SIGKILL, to it and to what it has started, and wait for the end."""
        self._kill()
        self._popen.wait()

    def _kill(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._popen.pid, signal.SIGKILL)  # it has a session of its own

    def tail(self, lines: int = 30) -> str:
        """The last lines of its log."""
        return tail_of(self.log, lines)

    def _write(self) -> None:
        """Write requests, on a thread of its own: a driver that does not read must not block its callers."""
        requests = self._popen.stdin
        with contextlib.suppress(OSError, ValueError):  # the end of its output tells why
            while requests is not None and (line := self._to_write.get()) is not None:
                requests.write(line)
                requests.flush()
        if requests is not None:
            with contextlib.suppress(OSError):
                requests.close()

    def _lines(self) -> Iterator[bytes]:
        while self._popen.stdout is not None and (line := self._popen.stdout.readline(_LINE_MAX)):
            yield line

    def _read(self) -> None:
        why = "ended"
        for line in self._lines():
            try:
                number, outcome = parse_reply(line.decode())
            except (ValueError, KeyError):
                self._kill()  # not a driver: its further output means nothing
                why = f"wrote a line that is no reply, {line[:80]!r}"
                break
            future = self._waiting.pop(number, None)
            if future is None:
                continue
            try:
                if isinstance(outcome, JavaError):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
            except InvalidStateError:
                continue  # cancelled by a test that gave up on it
        with self._lock:
            self._ended = DriverEnded(f"{self.name} {why}\n{self.tail()}".strip())
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(self._ended)
            self._waiting.clear()
        self._to_write.put(None)


class DriverProcess(LineDriver):
    """A running driver of one release of Java."""

    def __init__(
        self,
        release: str,
        work_dir: Path,
        heap_mb: int = 256,
        properties: Mapping[str, object] | None = None,
        more_jars: Sequence[Path] = (),
    ) -> None:
        self.release = release
        command = java_driver_command(release, work_dir, heap_mb, properties, more_jars)
        super().__init__(f"Java client {release}", command, work_dir / "client.log")
