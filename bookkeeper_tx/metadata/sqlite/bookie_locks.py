"""The registrations of bookies as kernel locks: a bookie is registered while its process holds the lock on its file.

The lock is ``flock``, which belongs to the open file.  So it ends with the process, however the process ends, and two
stores in one process exclude each other as two processes do.  (``lockf`` does neither: its locks belong to the process
and end when any descriptor of the file is closed.)  A child that is forked without exec inherits the lock.

The files are never removed: somebody else may have locked a file just before its removal.
"""

import fcntl
import hashlib
import os
import time
from contextlib import suppress
from urllib.parse import quote

from bookkeeper_tx.errors import BookieIdInUse
from bookkeeper_tx.model import BookieId

_NAME_SIZE_MAX = 200
"""File names end at 255 bytes."""

_RETRY_INTERVAL_S = 0.01


class BookieLocks:
    """The lock files in one directory.  Blocking; one thread."""

    def __init__(self, directory: str, patience_s: float = 0.5) -> None:
        """``patience_s``: how long :meth:`acquire` tries; :meth:`is_held` holds a shared lock for microseconds."""
        self._directory = directory
        self._patience_s = patience_s
        self._held: dict[BookieId, int] = {}

    @property
    def held(self) -> list[BookieId]:
        """The bookies whose locks are held here."""
        return list(self._held)

    def acquire(self, bookie_id: BookieId) -> bool:
        """Take the lock; return False if it is held here already, raise BookieIdInUse if somebody else holds it."""
        if bookie_id in self._held:
            return False
        os.makedirs(self._directory, exist_ok=True)
        path = self._path(bookie_id)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        deadline = time.monotonic() + self._patience_s
        while not _lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise BookieIdInUse(
                    f"a bookie with the id {bookie_id} is running: its process holds a lock on {path}. "
                    "Stop it, or give this one another id."
                )
            time.sleep(_RETRY_INTERVAL_S)
        self._held[bookie_id] = descriptor
        return True

    def release(self, bookie_id: BookieId) -> None:
        """Give the lock back, if it is held here."""
        descriptor = self._held.pop(bookie_id, None)
        if descriptor is not None:
            os.close(descriptor)

    def is_held(self, bookie_id: BookieId) -> bool:
        """Tell whether anybody holds the lock.  Looking takes a shared lock for a moment; others may look meanwhile."""
        if bookie_id in self._held:
            return True
        try:
            descriptor = os.open(self._path(bookie_id), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not _lock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def _path(self, bookie_id: BookieId) -> str:
        name = quote(bookie_id, safe="")
        if len(name) > _NAME_SIZE_MAX:
            name = "sha256-" + hashlib.sha256(bookie_id.encode()).hexdigest()
        return os.path.join(self._directory, name + ".lock")


def _lock(descriptor: int, kind: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return True
    return False
