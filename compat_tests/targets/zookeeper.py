"""A real ZooKeeper server, on loopback, from the jars that pyspark brings, or run as a test has chosen."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from compat_tests.targets.java_program import JavaProgram, Product
from compat_tests.targets.java_runner import JavaRunner, chosen_runner
from compat_tests.targets.jvm import property_flags
from compat_tests.targets.metadata_server import MetadataServer
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


class ZooKeeper(MetadataServer):
    """A standalone ZooKeeper.

    :param port: chosen if not given
    :param tls: keys of ``zoo.cfg`` for TLS (``ssl.keyStore.location`` …); it then listens at ``secure_port``, too
    :param settings: further keys of ``zoo.cfg``
    :param properties: system properties of its JVM
    :param runner: who runs it; the one that is chosen for all, if not given
    :param heap_mb: memory of its JVM for all nodes: a ledger takes about half a KiB
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
        heap_mb: int = 96,
    ) -> None:
        super().__init__(work_dir, port)
        self._heap_mb = heap_mb
        self._runner = runner or chosen_runner()
        self.secure_port = choose_port() if tls else None
        self._settings = {**(tls or {}), **(settings or {})}
        self._properties = dict(properties or {})

    def _files(self) -> dict[str, str]:
        return {"zoo.cfg": self._config()}

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

    def _new_process(self) -> ServerProcess:
        return self._runner.server("ZooKeeper", self._program())

    def _program(self) -> JavaProgram:
        return JavaProgram(
            product=PRODUCT,
            main="org.apache.zookeeper.server.quorum.QuorumPeerMain",
            arguments=[str(self.work_dir / "zoo.cfg")],
            work_dir=self.work_dir,
            log=self.work_dir / "zookeeper.log",
            heap_mb=self._heap_mb,
            flags=["-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", *property_flags(self._properties)],
            classes=_jars(_NETTY_JARS) if self.secure_port is not None else (),
        )
