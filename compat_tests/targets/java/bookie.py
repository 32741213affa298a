"""A real Java bookie of any locked release on loopback: a plain JVM process, or run as a test has chosen."""

from __future__ import annotations

import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.jars import fetch
from compat_tests.targets.java.class_archive import ClassArchive, class_archive
from compat_tests.targets.java_logging import logging_flags
from compat_tests.targets.java_program import JavaProgram, bookkeeper
from compat_tests.targets.java_runner import JavaRunner, chosen_runner
from compat_tests.targets.jvm import OPENED_PACKAGES, SMALL_JVM, property_flags
from compat_tests.targets.lockfile import http_lock, release_number
from compat_tests.targets.ports import choose_port
from compat_tests.targets.process import ServerProcess, StartFailed

#: V2: length 20, version 2, operation 2 (read), no flags, ledger 2^63 - 1, entry 0.
_PROBE = bytes.fromhex("00000014 02020000 7fffffffffffffff 0000000000000000")

#: What a serving bookie answers: length 24, the same header, code 1 (no such ledger), the same ids; or, if it wants
#: us to authenticate first, code 102.
_ANSWERS = tuple(
    bytes.fromhex(f"00000018 02020000 {code} 7fffffffffffffff 0000000000000000") for code in ("00000001", "00000066")
)

#: What every release logs when it is up.
_STARTED = "Started component"
#: What a JVM returns that SIGTERM has ended in order.
_ENDED_BY_SIGTERM = 128 + signal.SIGTERM

_STORAGE = {
    "sorted": "org.apache.bookkeeper.bookie.SortedLedgerStorage",
    "interleaved": "org.apache.bookkeeper.bookie.InterleavedLedgerStorage",
    "db": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
}

_HTTP = {
    "httpServerEnabled": "true",
    "httpServerHost": "127.0.0.1",
    "httpServerClass": "org.apache.bookkeeper.http.vertx.VertxHttpServer",
    "enableStatistics": "true",
    "statsProviderClass": "org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider",
    "prometheusStatsHttpEnable": "false",
    "prometheusStatsLatencyRolloverSeconds": 5,
}


def answers_reads(host: str, port: int, timeout_s: float = 2) -> bool:
    """Whether a bookie there answers a V2 read of a ledger that does not exist as it should."""
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(_PROBE)
            answer = b""
            while len(answer) < len(_ANSWERS[0]) and (chunk := connection.recv(64)):
                answer += chunk
    except OSError:
        return False
    return answer in _ANSWERS


