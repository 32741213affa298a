"""Ends our processes and removes our directories if we are killed: SIGKILL leaves us no time for that.

A second process, this same file run as a program, reads from a pipe of ours which processes and directories there are.
However we end, it sees the end of the pipe; then it ends the processes and removes the directories that are left.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_PROCESS, _DIRECTORY, _DOCKER = "process", "directory", "docker"

#: How long an orderly end of a server may take, when nobody waits for it.
_END_WITHIN_S = 10.0
_POLL_S = 0.05
_DAEMON_TIMEOUT_S = 20.0

_lock = threading.Lock()
_guardian: subprocess.Popen[bytes] | None = None


def watch_process(pid: int) -> None:
    """Have this child of ours ended if we are killed before it ends."""
    started = start_time(pid)
    if started is not None:
        _tell(f"{_PROCESS} {pid} {started}")


def watch_directory(path: Path) -> None:
    """Have this directory removed if we are killed before we do it."""
    _tell(f"{_DIRECTORY} {path}")


def watch_docker(url: str, resource: str) -> None:
    """Have this container or image removed if we are killed before we do it; ``/containers/…`` or ``/images/…``."""
    scheme, _, path = url.partition("://")
    if scheme == "unix":
        _tell(f"{_DOCKER} {resource} {path}")


def start_time(pid: int) -> int | None:
    """When a process was started, in the system's ticks; with its id this names it for good. None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def _tell(line: str) -> None:
    global _guardian
    with _lock:
        if _guardian is None or _guardian.poll() is not None:
            _guardian = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us; then it sees the end of the pipe
            )
        if _guardian.stdin is not None:
            with suppress(OSError):  # without it we go on as before
                _guardian.stdin.write(line.encode("utf-8", "surrogateescape") + b"\n")
                _guardian.stdin.flush()


def clean(lines: list[str]) -> None:
    """End the processes and remove the directories that the lines name, if they are still there."""
    words = [line.rstrip("\n").split(" ", 1) for line in lines]
    for kind, rest in reversed(words):  # the containers before their image
        if kind == _DOCKER:
            delete_from_daemon(*rest.split(" ", 1))
    processes = [tuple(map(int, rest.split())) for kind, rest in words if kind == _PROCESS]
    for number in (signal.SIGTERM, signal.SIGKILL):
        alive = [pid for pid, started in processes if start_time(pid) == started]
        for pid in alive:
            end_group(pid, number)
        deadline = time.monotonic() + (_END_WITHIN_S if alive else 0)
        while time.monotonic() < deadline and any(start_time(pid) == started for pid, started in processes):
            time.sleep(_POLL_S)
    for kind, rest in words:
        if kind == _DIRECTORY and os.path.isdir(rest):
            unmount_below(Path(rest))
            shutil.rmtree(rest, ignore_errors=True)


def end_group(pid: int, number: int) -> None:
    """Signal a process and those that it has started: a shell script that runs a driver, and the driver."""
    with suppress(ProcessLookupError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def delete_from_daemon(resource: str, path: str) -> None:
    """Ask the Docker daemon at a socket; it may be gone, or know nothing of this any more."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_DAEMON_TIMEOUT_S)
        connection.connect(path)
        connection.sendall(f"DELETE {resource} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
        while connection.recv(4096):
            continue


def unmount_below(directory: Path) -> None:
    """Undo the mounts that a daemon has left below a directory."""
    text = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    places = [line.split(" ")[1] for line in text.splitlines()]
    for place in reversed(places):
        if place.startswith(f"{directory}/"):
            subprocess.run(["umount", "--lazy", place], capture_output=True, check=False)


if __name__ == "__main__":
    for _number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(_number, signal.SIG_IGN)  # the end of the pipe is what counts
    clean(sys.stdin.readlines())
