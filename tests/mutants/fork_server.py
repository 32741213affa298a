"""Starts mutants fast: ``python -m tests.mutants.fork_server SOCKET`` imports the product once, and forks for each.

Each mutant is still a process of its own: the fork comes before the defect is put in.  To start one, run
:mod:`tests.mutants.fork_client`: that process lends the mutant its standard files, and the server reports to it how the
mutant ended.  The server prints a line when it is ready.  It ends, with all that it has started, when its standard
input ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import random
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress

import bookkeeper_tx
import protocol_specs
from tests.mutants import launch

_REQUEST_MAX = 1 << 20
_NOT_A_MODULE = "__main__"
_BESIDES = (
    "service_identity",
    "sqlite3",
    "twisted.internet.epollreactor",
    "twisted.internet.ssl",
    "twisted.scripts.twistd",
)
"""Modules that the product, or its command line, imports late."""


class ForkServer:
    """The mutants that run, each with the connection of its :mod:`tests.mutants.fork_client`."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._events = selectors.DefaultSelector()
        self._events.register(listener, selectors.EVENT_READ)
        self._events.register(0, selectors.EVENT_READ)
        self._pids: dict[socket.socket, int] = {}

    def run(self) -> None:
        """Serve until standard input ends."""
        while True:
            ready = [key.fileobj for key, _ in self._events.select()]
            if 0 in ready:
                break
            # Ends come before starts: a mutant that was killed is gone before it is started again.
            for connection in [each for each in ready if each in self._pids]:
                self._end(connection)
            for pidfd in [each for each in ready if isinstance(each, int)]:
                self._report_end(pidfd)
            if self._listener in ready:
                self._fork(self._listener.accept()[0])
        for pid in self._pids.values():
            os.kill(pid, signal.SIGKILL)

    def _end(self, connection: socket.socket) -> None:
        """End a mutant: in order if its client asks for that, at once if its client is gone."""
        with suppress(ConnectionError):
            if connection.recv(_REQUEST_MAX):
                os.kill(self._pids[connection], signal.SIGTERM)
                return
        self._events.unregister(connection)
        os.kill(self._pids[connection], signal.SIGKILL)
        os.waitid(os.P_PID, self._pids[connection], os.WEXITED | os.WNOWAIT)

    def _report_end(self, pidfd: int) -> None:
        """Report to the client how its mutant has ended."""
        key = self._events.unregister(pidfd)
        os.close(pidfd)
        connection: socket.socket = key.data
        _, status = os.waitpid(self._pids.pop(connection), 0)
        with suppress(KeyError):
            self._events.unregister(connection)
        with suppress(OSError):
            connection.send(str(status).encode())
        connection.close()

    def _fork(self, connection: socket.socket) -> None:
        request, files, _, _ = socket.recv_fds(connection, _REQUEST_MAX, 3)
        if not request:
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            self._events.close()
            for each in (self._listener, connection, *self._pids):
                each.close()
            _become_mutant(files, **json.loads(request))
        for file in files:
            os.close(file)
        self._pids[connection] = pid
        self._events.register(connection, selectors.EVENT_READ)
        self._events.register(os.pidfd_open(pid), selectors.EVENT_READ, connection)


def _become_mutant(files: list[int], words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Be the mutant, and never return."""
    status = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        random.seed()
        launch.main(words)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(status)


def _import_all() -> None:
    for package in (bookkeeper_tx, protocol_specs):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(_NOT_A_MODULE):
                importlib.import_module(module.name)
    for name in _BESIDES:
        importlib.import_module(name)
    assert "twisted.internet.reactor" not in sys.modules, "a reactor has files that processes must not share"


def main(place: str) -> None:
    """Import, listen, say so, and serve."""
    _import_all()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(place)
        listener.listen(64)
        print("ready", flush=True)
        ForkServer(listener).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