class JavaBookie:
    """One Java bookie; a context manager, or ``start()`` and ``stop()``; may be started again on its directories.

    :param release: one of :data:`compat_tests.targets.lockfile.RELEASES`
    :param cluster: an initialised cluster
    :param work_dir: for its configuration and log, and its directories unless these are given
    :param journal_dir: Java's ``journalDirectories``: the folder that holds ``current/``; may have been written by
        any bookie, as may ``ledger_dir`` and ``index_dir``
    :param port: chosen if not given; a bookie is known by it, so directories go with their port
    :param bookie_id: not for 4.9.2, which knows none; ``127.0.0.1:port`` if not given
    :param storage: ``sorted`` (Java's default), ``interleaved``, ``db`` or a class name
    :param sync: whether the journal is synced before an add is acknowledged
    :param settings: further keys of ``bk_server.conf``; they win
    :param properties: system properties of its JVM
    :param jvm_flags: flags of its JVM; the default is small and quick to start, and slow for ever
    :param more_jars: behind the release's own on its class path
    :param http_port: of its HTTP server, with Prometheus' metrics at ``/metrics``; none if not given
    :param runner: who runs it; the one that is chosen for all, if not given
    """

    def __init__(
        self,
        release: str,
        cluster: Cluster,
        work_dir: Path,
        *,
        port: int | None = None,
        bookie_id: str | None = None,
        journal_dir: Path | None = None,
        ledger_dir: Path | None = None,
        index_dir: Path | None = None,
        storage: str = "sorted",
        sync: bool = True,
        settings: Mapping[str, object] | None = None,
        properties: Mapping[str, object] | None = None,
        heap_mb: int = 256,
        jvm_flags: Sequence[str] = SMALL_JVM,
        more_jars: Sequence[Path] = (),
        http_port: int | None = None,
        runner: JavaRunner | None = None,
    ) -> None:
        if bookie_id is not None and release_number(release) < (4, 12):
            raise ValueError(f"a bookie of {release} cannot be given an id of its own")
        self.release = release
        self.cluster = cluster
        self.work_dir = work_dir
        self.port = port or choose_port()
        self.journal_dir = journal_dir or work_dir / "journal"
        self.ledger_dir = ledger_dir or work_dir / "ledgers"
        self.index_dir = index_dir
        self.storage = storage
        self.sync = sync
        self.settings = dict(settings or {})
        self.properties = dict(properties or {})
        self.heap_mb = heap_mb
        self.jvm_flags = jvm_flags
        self.more_jars = tuple(more_jars)
        self.http_port = http_port
        self._own_id = bookie_id
        self._runner = runner or chosen_runner()
        self._process: ServerProcess | None = None
        self._recorded: ClassArchive | None = None

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self.port}"

    @property
    def bookie_id(self) -> str:
        """The id under which it is registered."""
        return self._own_id or self.address

    @property
    def process(self) -> ServerProcess:
        """The process, for its pid, ``tail()`` and log."""
        if self._process is None:
            self._process = self._new_process(f"Java bookie {self.release} at {self.address}")
        return self._process

    def start(self, timeout_s: float = 90, *, read_only: bool = False) -> JavaBookie:
        """Start it; wait until it answers reads and is registered, as writable unless it is to be ``read_only``."""
        (self.work_dir / "tmp").mkdir(parents=True, exist_ok=True)
        for folder in (self.journal_dir, self.ledger_dir):
            folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{key}={value}\n" for key, value in self.configuration().items())
        (self.work_dir / "bk_server.conf").write_text(text, encoding="utf-8")
        self.process.start()
        self.process.wait_until(lambda: answers_reads("127.0.0.1", self.port), timeout_s, "answering reads")
        writable, found_read_only = self.cluster.writable_ids(), self.cluster.read_only_ids()
        if self.bookie_id not in (found_read_only if read_only else writable):
            state = "writable" if self.bookie_id in writable else "read-only"
            known = self.bookie_id in (*writable, *found_read_only)
            raise StartFailed(f"{self.process.name} is {state if known else 'not registered'}:\n{self.process.tail()}")
        # It serves before it is up, and until then SIGTERM ends it as a crash does: nothing is flushed.
        self.process.wait_until(lambda: self.process.has_said(_STARTED), timeout_s, "up")
        return self

    def stop(self) -> None:
        """Shut it down in order (SIGTERM)."""
        if self._process is not None:
            self._process.stop()
            if self._recorded is not None and self._process.returncode == _ENDED_BY_SIGTERM:
                self._recorded.keep()

    def remove(self) -> None:
        """Shut it down for good: what it is run in goes, too; its directories stay."""
        self.stop()
        if self._process is not None:
            self._process.remove()

    def kill(self, *, expire: bool = False) -> None:
        """SIGKILL. Its registration stays until its ZooKeeper session expires (after ``zkTimeout``, 5 s).

        A bookie that starts again waits for that. With ``expire`` the registration goes at once.
        """
        self.process.kill()
        if expire:
            self.cluster.unregister(self.bookie_id)

    def pause(self) -> None:
        """Freeze it: connections stay open, nothing is answered."""
        self.process.pause()

    def resume(self) -> None:
        """Let it go on after :meth:`pause`."""
        self.process.resume()

    def restart(self, timeout_s: float = 90) -> JavaBookie:
        """Stop it in order and start it again on the same directories and port."""
        self.stop()
        return self.start(timeout_s)

    def configuration(self) -> dict[str, object]:
        """The keys and values of ``bk_server.conf``."""
        values: dict[str, object] = {
            "bookiePort": self.port,
            "metadataServiceUri": self.cluster.uri,
            "journalDirectories": self.journal_dir,
            "ledgerDirectories": self.ledger_dir,
            "ledgerStorageClass": _STORAGE.get(self.storage, self.storage),
            "allowLoopback": "true",
            "listeningInterface": "lo",
            "advertisedAddress": "127.0.0.1",
            "zkTimeout": 5000,
            "journalSyncData": str(self.sync).lower(),
            "journalMaxSizeMB": 64,
            "numAddWorkerThreads": 1,
            "numReadWorkerThreads": 2,
            "numHighPriorityWorkerThreads": 1,
            "diskUsageThreshold": "0.99",  # a full disk elsewhere on a shared machine must not make it read-only
            "diskUsageWarnThreshold": "0.985",
            "diskUsageLwmThreshold": "0.985",
            "dbStorage_writeCacheMaxSizeMb": 16,
            "dbStorage_readAheadCacheMaxSizeMb": 16,
            "dbStorage_rocksDB_blockCacheSize": 8 * 1024 * 1024,
        }
        if self.index_dir is not None:
            values["indexDirectories"] = self.index_dir
        if self._own_id is not None:
            values["bookieId"] = self._own_id
        if self.http_port is not None:
            values |= {**_HTTP, "httpServerPort": self.http_port}
        return {**values, **self.settings}

    def _new_process(self, name: str) -> ServerProcess:
        program = JavaProgram(
            product=bookkeeper(self.release),
            main="org.apache.bookkeeper.server.Main",
            arguments=["--conf", str(self.work_dir / "bk_server.conf")],
            work_dir=self.work_dir,
            log=self.work_dir / "bookie.log",
            heap_mb=self.heap_mb,
            base_flags=[*self._archive_flags(), *self.jvm_flags],
            flags=[
                *OPENED_PACKAGES,
                *property_flags(self.properties),
                f"-XX:MaxDirectMemorySize={self.heap_mb}m",
                f"-Djava.io.tmpdir={self.work_dir / 'tmp'}",
                *logging_flags(self.work_dir),
            ],
            classes=[*(fetch(http_lock(self.release)) if self.http_port is not None else ()), *self.more_jars],
        )
        return self._runner.server(name, program)

    def _archive_flags(self) -> list[str]:
        if (
            not self._runner.maps_classes(bookkeeper(self.release))
            or self.jvm_flags != SMALL_JVM
            or self.http_port is not None
            or self.more_jars
        ):
            return []
        archive = class_archive(self.release)
        flags, recording = archive.flags(), archive.recording_flags()
        self._recorded = archive if recording else None
        return [*flags, *recording]

    def __enter__(self) -> JavaBookie:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()
