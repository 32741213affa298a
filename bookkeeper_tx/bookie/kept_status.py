"""Whether the bookie is read-only, kept in its ledger directories over a restart (docs/formats/bookie-status.md)."""

import os
from collections.abc import Callable, Sequence
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.codecs import Malformed
from protocol_specs.disk import bookie_status as spec
from protocol_specs.disk.bookie_status import BookieStatus

NEVER: Final = BookieStatus(read_only=False, updated_at_ms=0)
"""Where there is no file."""

log = Logger()


class KeptStatus:
    """Keeps in ``directories``, the ``current`` ones, what ``availability`` says.

    ``clock`` returns seconds since the epoch.  ``writes``: whether files may be written; else they are only read.
    """

    def __init__(
        self,
        disk: Disk,
        directories: Sequence[str],
        availability: Availability,
        worker: Threads,
        clock: Callable[[], float],
        writes: bool,
    ) -> None:
        self._disk = disk
        self._directories = directories
        self._availability = availability
        self._worker = worker
        self._clock = clock
        self._writes = writes
        self._kept = NEVER
        self._writing = False
        self._failed = False
        """Whether a directory has not got what is kept."""

    def restore(self) -> Deferred[None]:
        """Have the bookie be read-only if an operator has made it so; fires when that is known.

        What made it read-only without an operator is found out anew.
        """
        return self._worker.run(read_status, self._disk, self._directories).addCallback(self._restored)

    def _restored(self, status: BookieStatus) -> None:
        self._kept = status
        self._availability.note(Reason.MANUAL, status.read_only and status.manual)

    def keep(self) -> None:
        """Write the status if it is not the one that is kept, or could not be written the last time."""
        if self._failed or self._changed:
            self._write()

    @property
    def _changed(self) -> bool:
        return self._present != (self._kept.read_only, self._kept.manual)

    def _write(self) -> None:
        if self._writing or not self._writes:
            return
        self._writing = True
        read_only, manual = self._present
        # The newest file counts, so it must be newer also after the clock was set back.
        updated_at_ms = max(int(self._clock() * 1000), self._kept.updated_at_ms + 1)
        self._kept = BookieStatus(read_only, updated_at_ms, manual)
        self._worker.run(write_status, self._disk, self._directories, self._kept).addBoth(self._written)

    @property
    def _present(self) -> tuple[bool, bool]:
        reasons = self._availability.reasons
        return bool(reasons - {Reason.CONFIGURED}), Reason.MANUAL in reasons

    def _written(self, everywhere: object) -> None:
        self._writing = False
        self._failed = everywhere is not True
        if self._changed:
            self._write()


def read_status(disk: Disk, directories: Sequence[str]) -> BookieStatus:
    """Return the newest status in ``directories``, passing over those that cannot be read."""
    found = [NEVER]
    for directory in directories:
        path = os.path.join(directory, spec.FILE_NAME)
        try:
            found.append(spec.parse(disk.read(path)))
        except FileNotFoundError:
            continue
        except (OSError, Malformed) as error:
            log.warn("{path} says nothing about the bookie: {error}", path=path, error=error)
    return max(found, key=lambda status: status.updated_at_ms)


def write_status(disk: Disk, directories: Sequence[str], status: BookieStatus) -> bool:
    """Write ``status`` to each of ``directories`` that can be written; return whether those are all."""
    everywhere = True
    for directory in directories:
        path = os.path.join(directory, spec.FILE_NAME)
        try:
            disk.replace(path, spec.build(status))
        except OSError as error:
            log.error("after a restart the bookie may not be as it is now: {path}: {error}", path=path, error=error)
            everywhere = False
    return everywhere
