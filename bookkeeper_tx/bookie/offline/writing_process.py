"""Whether another program writes the files of a bookie: a Java bookie takes no lock, so it is known by its open files.

Only Linux tells, and only about the processes of this user, or about all to root; elsewhere nothing is found.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from attrs import frozen

PROC = "/proc"

_DELETED = " (deleted)"


@frozen
class WritingProcess:
    """A process that has a file open for writing."""

    pid: int
    path: str


def writing_process(currents: Sequence[str], proc: str = PROC) -> WritingProcess | None:
    """Return a process, other than this one, that has a file below one of these directories open for writing."""
    below = tuple(os.path.join(os.path.realpath(current), "") for current in currents)
    for pid in _pids(proc):
        if pid != os.getpid():
            for number, path in _open_files(os.path.join(proc, str(pid), "fd")):
                if path.startswith(below) and _is_writable(os.path.join(proc, str(pid), "fdinfo", number)):
                    return WritingProcess(pid, path.removesuffix(_DELETED))
    return None


def _pids(proc: str) -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir(proc) if name.isdecimal()]
    return []


def _open_files(directory: str) -> Iterator[tuple[str, str]]:
    """Give number and path of each open file of a process; nothing if it has ended, or is somebody else's."""
    numbers: list[str] = []
    with suppress(OSError):
        numbers = os.listdir(directory)
    for number in numbers:
        with suppress(OSError):
            yield number, os.readlink(os.path.join(directory, number))


def _is_writable(info: str) -> bool:
    with suppress(OSError, ValueError), open(info, encoding="ascii") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name == "flags":
                return int(value, 8) & os.O_ACCMODE != os.O_RDONLY
    return False
