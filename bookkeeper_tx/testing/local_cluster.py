"""A whole cluster for the tests of applications: bookies as processes on loopback, metadata in an SQLite file::

    with LocalCluster(tmp_path, bookie_count=3) as cluster:
        client = BookKeeper(cluster.metadata_uri)
        ...
        cluster.kill(1)
        cluster.restart(1)

The calls block; from a reactor use ``deferToThread``.
"""

import atexit
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import bookkeeper_tx

READY = re.compile(r"^bookie (?P<id>\S+) listening on (?P<host>\S+):(?P<port>\d+)$", re.MULTILINE)
"""The line that a bookie prints when it serves."""

SETTINGS = {"diskUsageThreshold": 1, "diskUsageWarnThreshold": 1}
"""The disk of who runs tests may be nearly full, and tests write little."""

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.02

# The cluster holds the other end of the bookie's standard input.  When the cluster's process ends, in any way, the
# bookie sees the end of the file and ends too.
_TWISTD = """
import os, signal, threading
def end_with_the_cluster():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end_with_the_cluster, daemon=True).start()
from twisted.scripts.twistd import run; run()
"""
_LOG_LINES_SHOWN = 20


class BookieFailed(Exception):
    """A bookie did not start, or ended by itself; the text has the end of its log."""


class LocalBookie:
    """One bookie of a :class:`LocalCluster`: a directory, and a process or none."""

    def __init__(
        self, directory: Path, metadata_uri: str, settings: Mapping[str, object], options: Sequence[str]
    ) -> None:
        self.directory = directory
        self.log_path = directory / "bookie.log"
        self.bookie_id = ""
        """Its bookie id; empty until it was ready once."""
        self.port = 0
        """The port on which it listens; a restart keeps it."""
        self._metadata_uri = metadata_uri
        self._settings = {**SETTINGS, **settings}
        self._options = list(options)
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """The id of its process, None if there is none."""
        return self._process.pid if self.running and self._process is not None else None

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """The log since it was last launched."""
        if not self.log_path.exists():
            return ""
        with self.log_path.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def command(self, wire_compat: str = "") -> list[str]:
        """Return the command that runs it."""
        arguments = ["--metadata", self._metadata_uri, "--data", str(self.directory / "data"), "--port", str(self.port)]
        path = self.directory / "bk_server.conf"
        path.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()))
        arguments += ["--config", str(path)]
        if wire_compat:
            arguments += ["--wire-compat", wire_compat]
        return [sys.executable, "-c", _TWISTD, "--nodaemon", "--pidfile=", "bookie", *arguments, *self._options]

    def launch(self, wire_compat: str = "") -> None:
        """Start the process; :meth:`wait_until_ready` returns when it serves."""
        if self.running:
            raise BookieFailed(f"bookie {self.bookie_id} is running: kill or stop it first")
        self.directory.mkdir(parents=True, exist_ok=True)
        root = str(Path(bookkeeper_tx.__file__).parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
        with self.log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                self.command(wire_compat),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self.directory,
                # Ctrl-C at the terminal goes to the program that uses the cluster only; that program stops the bookies.
                start_new_session=True,
            )

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Return when it serves.  Raises BookieFailed if it ends before, or is not ready in time."""
        process = self._launched
        deadline = time.monotonic() + timeout_s
        while (ready := READY.search(self.log)) is None:
            ended = process.poll()
            if ended is not None:
                raise BookieFailed(f"the bookie in {self.directory} ended with {ended}:\n{self.log_end()}")
            if time.monotonic() > deadline:
                raise BookieFailed(
                    f"the bookie in {self.directory} is not ready after {timeout_s} s:\n{self.log_end()}"
                )
            time.sleep(POLL_INTERVAL_S)
        self.bookie_id, self.port = ready["id"], int(ready["port"])

    def wait(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Return how the process ended: its exit code, or the negative signal.  Raises BookieFailed if it does not."""
        process = self._launched
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise BookieFailed(f"the bookie in {self.directory} does not end:\n{self.log_end()}") from None
        if process.stdin is not None:
            process.stdin.close()
        return code

    def kill(self) -> None:
        """End the process with SIGKILL; returns when it is gone."""
        if self.running:
            self._launched.kill()
            self.wait()

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """End the process with SIGTERM; returns how it ended."""
        self.ask_to_stop()
        return self.wait(timeout_s)

    def ask_to_stop(self) -> None:
        """Send SIGTERM if it runs."""
        if self.running:
            self._launched.send_signal(signal.SIGTERM)

    def log_end(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.splitlines()[-_LOG_LINES_SHOWN:])

    @property
    def _launched(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise BookieFailed(f"the bookie in {self.directory} was never launched")
        return self._process


class LocalCluster:
    """Bookies in processes of their own; a context manager that starts and stops them.

    :param directory: the data, logs and metadata of the bookies lie below it
    :param bookie_count: how many bookies
    :param metadata_uri: URI of a store; default: an SQLite file in ``directory``
    :param settings: keys of Java's ``bk_server.conf`` for every bookie (docs/guides/configuration.md); other than
        usual, a disk is full when no byte is left (``diskUsageThreshold`` and ``diskUsageWarnThreshold`` = 1)
    :param options: more options of ``twistd bookie`` for every bookie
    :raises BookieFailed: on entering, when a bookie does not start; no method that starts one returns before it serves
    """

    def __init__(
        self,
        directory: str | Path,
        bookie_count: int = 3,
        *,
        metadata_uri: str | None = None,
        settings: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.directory = Path(directory).absolute()
        self.metadata_uri = metadata_uri or f"sqlite://{self.directory / 'metadata.db'}"
        """The metadata URI for clients."""
        self.bookies: list[LocalBookie] = []
        """By index."""
        self._held_ports: list[socket.socket] = []
        self._settings = dict(settings or {})
        self._options = options
        for _ in range(bookie_count):
            self._make_bookie(self._settings, options)

    def _make_bookie(self, settings: Mapping[str, object], options: Sequence[str]) -> LocalBookie:
        bookie = LocalBookie(self.directory / f"bookie-{len(self.bookies)}", self.metadata_uri, settings, options)
        self.bookies.append(bookie)
        return bookie

    @property
    def bookie_ids(self) -> list[str]:
        """Names of the bookies, in the order of their indexes."""
        return [bookie.bookie_id for bookie in self.bookies]

    def start(self) -> "LocalCluster":
        """Start every bookie that does not run; returns when all serve, and stops them all if one does not."""
        self.directory.mkdir(parents=True, exist_ok=True)
        atexit.register(self.kill_all)
        try:
            starting = [bookie for bookie in self.bookies if not bookie.running]
            for bookie in starting:
                self._launch(bookie)
            for bookie in starting:
                bookie.wait_until_ready()
        except BaseException:
            self.kill_all()
            raise
        return self

    def add_bookie(
        self, *, wire_compat: str = "", settings: Mapping[str, object] | None = None, options: Sequence[str] = ()
    ) -> int:
        """Start one more bookie; returns its index."""
        bookie = self._make_bookie({**self._settings, **(settings or {})}, [*self._options, *options])
        self._launch(bookie, wire_compat)
        bookie.wait_until_ready()
        return len(self.bookies) - 1

    def _launch(self, bookie: LocalBookie, wire_compat: str = "") -> None:
        """Start a bookie; give it a port if it has none, and reserve that port while the bookie is down."""
        if bookie.port == 0 and sys.platform == "linux":  # elsewhere a bookie cannot listen on a port bound here
            held = socket.socket()
            self._held_ports.append(held)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
            bookie.port = held.getsockname()[1]
        bookie.launch(wire_compat)

    def _release_ports(self) -> None:
        while self._held_ports:
            self._held_ports.pop().close()

    def index_of(self, bookie_id: str) -> int:
        """Return the index of the bookie with this name."""
        return self.bookie_ids.index(bookie_id)

    def kill(self, index: int) -> None:
        """End a bookie with SIGKILL."""
        self.bookies[index].kill()

    def stop_bookie(self, index: int) -> int:
        """End a bookie with SIGTERM; returns its exit code, or the negative signal."""
        return self.bookies[index].stop()

    def restart(self, index: int, wire_compat: str = "") -> None:
        """Start a bookie that was killed or stopped, or stop it cleanly and start it; returns when it serves."""
        bookie = self.bookies[index]
        if bookie.running:
            bookie.stop()
        bookie.launch(wire_compat)
        bookie.wait_until_ready()

    def stop(self) -> None:
        """Stop every bookie cleanly; one that does not end in time is killed."""
        running = [bookie for bookie in self.bookies if bookie.running]
        for bookie in running:
            bookie.ask_to_stop()
        for bookie in running:
            try:
                bookie.wait()
            except BookieFailed:
                bookie.kill()
        self._release_ports()
        atexit.unregister(self.kill_all)

    def kill_all(self) -> None:
        """Kill every bookie."""
        for bookie in self.bookies:
            bookie.kill()
        self._release_ports()
        atexit.unregister(self.kill_all)

    def __enter__(self) -> "LocalCluster":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
