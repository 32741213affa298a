"""A disk of few bytes that can be filled: a file system in memory."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from compat_tests.targets.unavailable import Unavailable

SIZE_BYTES = 48 * 1024 * 1024
_PART = bytes(64 * 1024)


@contextmanager
def small_disk(directory: Path) -> Iterator[None]:
    """Have a disk of its own below ``directory``, which is made.  Raises Unavailable where no disk can be mounted."""
    directory.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES},mode=700", "tmpfs", str(directory)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"no small disk can be mounted (that needs Linux, and root): {error}") from error
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


@contextmanager
def full(directory: Path) -> Iterator[None]:
    """Have the disk below ``directory`` full meanwhile."""
    filling = directory / "filling"
    # Unbuffered: what does not fit must not be left for the end of the file.
    with filling.open("wb", buffering=0) as file:
        try:
            for part in (_PART, _PART[:4096]):
                while _fits(file, part):
                    pass
            yield
        finally:
            filling.unlink()


def _fits(file: FileIO, part: bytes) -> bool:
    try:
        return file.write(part) > 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
