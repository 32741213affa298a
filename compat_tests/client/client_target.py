"""Which client is judged: ours, a release of Java's, or any that has a driver."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import attrs

from compat_tests.judge.result import TargetInfo
from compat_tests.targets.java.driver_process import java_driver_command
from compat_tests.targets.java_runner import JavaRunner, LocalJvm, chosen_runner
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.lockfile import RELEASES
from compat_tests.targets.target import BadTarget

OURS = (sys.executable, "-m", "bookkeeper_tx.testing.conformance_driver")

_FACES = {
    "ours": ("twisted", "bookkeeper_tx"),
    "ours:aio": ("aio", "bookkeeper_tx on asyncio"),
    "ours:blocking": ("blocking", "bookkeeper_tx whose calls wait"),
}
"""Which face of our client each target means, and its name in reports."""

_SMALL_CHUNKS = {"io.netty.allocator.maxOrder": 5}
"""Each client has pools of its own; with Netty's 16 MiB a chunk a hundred clients run out of memory."""


@attrs.frozen
class ClientTarget:
    """A client, by the command of its driver."""

    info: TargetInfo
    command: Callable[[Path, JavaRunner], Sequence[str]]
    """The command line for a process that may write to this directory, and is Java's if that runner is to run it.

    May raise Unavailable.
    """
    make_runner: Callable[[Lifetime], JavaRunner] = lambda _: chosen_runner()
    """Who runs the ZooKeeper, and the client if it is Java's; ends with the run."""


def parse_client(text: str) -> ClientTarget:
    """``ours``, ``ours:aio`` or ``ours:blocking``, ``java:RELEASE``, or ``docker:RELEASE``.  Raises BadTarget."""
    if text in _FACES:
        face, name = _FACES[text]
        how = "bookkeeper_tx.testing.conformance_driver"
        return ClientTarget(TargetInfo(name, "bookkeeper_tx", "", how), lambda *_: (*OURS, "--face", face))
    kind, _, release = text.partition(":")
    if kind == "java" and release in RELEASES:
        info = TargetInfo(f"Java {release}", "java", release, "the Java client by its jars on a local JVM")
        return ClientTarget(info, partial(_java_command, release), lambda _: LocalJvm())
    if kind == "docker" and release in RELEASES:
        info = TargetInfo(f"Java {release} in Docker", "java", release, "the Java client in a container")
        return ClientTarget(info, partial(_java_command, release), _containers)
    raise BadTarget(
        f"{text!r} is no client: write {', '.join(_FACES)}, java:RELEASE or docker:RELEASE ({', '.join(RELEASES)}), "
        "or -- DRIVER COMMAND"
    )


def _java_command(release: str, folder: Path, runner: JavaRunner) -> Sequence[str]:
    return java_driver_command(release, folder, properties=_SMALL_CHUNKS, runner=runner)


def _containers(lifetime: Lifetime) -> JavaRunner:
    from compat_tests.targets.docker.containers import Containers

    # Cases have certificates and other files there, which they name to the client.
    return Containers(lifetime, [Path(tempfile.gettempdir())])


def of_command(command: Sequence[str], implementation: str = "", release: str = "") -> ClientTarget:
    """Any client, by the command that starts its driver."""
    if not command:
        raise BadTarget("no driver: write its command after --, as in: client -- ./my-driver")
    text = shlex.join(command)
    return ClientTarget(TargetInfo(implementation or text, implementation, release, text), lambda *_: tuple(command))
