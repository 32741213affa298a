"""A command of the user's that starts, stops and kills bookies for the cases about restarts and crashes.

``--control COMMAND`` is called with two more words, one of these and a name that the suite chooses:

``start NAME``   start the bookie of that name and print its ``host:port`` as the last line, once it serves. A name
                 that is new is a new bookie with empty directories; one that was stopped or killed has the
                 directories that it had. The URI of its cluster may follow the address, as in
                 ``127.0.0.1:3181 zk+hierarchical://zk:2181/one``.
``stop NAME``    end it in order
``kill NAME``    end it at once, as ``kill -9`` does
``remove NAME``  end it, if it runs, and remove its directories

``stop`` and ``kill`` end when the bookie is gone: the next ``start`` must not meet what is left of it.
Exit code 0 says that it is done. A bookie that does not come up is exit code 1 of ``start``, with the reason on
standard error; that may be what a case wants to see. Any other code says that the command itself is at fault.

In Docker, for example::

    #!/usr/bin/env bash
    case $1 in
      start)  docker start "$2" >/dev/null 2>&1 || docker run -d --name "$2" --network host my-bookie >/dev/null
              until (: </dev/tcp/127.0.0.1/3181) 2>/dev/null; do
                [ "$(docker inspect -f '{{.State.Running}}' "$2")" = true ] || { docker logs "$2" >&2; exit 1; }
                sleep 0.1
              done
              echo 127.0.0.1:3181 ;;
      stop)   docker stop "$2" ;;
      kill)   docker kill "$2" && docker wait "$2" ;;
      remove) docker rm -f "$2" ;;
    esac
"""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess

from compat_tests.targets.cluster import Cluster, parse_uri
from compat_tests.targets.options import BadTarget, parse_address
from compat_tests.targets.process import StartFailed
from compat_tests.targets.unavailable import Unavailable

_TIMEOUT_S = 120.0
_DID_NOT_START = 1

_numbers = itertools.count(1)


class ControlledBookie:
    """One bookie that the user's command starts and stops."""

    def __init__(self, command: str) -> None:
        self._words = shlex.split(command)
        self._name = f"conformance-{os.getpid()}-{next(_numbers)}"
        self.cluster: Cluster | None = None
        self._known = False

    def start(self) -> tuple[str, int]:
        """Start it; returns the address that the command has printed. Raises ``StartFailed`` or ``Unavailable``."""
        self._known = True
        done = self._run("start")
        if done.returncode == _DID_NOT_START:
            raise StartFailed(f"{self._command_text('start')} ended with 1: {done.stderr.strip()[-2000:]}")
        self._demand_success("start", done)
        lines = done.stdout.split("\n")
        words = next((line.split() for line in reversed(lines) if line.strip()), [])
        try:
            address = parse_address(words[0])
            self.cluster = parse_uri(words[1]) if len(words) > 1 else None
        except (BadTarget, ValueError, IndexError):
            raise Unavailable(
                f"{self._command_text('start')} printed {words}: it is to print host:port at last"
            ) from None
        return address

    def stop(self) -> None:
        """End it in order."""
        self._demand_success("stop", self._run("stop"))

    def kill(self) -> None:
        """End it at once."""
        self._demand_success("kill", self._run("kill"))

    def remove(self) -> None:
        """End it and have its directories removed; nothing if it was never started."""
        if self._known:
            self._known = False
            self._demand_success("remove", self._run("remove"))

    def _run(self, word: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self._words, word, self._name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
                start_new_session=True,  # Ctrl-C is for the suite, which then says ``remove``
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{self._command_text(word)} did not end in {_TIMEOUT_S:.0f} s") from None
        except OSError as error:
            raise Unavailable(f"{self._command_text(word)} could not be run: {error}") from error

    def _demand_success(self, word: str, done: subprocess.CompletedProcess[str]) -> None:
        if done.returncode:
            text = done.stderr.strip()[-2000:]
            raise Unavailable(f"{self._command_text(word)} ended with {done.returncode}: {text}")

    def _command_text(self, word: str) -> str:
        return f"--control: {shlex.join([*self._words, word, self._name])}"
