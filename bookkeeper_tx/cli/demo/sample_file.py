"""A file of some size that every machine can make: the sources of the Python standard library, one after another."""

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from bookkeeper_tx.config import MIB

SIZE_MAX = 24 * MIB
"""Large enough for a bookie to be killed in the middle and for meaningful rates; the whole demo takes a minute."""


def write_sample(path: Path, size_max: int = SIZE_MAX) -> int:
    """Write the library's sources to ``path`` until ``size_max`` bytes are reached; return how many files went in.

    An installation without tests has fewer bytes than that; then files are written more than once.
    """
    files = 0
    size = 0
    with path.open("wb") as sample:
        while size < size_max:
            size_before = size
            for source in standard_library_sources():
                size += sample.write(_ended(source.read_bytes()))
                files += 1
                if size >= size_max:
                    break
            if size == size_before:
                raise FileNotFoundError("this Python has no sources of its standard library: give a file with --file")
    return files


def standard_library_sources() -> Iterator[Path]:
    """Yield the ``.py`` files of the running Python's standard library, in the same order each time."""
    root = Path(sysconfig.get_path("stdlib"))
    for directory, subdirectories, names in os.walk(root):
        subdirectories[:] = sorted(set(subdirectories) - {"site-packages", "dist-packages", "__pycache__"})
        for name in sorted(names):
            source = Path(directory, name)
            if source.suffix == ".py" and source.is_file():  # a link may lead to a file of settings that is not there
                yield source


def _ended(source: bytes) -> bytes:
    """Return ``source`` with its last line ended, so that no line joins two files."""
    return source if source.endswith(b"\n") or not source else source + b"\n"
