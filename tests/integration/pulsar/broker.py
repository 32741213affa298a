"""A Pulsar broker as a process on loopback, and Pulsar's own tool that makes the metadata of a cluster."""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from compat_tests.targets.jars import pulsar_class_path
from compat_tests.targets.java_logging import logging_flags
from compat_tests.targets.jvm import OPENED_PACKAGES, find_jvm
from compat_tests.targets.ports import choose_port
from compat_tests.targets.process import ServerProcess

HEAP_MB = 384
DIRECT_MB = 256
START_TIMEOUT_S = 180
STOP_TIMEOUT_S = 60

# A killed broker holds its topics until its session has ended.  One that is stopped waits for a quarter of its shutdown
# timeout, whatever there is to wait for.
LOCAL = {
    "bindAddress": "127.0.0.1",
    "advertisedAddress": "127.0.0.1",
    "metadataStoreSessionTimeoutMillis": 6000,
    "brokerShutdownTimeoutMs": 10000,
}
"""What the brokers of tests have besides the configuration of the guide: 127.0.0.1, and less patience."""


class Broker:
    """One broker; may be started again, on the same ports and with another configuration.

    :param zookeeper: ``host:port``
    :param work_dir: for its configuration and log
    :param settings: keys of ``broker.conf``
    """

    def __init__(self, zookeeper: str, work_dir: Path, settings: Mapping[str, object]) -> None:
        self.work_dir = work_dir
        self.port = choose_port()
        self.web_port = choose_port()
        self._zookeeper = zookeeper
        self._settings = {**settings, **self._places()}
        self._process = ServerProcess("Pulsar broker", self._command(), work_dir / "broker.log")

    @property
    def service_url(self) -> str:
        """For clients."""
        return f"pulsar://127.0.0.1:{self.port}"

    @property
    def web_url(self) -> str:
        """For the calls of administrators."""
        return f"http://127.0.0.1:{self.web_port}"

    def initialise_metadata(self) -> None:
        """Run what ``bin/pulsar initialize-cluster-metadata`` runs; raises AssertionError if it fails."""
        store = f"zk:{self._zookeeper}"
        options = {
            "cluster": self._settings["clusterName"],
            "metadata-store": store,
            "configuration-metadata-store": store,
            "web-service-url": self.web_url,
            "broker-service-url": self.service_url,
        }
        command = self._java("org.apache.pulsar.PulsarClusterMetadataSetup")
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_TIMEOUT_S)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, **settings: object) -> None:
        """Start it, with these keys besides its own; returns when it is ready."""
        values = {**self._settings, **settings}
        text = "".join(f"{key}={value}\n" for key, value in values.items())
        (self.work_dir / "broker.conf").write_text(text, encoding="utf-8")
        self._process.start()
        self._process.wait_until(self.ready, START_TIMEOUT_S, "ready")

    def stop(self) -> None:
        """End it with SIGTERM: it gives up its topics."""
        self._process.stop(STOP_TIMEOUT_S)

    def kill(self) -> None:
        """End it with SIGKILL: nothing is closed."""
        self._process.kill()

    def ready(self) -> bool:
        """Whether it says that it is ready."""
        try:
            with urllib.request.urlopen(f"{self.web_url}/admin/v2/brokers/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def log_end(self) -> str:
        """The last lines of its log."""
        return self._process.tail()

    def _places(self) -> dict[str, object]:
        return {
            **LOCAL,
            "metadataStoreUrl": f"zk:{self._zookeeper}",
            "configurationMetadataStoreUrl": f"zk:{self._zookeeper}",
            "brokerServicePort": self.port,
            "webServicePort": self.web_port,
        }

    def _command(self) -> list[str]:
        configuration = str(self.work_dir / "broker.conf")
        return [*self._java("org.apache.pulsar.PulsarBrokerStarter"), "--broker-conf", configuration]

    def _java(self, main_class: str) -> list[str]:
        return find_jvm().command(
            *OPENED_PACKAGES,
            f"-XX:MaxDirectMemorySize={DIRECT_MB}m",
            *logging_flags(self.work_dir),
            "-cp",
            ":".join(map(str, pulsar_class_path())),
            main_class,
            heap_mb=HEAP_MB,
        )
