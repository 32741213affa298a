"""How much memory a process takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import getpagesize

MIB = 1024 * 1024


@contextmanager
def bounded_growth(bytes_max: int) -> Iterator[None]:
    """Fail if the process has grown by more than ``bytes_max`` at the end; memory that C code takes counts as well."""
    before = resident_bytes()
    yield
    grown = resident_bytes() - before
    assert grown <= bytes_max, f"the process has grown by {grown / MIB:.0f} MiB"


def resident_bytes() -> int:
    """Return the memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


def memory_peak_mib() -> int:
    """Return the most memory that this process has had; ``getrusage`` counts that of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [peak_kib] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peak_kib) // 1024
