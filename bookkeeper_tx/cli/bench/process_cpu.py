"""The CPU, memory and bytes written of processes, as Linux reports them in ``/proc``."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

PROC = Path("/proc")
NANOSECONDS_PER_SECOND = 1_000_000_000


@frozen
class Usage:
    """The usage of some processes since they started."""

    thread_ns: Mapping[tuple[int, int], int]
    """Nanoseconds on a CPU, by process and thread, of the threads that live."""
    written_bytes: int
    """Bytes written to the disk, page cache written back included; 0 where the kernel does not report them."""
    resident_bytes: int
    """Memory in use now."""
    resident_bytes_max: int
    """Highest memory use of any of the processes so far."""

    @property
    def cpu_ns(self) -> int:
        """Nanoseconds on a CPU, over all threads that live."""
        return sum(self.thread_ns.values())

    def since(self, before: "Usage") -> "Usage":
        """Return the usage between ``before`` and this; memory is the current value.

        Threads that ended meanwhile, as a JVM's compilers do, are left out with all that they used.
        """
        return Usage(
            {thread: used - before.thread_ns.get(thread, 0) for thread, used in self.thread_ns.items()},
            self.written_bytes - before.written_bytes,
            self.resident_bytes,
            self.resident_bytes_max,
        )


def cpu_ns(pid: int) -> int:
    """Return the CPU time of a process, all its threads: ``/proc/PID/schedstat`` alone counts the main thread only.

    A thread that ends takes its time with it: see :meth:`Usage.since`.
    """
    return sum(_thread_ns(pid).values())


def cpu_ns_with_ended_threads(pid: int) -> int:
    """Return the CPU time of a process whose threads come and go, in steps of the kernel's tick, mostly 10 ms."""
    user, system = _stat(pid)[11:13]
    return (int(user) + int(system)) * NANOSECONDS_PER_SECOND // os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started, those that they have started, and so on; not ``pid`` itself."""
    children: dict[int, list[int]] = {}
    for each in _all_pids():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended while we looked
            children.setdefault(int(_stat(each)[1]), []).append(each)
    found: list[int] = []
    ahead = [pid]
    while ahead:
        started = children.get(ahead.pop(), [])
        found += started
        ahead += started
    return sorted(found)


def command_of(pid: int) -> list[str]:
    """Return the command line of a process, [] once it has ended.  Raises FileNotFoundError when it is gone."""
    return (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]


def usage(*pids: int) -> Usage:
    """Return the usage of the processes ``pids`` together.  Raises FileNotFoundError for one that is gone."""
    return Usage(
        {thread: used for pid in pids for thread, used in _thread_ns(pid).items()},
        sum(_field(pid, "io", "write_bytes") for pid in pids),
        sum(_field(pid, "status", "VmRSS") for pid in pids) * 1024,
        max((_field(pid, "status", "VmHWM") for pid in pids), default=0) * 1024,
    )


def machine_busy_ns() -> int:
    """Return the CPU time that all processes of the machine have used since it started."""
    user, nice, system, _idle, _iowait, irq, softirq = map(int, (PROC / "stat").read_text().split()[1:8])
    ticks = user + nice + system + irq + softirq
    return ticks * NANOSECONDS_PER_SECOND // os.sysconf("SC_CLK_TCK")


def _thread_ns(pid: int) -> dict[tuple[int, int], int]:
    found = {}
    for task in (PROC / str(pid) / "task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended while we looked
            found[pid, int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return found


def _all_pids() -> list[int]:
    return [int(each.name) for each in PROC.iterdir() if each.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` after the name, which may have blanks and parentheses."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _field(pid: int, file: str, name: str) -> int:
    try:
        text = (PROC / str(pid) / file).read_text()
    except PermissionError:
        return 0
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    return 0
