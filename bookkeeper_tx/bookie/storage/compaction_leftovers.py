"""Files that a compaction of a Java bookie leaves when it is killed: transactional compaction has names of its own.

A log is written as ``<new>.log.compacting``; when it is whole it becomes ``<new>.log.<old>.compacted``, and gets
``<new>.log`` as a second name.  Then the locations are changed, and at last ``<old>.log`` is removed.  So no location
points to a log that is not whole yet; to one that is whole some may, and the old log is there as well.
"""

import errno
import os
from typing import Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from protocol_specs.disk.entry_log import LOG_SUFFIX

COMPACTING: Final = LOG_SUFFIX + ".compacting"
COMPACTED: Final = ".compacted"

log = Logger()


def clean(disk: Disk, directory: str) -> None:
    """Remove logs that are not whole, and give those that are their one name; blocks.

    On a read-only file system they stay: no location points to the one kind, and the old log is there beside the other.
    Raises OSError.
    """
    try:
        _clean(disk, directory)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        log.warn("what a compaction has left stays: {error}", error=error)


def _clean(disk: Disk, directory: str) -> None:
    names = disk.list_directory(directory)
    changed = False
    for name in names:
        path = os.path.join(directory, name)
        stem, suffix, rest = name.partition(LOG_SUFFIX + ".")
        if name.endswith(COMPACTING):
            disk.remove(path)
        elif suffix and rest.endswith(COMPACTED):
            final = stem + LOG_SUFFIX
            if final in names or not _is_log_id(stem) or not _is_log_id(rest.removesuffix(COMPACTED)):
                disk.remove(path)
            else:
                disk.rename(path, os.path.join(directory, final))
        else:
            continue
        changed = True
        log.info("cleaned up {path}, left by a compaction that was killed", path=path)
    if changed:
        disk.sync_directory(directory)


def _is_log_id(text: str) -> bool:
    return bool(text) and not set(text) - set("0123456789abcdef")
