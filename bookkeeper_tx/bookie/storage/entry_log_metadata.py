"""Which ledgers an entry log has entries of, and how many bytes of each: from its ledgers map, or by a scan."""

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.entry_log_format import (
    HEADER,
    LEDGERS_MAP_HEAD,
    LEDGERS_MAP_ROW,
    SCOPED_LEDGERS_MAP_HEAD,
    SCOPED_LEDGERS_MAP_ROW,
    log_name,
)
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged, scan
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from protocol_specs.disk import entry_log as spec
from protocol_specs.ledger_id import SCOPED_MIN, join

_LOW = SCOPED_MIN - 1
_HALF_BITS = SCOPED_MIN.bit_length() - 1


@frozen(order=True)
class LogName:
    """One entry log of a directory."""

    log_id: int
    scoped: bool = False
    """Whether its entries are of ledgers outside scope 0."""

    @property
    def file_name(self) -> str:
        return log_name(self.log_id, self.scoped)

    @classmethod
    def of_file_name(cls, file_name: str) -> "LogName | None":
        """Return the log whose file has this name, None for another file."""
        stem, dot, suffix = file_name.partition(".")
        if dot + suffix not in (spec.LOG_SUFFIX, spec.SCOPED_LOG_SUFFIX):
            return None
        try:
            found = cls(int(stem, 16), dot + suffix == spec.SCOPED_LOG_SUFFIX)
        except ValueError:
            return None
        return found if found.file_name == file_name else None


class EntryLogMetadata:
    """The ledgers of one log, in 16 bytes a ledger (24 outside scope 0)."""

    def __init__(self, name: LogName, file_size: int, sizes: Mapping[int, int]) -> None:
        self.name = name
        self.file_size = file_size
        """Bytes that are free once the log is deleted."""
        self.total_bytes = sum(sizes.values())
        """Bytes of entries that were written to it."""
        self.remaining_bytes = self.total_bytes
        """Those of ledgers that are still there."""
        self._low = array("Q", (ledger_id & _LOW for ledger_id in sizes))
        self._high = array("Q", (each >> _HALF_BITS for each in sizes) if name.scoped else ())
        self._sizes = array("Q", sizes.values())

    @property
    def memory_bytes(self) -> int:
        """Memory that it takes, more or less."""
        return 512 + self._low.itemsize * (len(self._low) + len(self._high) + len(self._sizes))

    def usage_of(self, size_bytes: int) -> float:
        """Return the part whose ledgers are still there of a log that counts as at least so large."""
        return self.remaining_bytes / max(self.total_bytes, size_bytes, 1)

    def ledger_ids(self) -> Iterator[int]:
        """Return the ledgers that are still there."""
        if self.name.scoped:
            return (high << _HALF_BITS | low for high, low in zip(self._high, self._low, strict=True))
        return iter(self._low)

    def retain(self, is_alive: Callable[[int], bool]) -> None:
        """Forget the ledgers that are not alive."""
        alive = [index for index, ledger_id in enumerate(self.ledger_ids()) if is_alive(ledger_id)]
        if len(alive) == len(self._low):
            return
        for name in ("_low", "_high", "_sizes"):
            column = getattr(self, name)
            setattr(self, name, array("Q", (column[index] for index in alive) if column else ()))
        self.remaining_bytes = sum(self._sizes)


def finished_names(file_names: Iterable[str]) -> list[LogName]:
    """Return the entry logs among files, ascending by id."""
    return sorted(name for each in file_names if (name := LogName.of_file_name(each)) is not None)


def count(disk: Disk, directory: str, name: LogName) -> EntryLogMetadata:
    """Return the metadata of a log that is not written any more.  Blocks.

    Raises OSError, and Damaged if the log cannot be read to its end: then nobody knows what is in it.
    """
    file = disk.open(os.path.join(directory, name.file_name))
    try:
        size = file.size()
        if size <= spec.HEADER_SIZE:
            return EntryLogMetadata(name, size, {})
        head = file.read(HEADER.size, 0)
        magic, _, map_offset, map_count = HEADER.unpack_fixed(head)
        if magic != spec.MAGIC:
            raise Damaged(f"{file.path} has no header of an entry log", None if any(head) else 0)
        sizes = _mapped(file, name.scoped, map_offset, map_count, size)
        return EntryLogMetadata(name, size, _scanned(file, name) if sizes is None else sizes)
    finally:
        file.close()


def _scanned(file: File, name: LogName) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for placed in scan(file, name.log_id, name.scoped):
        for each in placed:
            ledger_id = each.run.ledger_id
            sizes[ledger_id] = sizes.get(ledger_id, 0) + each.run.size
    return sizes


def _mapped(file: File, scoped: bool, offset: int, count: int, file_size: int) -> dict[int, int] | None:
    """Return the bytes of each ledger in the ledgers map, None if there is no map, or not a whole one.

    The header of a log may be damaged, so nothing of a map is taken unless all of it fits: each byte before it is one
    of its ledgers.  Java's direct I/O leaves gaps, so its logs are scanned.
    """
    if not spec.HEADER_SIZE <= offset < file_size or count <= 0:
        return None
    head, row = (SCOPED_LEDGERS_MAP_HEAD, SCOPED_LEDGERS_MAP_ROW) if scoped else (LEDGERS_MAP_HEAD, LEDGERS_MAP_ROW)
    sizes: dict[int, int] = {}
    data_size = offset - spec.HEADER_SIZE
    while offset < file_size:
        fixed = file.read(head.size, offset)
        if len(fixed) < head.size:
            break
        length, *owner, entry_id, rows = head.unpack_fixed(fixed)
        if length <= 0:
            break
        if owner[-1] != spec.LEDGERS_MAP_LEDGER_ID or entry_id != spec.LEDGERS_MAP_ENTRY_ID or rows < 0:
            return None
        if length != head.size - RECORD_LENGTH_SIZE + rows * row.size:
            return None
        data = file.read(rows * row.size, offset + head.size)
        if len(data) < rows * row.size:
            return None
        for at in range(0, len(data), row.size):
            *ids, size = row.unpack_fixed(data, at)
            ledger_id = join(*ids) if scoped else ids[0]
            if size <= 0 or ledger_id < 0 or (ledger_id >= SCOPED_MIN) != scoped or ledger_id in sizes:
                return None
            sizes[ledger_id] = size
        offset += head.size + len(data)
    return sizes if len(sizes) == count and sum(sizes.values()) == data_size else None
