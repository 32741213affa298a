"""A cluster in etcd for bookies and clients of Java and ours, and Java's shell on it."""

from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from compat_tests.targets.jars import etcd_driver
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.lockfile import WITH_ETCD
from tests.integration.support.java_shell import JavaShell

_PACKAGE = "org.apache.bookkeeper.metadata.etcd"
DRIVERS = {
    "bookkeeper.metadata.bookie.drivers": f"{_PACKAGE}.EtcdMetadataBookieDriver",
    "bookkeeper.metadata.client.drivers": f"{_PACKAGE}.EtcdMetadataClientDriver",
}
"""Java loads a driver that is not among its own only if a property names it."""


@frozen
class EtcdCluster:
    """What targets ask of a cluster."""

    uri: str

    def writable_ids(self) -> list[str]:
        """The ids of the bookies that take writes now."""
        with open_blocking_store(self.uri) as store:
            return sorted(store.writable_bookies())

    def read_only_ids(self) -> list[str]:
        """The ids of the bookies that only serve reads now."""
        with open_blocking_store(self.uri) as store:
            return sorted(store.read_only_bookies())

    def java_bookie(self, work_dir: Path) -> JavaBookie:
        """A bookie of the release that has a driver, not started."""
        return self._java(JavaBookie, work_dir)  # type: ignore[no-any-return]

    def java_client(self, work_dir: Path) -> JavaClient:
        """A client of the release that has a driver, not started."""
        return self._java(JavaClient, work_dir)  # type: ignore[no-any-return]

    def java_shell(self, work_dir: Path) -> JavaShell:
        """The shell of the release that has a driver."""
        settings: dict[str, object] = {
            "metadataServiceUri": self.uri,
            "allowLoopback": "true",
            "listeningInterface": "lo",
        }
        return JavaShell(WITH_ETCD, work_dir, settings, properties=DRIVERS, more_jars=etcd_driver(WITH_ETCD))

    def _java(self, kind: Any, work_dir: Path) -> Any:
        make = partial(kind, WITH_ETCD, self, work_dir)
        return make(properties=DRIVERS, more_jars=etcd_driver(WITH_ETCD))
