"""A Docker daemon: the one that answers, else a private one for as long as the target lives."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from compat_tests.targets import guardian
from compat_tests.targets.cache import exclusive
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.process import ServerProcess, StartFailed
from compat_tests.targets.unavailable import Unavailable

_DEFAULT_SOCKET = "/var/run/docker.sock"

#: How the directories for sockets begin: their names must be short (104 characters), which TMPDIR need not be.
SOCKETS = Path("/tmp/bookkeeper-conformance-docker-")

_START_TIMEOUT_S = 60.0

#: Requests to a daemon are answered in milliseconds, but for a pull.
_REQUEST_TIMEOUT_S = 600

#: Somebody else may be installing, and a mirror may be busy.
_APT = ("apt-get", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3")


@attrs.frozen
class Daemon:
    """A daemon that answers."""

    url: str
    origin: str
    """For the report: whose it is, and its version."""
    client: Any
    """A ``docker.DockerClient``."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which Docker's own library finds it."""
        return {"DOCKER_HOST": self.url}

    def why_apart(self) -> str | None:
        """Why its containers would not have this machine's network and files under their own paths, if so."""
        info = self.client.info()
        if (info["Name"], info["KernelVersion"]) != (platform.node(), platform.release()):
            return f"is on another machine, or in a virtual one ({info['Name']})"
        if any("name=rootless" in each or "name=userns" in each for each in info["SecurityOptions"] or ()):
            return "gives containers other users, and rootless another network, than this machine's"
        return None


def find_daemon(lifetime: Lifetime, environment: Mapping[str, str] = os.environ) -> Daemon:
    """The daemon to use; raises :class:`Unavailable` with what to do where there is none."""
    _library()
    url = environment.get("DOCKER_HOST")
    if url:
        found = _connect(url, "the daemon at DOCKER_HOST")
        if found is None:
            raise Unavailable(f"no Docker: DOCKER_HOST is {url}, and no daemon answers there; start it, or unset that")
    else:
        found = _connect(f"unix://{_DEFAULT_SOCKET}", "this machine's daemon")
        if found is None:
            return _start_private(lifetime, environment)
    apart = found.why_apart()
    if apart is not None:
        raise Unavailable(f"no Docker: the daemon at {found.url} {apart}; these containers need one of this machine's")
    return found


def _library() -> Any:
    try:
        import docker
        import testcontainers.core.container  # noqa: F401
    except ImportError as error:
        raise Unavailable(f"no Docker: the {error.name} package is not installed (extra 'docker')") from error
    return docker


def _connect(url: str, origin: str) -> Daemon | None:
    docker = _library()
    try:
        client = docker.DockerClient(base_url=url, timeout=_REQUEST_TIMEOUT_S)
        version = client.version()["Version"]
    except (docker.errors.DockerException, OSError, ValueError):
        return None
    return Daemon(url, f"{origin}, version {version}", client)


def _start_private(lifetime: Lifetime, environment: Mapping[str, str]) -> Daemon:
    if os.geteuid() != 0:
        raise Unavailable(
            "no Docker: no daemon answers, and only root could start one; start it and see that you may use its "
            f"socket {_DEFAULT_SOCKET}, or set DOCKER_HOST"
        )
    with exclusive("docker"):  # one of several workers installs it
        if shutil.which("dockerd") is None:
            _install(environment)
    server = PrivateDaemon(lifetime.directory("docker"))
    lifetime.finally_do(server.remove)
    try:
        lifetime.run(server.start)
    except StartFailed as error:
        raise Unavailable(f"no Docker: a daemon of our own did not start: {error}") from error
    found = _connect(server.url, "a private daemon for this run")
    if found is None:
        raise Unavailable("no Docker: the daemon of our own answered, and does not any more")
    lifetime.finally_do(found.client.close)
    return found


def _install(environment: Mapping[str, str]) -> None:
    wanted = environment.get("CI", "").lower() in ("true", "1") or environment.get("BKTX_INSTALL_DOCKER") == "1"
    if not wanted or shutil.which("apt-get") is None:
        raise Unavailable(
            "no Docker: no daemon answers, and there is no dockerd to start; apt-get install docker.io, or set "
            "BKTX_INSTALL_DOCKER=1 to have that done, or start a daemon"
        )
    quiet = {**environment, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("update",), ("install", "docker.io")):
        done = subprocess.run([*_APT, *words], env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"no Docker: {' '.join([*_APT, *words])} failed: {done.stderr.strip()[-500:]}")


class PrivateDaemon:
    """``dockerd`` with directories of its own, and no network of its own: containers share the machine's."""

    def __init__(self, directory: Path) -> None:
        self._sockets = Path(tempfile.mkdtemp(prefix=SOCKETS.name, dir=SOCKETS.parent))
        guardian.watch_directory(self._sockets)
        self._directory = directory
        self.url = f"unix://{self._sockets / 'sock'}"
        command = ["dockerd", "-H", self.url, "--bridge=none", "--iptables=false", "--ip6tables=false"]
        command += ["--data-root", str(directory / "data"), "--exec-root", str(self._sockets / "exec")]
        command += ["--pidfile", str(directory / "pid")]
        # containerd writes the stacks of its threads there if it is slow to end.
        temporary = directory / "tmp"
        temporary.mkdir()
        environment = {**os.environ, "TMPDIR": str(temporary)}
        self._process = ServerProcess("dockerd", command, directory / "dockerd.log", environment=environment)

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process.start()
        self._process.wait_until(lambda: _connect(self.url, "") is not None, _START_TIMEOUT_S, "answering")

    def remove(self) -> None:
        """End it with its containers; also remove the containerd and the mounts that a killed daemon leaves."""
        self._process.stop(timeout_s=30)
        self._end_containerd()
        for directory in (self._directory, self._sockets):
            guardian.unmount_below(directory)
        shutil.rmtree(self._sockets, ignore_errors=True)

    def _end_containerd(self) -> None:
        # Not our child, but its number is in our directory, and its command line names that directory too.
        with suppress(OSError, ValueError):
            pid = int((self._sockets / "exec" / "containerd" / "containerd.pid").read_text())
            if str(self._sockets).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGTERM)
                deadline = time.monotonic() + 5
                while Path(f"/proc/{pid}/cmdline").read_bytes() and time.monotonic() < deadline:
                    time.sleep(0.05)
