"""How much a bookie that runs has on its disk."""

from pathlib import Path


def disk_bytes(directory: Path, pattern: str = "*") -> int:
    """Return the bytes of the files below a directory whose names are of ``pattern``."""
    found = 0
    for path in directory.rglob(pattern):
        try:
            found += path.stat().st_size
        except FileNotFoundError:
            continue  # it was collected just now
    return found
