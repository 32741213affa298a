"""Where downloaded jars, compiled drivers and second JVMs are kept between runs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """The user's cache for this project: ``BKTX_CACHE``, else ``bookkeeper_tx`` in the platform's cache directory."""
    explicit = os.environ.get("BKTX_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bookkeeper_tx"


@contextmanager
def exclusive(name: str) -> Iterator[Path]:
    """Hold a lock on the cache's folder ``name`` and give its path.

    Two test runs at once would otherwise write the same jar or the same class file: the downloader writes in place.
    """
    folder = cache_directory() / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
