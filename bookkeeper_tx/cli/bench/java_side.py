"""Java's client and bookie for ``bktx bench compare``: those of the conformance suite, in JVMs made for speed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from bookkeeper_tx.cli.bench.comparison import Side
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.driver_classes import driver_class_path
from compat_tests.targets.java.targets import new_cluster
from compat_tests.targets.java_logging import logging_flags
from compat_tests.targets.jvm import OPENED_PACKAGES, find_jvm
from compat_tests.targets.lockfile import RELEASES, release_number
from compat_tests.targets.unavailable import Unavailable
from compat_tests.targets.zookeeper import ZooKeeper

SOURCES = Path(__file__).parent / "java"
MAIN_CLASS = "load.Main"
HEAP_MB = 1024

COMPARABLE: Final = tuple(release for release in RELEASES if release_number(release) >= (4, 17))
"""Releases with batch read."""
DEFAULT_RELEASE: Final = "4.17.3"
assert DEFAULT_RELEASE in COMPARABLE

JVM_FLAGS = (
    "-Djava.net.preferIPv4Stack=true",
    # Threads that live on keep what they have used; one that ends would take its CPU out of the figures.
    "-XX:-UseDynamicNumberOfCompilerThreads",
    "-XX:-UseDynamicNumberOfGCThreads",
)

BOOKIE_SETTINGS = {"numReadWorkerThreads": 8, "numHighPriorityWorkerThreads": 8, "journalMaxSizeMB": 2048}
"""Java's defaults, where the conformance suite has smaller ones."""

HOW_TO_GET_ONE = "pip install 'bookkeeper_tx[compat]' brings a JVM, ZooKeeper and the jars of BookKeeper"


@contextmanager
def running_zookeeper(directory: Path) -> Iterator[ZooKeeper]:
    """Yield the metadata store of both sides.  Raises ClickException where there is no JVM, no jar or no store."""
    try:
        server = ZooKeeper(directory).start()
    except Unavailable as error:
        raise click.ClickException(f"{error.reason}; {HOW_TO_GET_ONE}") from error
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def java_side(release: str, zookeeper: ZooKeeper, directory: Path, protocol: str) -> Iterator[Side]:
    """Yield Java's bookie, which runs, and the command of Java's client."""
    cluster = new_cluster(zookeeper)
    try:
        command = _client_command(release, directory / "client")
        bookie = JavaBookie(
            release, cluster, directory / "bookie", heap_mb=HEAP_MB, settings=BOOKIE_SETTINGS, jvm_flags=JVM_FLAGS
        )
        bookie.start()
    except Unavailable as error:
        raise click.ClickException(f"{error.reason}; {HOW_TO_GET_ONE}") from error
    try:
        yield Side("java", [*command, cluster.uri, protocol], [bookie.process.pid])
    finally:
        bookie.stop()


def jvm_origin() -> str:
    """Return where the JVM comes from."""
    return find_jvm().origin


def _client_command(release: str, directory: Path) -> list[str]:
    return [
        str(find_jvm().java),
        f"-Xmx{HEAP_MB}m",
        *JVM_FLAGS,
        *OPENED_PACKAGES,
        *logging_flags(directory, level="warn"),
        "-cp",
        ":".join(map(str, driver_class_path(release, SOURCES))),
        MAIN_CLASS,
    ]
