"""Numbers of entry logs that no two directories have: DbLedgerStorage numbers those of each directory from 0."""

import contextlib
import os
from array import array
from collections.abc import Sequence

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName, finished_names
from bookkeeper_tx.bookie.storage.ledger_index import Page
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk import entry_log as spec


def stride_of(disk: Disk, directories: Sequence[str]) -> int:
    """Return how far apart the numbers of the logs of two directories have to be, so that all differ.

    Those of logs that are gone count, too: an index may still name them.  Raises OSError, RefusedToStart if a log id
    has not so many bits.
    """
    ids = [0]
    for directory in directories:
        ids += [name.log_id for name in finished_names(disk.list_directory(directory))]
        with contextlib.suppress(FileNotFoundError, ValueError):
            ids.append(int(disk.read(os.path.join(directory, spec.LAST_ID_NAME)), 16))
    stride = max(ids) + 1
    if stride * len(directories) > spec.LOG_ID_MAX:
        raise RefusedToStart(
            f"the last entry log {stride - 1:x} of one of {', '.join(directories)} has too high a number: there are "
            "none left for those of the others"
        )
    return stride


def shift_of(at: int, stride: int) -> int:
    """Return what is added to the locations of the directory ``at``."""
    return at * stride << spec.LOCATION_LOG_ID_SHIFT


def shifted(page: Page, shift: int) -> Page:
    """Return a page with locations to which that is added."""
    return array("Q", [each and each + shift for each in page]) if shift else page


def renumber(disk: Disk, directories: Sequence[str], stride: int) -> None:
    """Rename the logs, durably.  After an OSError, or a crash, it is to be called again."""
    for at, directory in enumerate(directories):
        for name in finished_names(disk.list_directory(directory)):
            if at and name.log_id < stride:  # else it was renamed before
                new = LogName(name.log_id + at * stride, name.scoped)
                disk.rename(os.path.join(directory, name.file_name), os.path.join(directory, new.file_name))
        disk.sync_directory(directory)
        # The next log of any of them gets another one, in Java's bookie as well.
        disk.replace(os.path.join(directory, spec.LAST_ID_NAME), f"{stride * len(directories) - 1:x}\n".encode())
