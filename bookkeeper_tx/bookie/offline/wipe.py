"""Emptying the directories of a bookie (Java's ``bookieformat``)."""

import os
import shutil
from collections.abc import Iterator

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.places import Places
from protocol_specs.disk.cookie import FILE_NAME as COOKIE_NAME


def currents(places: Places) -> list[str]:
    """Return all directories that hold files of the bookie, each once."""
    return list(dict.fromkeys((*places.journal_currents, *places.ledger_currents, *places.index_currents)))


def count_files(places: Places) -> tuple[int, int]:
    """Return how many files there are, and their bytes."""
    sizes = [os.lstat(path).st_size for current in currents(places) for path in _files(current)]
    return len(sizes), sum(sizes)


def _files(directory: str) -> Iterator[str]:
    for parent, _, names in os.walk(directory):
        yield from (os.path.join(parent, name) for name in names)


def wipe(disk: Disk, places: Places) -> None:
    """Delete everything in the directories.  Raises OSError.

    The cookies go first: a bookie whose wipe did not get to its end does not start on what is left.
    """
    for current in currents(places):
        path = os.path.join(current, COOKIE_NAME)
        if disk.exists(path):
            disk.remove(path)
            disk.sync_directory(current)
    for current in currents(places):
        for entry in list(os.scandir(current)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                disk.remove(entry.path)
        disk.sync_directory(current)
