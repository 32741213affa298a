"""A real ZooKeeper server, on loopback, from the jars that pyspark brings, or run as a test has chosen."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from compat_tests.targets.java_program import JavaProgram, Product
from compat_tests.targets.java_runner import JavaRunner, chosen_runner
from compat_tests.targets.jvm import property_flags
from compat_tests.targets.ports import choose_port
from compat_tests.targets.process import ServerProcess
from compat_tests.targets.unavailable import Unavailable

#: By pattern, because their versions are pyspark's business.
_JARS = ("zookeeper-3*.jar", "zookeeper-jute-*.jar", "slf4j-api-*.jar", "metrics-core-*.jar", "snappy-java-*.jar")

#: With TLS ZooKeeper listens by Netty.
_NETTY_JARS = (
    *("netty-buffer-4*.jar", "netty-codec-base-4*.jar", "netty-common-4*.jar", "netty-handler-4*.jar"),
    *("netty-resolver-4*.jar", "netty-transport-4*.jar", "netty-transport-native-unix-common-*.jar"),
    *("netty-transport-classes-epoll-*.jar", "netty-tcnative-classes-*.jar"),
)


def zookeeper_jars() -> list[Path]:
    """The class path of a ZooKeeper server; raises :class:`Unavailable` without pyspark."""
    return _jars(_JARS)


def _jars(patterns: Sequence[str]) -> list[Path]:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise Unavailable(
            "no ZooKeeper: pyspark, whose jars have one, is not installed: pip install '.[all]', "
            "or for a client give --metadata"
        )
    folder = Path(spec.origin).parent / "jars"
    found = []
    for pattern in patterns:
        matches = sorted(folder.glob(pattern))
        if not matches:
            raise Unavailable(f"no ZooKeeper: this pyspark has no {pattern} among its jars")
        found.append(matches[-1])
    return found


#: ZooKeeper, in whatever release pyspark has it.
PRODUCT = Product("zookeeper", "", zookeeper_jars)


class ZooKeeper:
    """A standalone ZooKeeper; a context manager, or ``start()`` and ``stop()``.

    Started again it has the same port and the same data. It does not sync its log to disk: what it loses in a power
    failure no test asks for.

    :param port: chosen if not given
    :param tls: keys of ``zoo.cfg`` for TLS (``ssl.keyStore.location`` …); it then listens at ``secure_port``, too
    :param settings: further keys of ``zoo.cfg``
    :param properties: system properties of its JVM
    :param runner: who runs it; the one that is chosen for all, if not given
    """

    def __init__(
        self,
        work_dir: Path,
        port: int | None = None,
        *,
        tls: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
        properties: Mapping[str, object] | None = None,
        runner: JavaRunner | None = None,
    ) -> None:
        self.work_dir = work_dir
        self._runner = runner or chosen_runner()
        self.port = port or choose_port()
        self.secure_port = choose_port() if tls else None
        self._settings = {**(tls or {}), **(settings or {})}
        self._properties = dict(properties or {})
        self._process: ServerProcess | None = None

    @property
    def hosts(self) -> str:
        """``host:port``, as kazoo wants it."""
        return f"127.0.0.1:{self.port}"

    @property
    def process(self) -> ServerProcess:
        """The process, for its pid and log."""
        if self._process is None:
            self._process = self._runner.server("ZooKeeper", self._program())
        return self._process

    def start(self, timeout_s: float = 60) -> ZooKeeper:
        """Start it and wait until it takes sessions."""
        self.work_dir.mkdir(parents=True, exist_ok=True)
        (self.work_dir / "zoo.cfg").write_text(self._config(), encoding="utf-8")
        self.process.start()
        self.process.wait_until(self.serving, timeout_s, "serving")
        return self

    def stop(self) -> None:
        """Stop it; sessions live on when it is started again soon enough."""
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

    def serving(self) -> bool:
        """Whether it has a mode: ``ruok`` is answered before sessions are accepted, ``srvr`` tells the truth."""
        return "Mode:" in self.four_letter("srvr")

    def four_letter(self, word: str) -> str:
        """The answer to one of ZooKeeper's four-letter commands; empty if it does not answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                connection.sendall(word.encode())
                answer = b""
                while chunk := connection.recv(65536):
                    answer += chunk
        except OSError:
            return ""
        return answer.decode(errors="replace")

    def _config(self) -> str:
        settings = {
            "tickTime": 500,
            "dataDir": self.work_dir / "data",
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "*",
            "minSessionTimeout": 1000,
            "maxSessionTimeout": 60000,
            "maxClientCnxns": 0,
            **self._settings,
        }
        if self.secure_port is not None:
            settings |= {
                "secureClientPort": self.secure_port,
                "secureClientPortAddress": "127.0.0.1",
                "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            }
        return "".join(f"{key}={value}\n" for key, value in settings.items())

    def _program(self) -> JavaProgram:
        return JavaProgram(
            product=PRODUCT,
            main="org.apache.zookeeper.server.quorum.QuorumPeerMain",
            arguments=[str(self.work_dir / "zoo.cfg")],
            work_dir=self.work_dir,
            log=self.work_dir / "zookeeper.log",
            heap_mb=96,
            flags=["-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", *property_flags(self._properties)],
            classes=_jars(_NETTY_JARS) if self.secure_port is not None else (),
        )

    def __enter__(self) -> ZooKeeper:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()
