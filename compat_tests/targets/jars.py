"""Fetch the jars of a lock file from Maven Central, in Python, and check each against its sha256.

The JVM never downloads anything: its trust store is its own, so it fails at sites with an own certificate authority;
Python's ``requests`` follows the usual environment variables there. No jar is used unless its hash is the locked one.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from compat_tests.targets import lockfile
from compat_tests.targets.cache import exclusive
from compat_tests.targets.lockfile import Jar
from compat_tests.targets.unavailable import Unavailable

#: Small files from a server that is far away: threads hide the round trips; more than this gains nothing.
_THREADS = 8


class JarMismatch(Exception):
    """A jar does not have the locked sha256, also after it was fetched a second time."""


@cache
def class_path(release: str) -> tuple[Path, ...]:
    """The jars of a BookKeeper release, fetched if need be; raises :class:`Unavailable` or :class:`JarMismatch`."""
    return fetch(lockfile.bookkeeper_lock(release))


@cache
def etcd_driver(release: str) -> tuple[Path, ...]:
    """What a release needs for metadata in etcd, fetched if need be; raises as :func:`class_path` does."""
    return fetch(lockfile.etcd_lock(release))


@cache
def pulsar_class_path() -> tuple[Path, ...]:
    """The jars of the broker of Pulsar, fetched if need be, 240 MB; raises as :func:`class_path` does."""
    return fetch(lockfile.pulsar_lock())


@cache
def pulsar_offloader() -> Path:
    """Pulsar's offloader to a file system, fetched if need be, 50 MB; raises as :func:`class_path` does."""
    return fetch(lockfile.read("pulsar-offloader.lock"))[0]


@cache
def ecj() -> Path:
    """The Eclipse compiler for Java: the wheel's JVM has no javac."""
    return fetch(lockfile.read("ecj.lock"))[0]


def fetch(jars: list[Jar]) -> tuple[Path, ...]:
    """Fetch ``jars`` into the cache and give their paths, in the same order."""
    with exclusive("jars") as repository:
        context = maven_context(repository)
        with ThreadPoolExecutor(_THREADS) as threads:
            return tuple(threads.map(lambda jar: _fetch_verified(context, jar), jars))


def maven_context(repository: Path) -> Any:
    """A jgo context that keeps what it fetches in ``repository``."""
    try:
        from jgo.maven import MavenContext
    except ImportError as error:
        raise Unavailable(f"the jgo package is not installed ({error})") from error
    return MavenContext(repo_cache=repository)


def locate(context: Any, jar: Jar) -> Path:
    """The path of ``jar``, fetched if it is not in the cache; its hash is not looked at."""
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
    try:
        return Path(component.artifact(classifier=jar.classifier).resolve())
    except (
        Exception
    ) as error:  # jgo raises RuntimeError, requests its own, the file system OSError: all mean "not here"
        raise Unavailable(f"{jar.coordinate} could not be fetched: {type(error).__name__}: {error}") from error


def sha256_of(path: Path) -> str:
    """The hexadecimal sha256 of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch_verified(context: Any, jar: Jar) -> Path:
    path = locate(context, jar)
    found = sha256_of(path)
    if found == jar.sha256:
        return path
    path.unlink()  # a broken download: a second one may be whole
    path = locate(context, jar)
    found = sha256_of(path)
    if found != jar.sha256:
        path.unlink()
        raise JarMismatch(f"{jar.coordinate}: sha256 is {found}, locked is {jar.sha256} (fetched twice)")
    return path
