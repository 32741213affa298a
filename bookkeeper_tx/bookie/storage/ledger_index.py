"""Index files (docs/formats/ledger-index.md), one per ledger: its header, and the locations of its entries."""

import contextlib
import os
import sys
from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from attrs import field, frozen
from construct import ConstructError

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.open_files import OpenFiles
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.codecs import Malformed
from protocol_specs.disk import entry_log as entry_log_spec
from protocol_specs.disk import ledger_index as spec
from protocol_specs.entry import version
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import SCOPED_MIN, qualified_name

Page: TypeAlias = "array[int]"
"""The first locations of a page as ``array("Q")``, ``PAGE_COUNT`` or fewer; there are none behind them."""

HEADERS_MAX: Final = 256
"""How many headers are kept in both forms: ledgers of one client have the same one until they are fenced."""

_HEX_DIGITS = frozenset("0123456789abcdef")


@frozen
class IndexHeader:
    """The ledger's state in the header of an index file."""

    master_key: bytes
    fenced: bool = False
    explicit_lac: bytes = b""
    """Body of the last WRITE_LAC request; empty if there was none."""
    limbo: bool = False
    """Whether entries may have been lost here."""
    keyless: bool = field(default=False, eq=False)
    """Whether the state was found without the key, as of ledgers whose states Java has rebuilt; ``master_key`` is empty
    until there is one."""

    def pack(self) -> bytes:
        """Return the header's bytes, all ``HEADER_SIZE`` of them."""
        if len(self.explicit_lac) > explicit_lac_size_max(self.master_key):
            raise ValueError(
                f"an explicit last add confirmed of {len(self.explicit_lac)} bytes does not fit the header"
            )
        return _packed(self)

    @classmethod
    def unpack(cls, path: str, data: bytes) -> "IndexHeader":
        """Return the header in ``data``, from the file ``path``; raises StorageFailed."""
        if len(data) < spec.HEADER_SIZE:
            raise _damaged(path, f"it ends within its header, after {len(data)} bytes")
        try:
            version_found, header = _unpacked(data)
        except ConstructError as error:
            reason = str(error).splitlines()[-1]  # those before say where in the header
            raise _damaged(path, f"it has no valid header: {reason}") from error
        if not 0 <= version_found <= spec.VERSION:
            raise _damaged(path, f"or of a newer release: version {version_found}, the newest known is {spec.VERSION}")
        if header.explicit_lac:
            try:
                version.explicit_lac_of(header.explicit_lac)
            except Malformed as error:
                raise _damaged(path, f"it has a bad explicit last add confirmed: {error}") from error
        return header


def _damaged(path: str, reason: str) -> StorageFailed:
    return StorageFailed(f"index {path} is damaged, {reason}; `bktx bookie regenerate-index` makes it anew")


@lru_cache(HEADERS_MAX)
def _packed(header: IndexHeader) -> bytes:
    values: bytes = spec.HEADER.build(
        {
            "version": spec.VERSION,
            "master_key": header.master_key,
            "state": spec.FENCED * header.fenced | spec.LIMBO * header.limbo,
            "explicit_lac": header.explicit_lac,
        }
    )
    return values.ljust(spec.HEADER_SIZE, b"\0")


@lru_cache(HEADERS_MAX)
def _unpacked(data: bytes) -> tuple[int, IndexHeader]:
    """Return the version of a header and what it says; raises ConstructError."""
    values = spec.HEADER.parse(data)
    fenced, limbo = bool(values.state & spec.FENCED), bool(values.state & spec.LIMBO)
    return values.version, IndexHeader(bytes(values.master_key), fenced, bytes(values.explicit_lac or b""), limbo)


def explicit_lac_size_max(master_key: bytes) -> int:
    """Return how many bytes of explicit last add confirmed fit the header after this key."""
    return spec.HEADER_SIZE - spec.HEADER_FIXED_SIZE - len(master_key)


def page_of(entry_id: int) -> int:
    """Return the number of the page that holds the location of an entry."""
    return entry_id // spec.PAGE_COUNT


def locations_of(number: int, last_entry_id: int) -> int:
    """Return how many locations a page has up to that of the last entry of its ledger."""
    return min(last_entry_id + 1 - number * spec.PAGE_COUNT, spec.PAGE_COUNT)


def unpack_page(data: bytes) -> Page:
    """Return a page from the bytes of a file, which may end before the end of the page, even within a location."""
    page = array("Q", data[: len(data) // spec.LOCATION_SIZE * spec.LOCATION_SIZE])
    _swap(page)
    return page


def pack_locations(locations: "array[int]") -> bytes:
    """Return the bytes of locations in a file; the array is of no use afterwards."""
    _swap(locations)
    return locations.tobytes()


def without_absent_end(page: Page) -> Page:
    """Return the locations up to the last one that is not zero."""
    if not page or page[-1]:
        return page
    filled = len(page.tobytes().rstrip(b"\0"))
    return page[: -(-filled // page.itemsize)]


def _is_hex(name: str) -> bool:
    return bool(name) and not set(name) - _HEX_DIGITS


def _filled(page: Page, first_id: int) -> list[range]:
    """Return the ids that have a location in ``page``, or in several pages, whose first id is ``first_id``."""
    page = without_absent_end(page)
    if not page:
        return []
    if page.count(entry_log_spec.NO_LOCATION) == 0:
        return [range(first_id, first_id + len(page))]
    ids = [first_id + slot for slot, location in enumerate(page) if location != entry_log_spec.NO_LOCATION]
    starts = [entry_id for before, entry_id in zip([None, *ids], ids, strict=False) if before != entry_id - 1]
    ends = [entry_id + 1 for entry_id, after in zip(ids, [*ids[1:], None], strict=False) if after != entry_id + 1]
    return list(map(range, starts, ends))


def _swap(page: Page) -> None:
    if sys.byteorder == "little":
        page.byteswap()


class LedgerIndexes:
    """Reads the index files of one directory.  Calls block, and may come from any thread."""

    def __init__(self, disk: Disk, directory: str, open_files_max: int) -> None:
        self._disk = disk
        self.directory = directory
        self._files = OpenFiles(disk, open_files_max)

    def open(self) -> None:
        """Nothing is to be done: files are opened one by one, when they are read."""

    @property
    def needs_integrity_check(self) -> bool:
        """Whether entries may be missing in the directory."""
        return self._disk.exists(os.path.join(self.directory, spec.CHECK_NAME))

    def path(self, ledger_id: int) -> str:
        """Return the path of a ledger's index file."""
        if ledger_id >= SCOPED_MIN:
            name = qualified_name(ledger_id)
            levels = [name[at : at + spec.SCOPED_LEVEL_DIGITS] for at in range(0, len(name), spec.SCOPED_LEVEL_DIGITS)]
            return os.path.join(self.directory, *levels) + spec.INDEX_SUFFIX
        name = f"{ledger_id >> 8 & 0xFF:x}{os.sep}{ledger_id & 0xFF:x}{os.sep}{ledger_id:x}{spec.INDEX_SUFFIX}"
        return os.path.join(self.directory, name)

    def estimated_entry_count(self) -> None:
        """Return None: only a look at each index would tell."""

    def ledger_ids(self, suffix: str = spec.INDEX_SUFFIX) -> Iterator[int]:
        """Return the ledgers that have an index file, from the names in the directories.  Raises OSError.

        ``suffix`` is that of the names, of other files with indexes.
        """
        for first in self._names_of(()):
            if _is_hex(first) and len(first) <= 2:
                for second in self._names_of((first,)):
                    yield from self._ledger_ids((first, second), suffix)
            elif _is_hex(first) and len(first) == spec.SCOPED_LEVEL_DIGITS:
                for second in self._names_of((first,)):
                    for third in self._names_of((first, second)):
                        yield from self._ledger_ids((first, second, third), suffix)

    def _ledger_ids(self, levels: tuple[str, ...], suffix: str) -> Iterator[int]:
        """Return the ledgers whose index files are in one directory; other files there are not ours."""
        scoped = len(levels) > 2
        for name in self._names_of(levels):
            stem = name.removesuffix(suffix)
            if stem != name and _is_hex(stem):
                ledger_id = int("".join((*levels, stem)) if scoped else stem, 16)
                if self.path(ledger_id) == os.path.join(self.directory, *levels, stem + spec.INDEX_SUFFIX):
                    yield ledger_id

    def _names_of(self, levels: tuple[str, ...]) -> list[str]:
        with contextlib.suppress(NotADirectoryError):
            return self._disk.list_directory(os.path.join(self.directory, *levels))
        return []

    def read_header(self, ledger_id: int, *, replaying: bool = False) -> IndexHeader | None:
        """Return the header of a ledger's index, None if there is no index; raises StorageFailed.

        ``replaying``: a file that a crash left without a header counts as missing, since the journal still has its
        contents.
        """
        path = self.path(ledger_id)
        try:
            with self._files.borrow(path) as file:
                data = file.read(spec.HEADER_SIZE, 0)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageFailed(f"cannot read index {path}: {error}") from error
        if replaying and (len(data) < spec.HEADER_SIZE or not any(data)):
            return None
        return IndexHeader.unpack(path, data)

    def read_page(self, ledger_id: int, number: int, count: int = spec.PAGE_COUNT, first: int = 0) -> Page:
        """Return ``count`` locations of a page from its slot ``first`` on, 0 for entries without one.

        Raises StorageFailed, also if there is no index.
        """
        path = self.path(ledger_id)
        try:
            with self._files.borrow(path) as file:
                at = spec.HEADER_SIZE + number * spec.PAGE_SIZE + first * spec.LOCATION_SIZE
                return unpack_page(file.read(count * spec.LOCATION_SIZE, at))
        except OSError as error:
            raise StorageFailed(f"cannot read index {path}: {error}") from error

    def read_page_at_once(self, ledger_id: int, number: int, count: int) -> "Page | None":
        """Return the result of :meth:`read_page` if it need not wait, else None."""
        with self._files.borrow_open(self.path(ledger_id)) as file:
            data = None
            if file is not None:
                data = file.read_cached(count * spec.LOCATION_SIZE, spec.HEADER_SIZE + number * spec.PAGE_SIZE)
        return None if data is None else unpack_page(data)

    def ranges(self, ledger_id: int, first_page: int, page_count: int) -> list[range]:
        """Return the ids of the entries that have a location in these pages, ascending; raises StorageFailed."""
        found: list[range] = []
        at = first_page
        while (number := self.next_page(ledger_id, at)) is not None and number < first_page + page_count:
            found += _filled(self.read_page(ledger_id, number), number * spec.PAGE_COUNT)
            at = number + 1
        return found

    def next_page(self, ledger_id: int, number: int) -> int | None:
        """Return the first page from this one on that may have locations, without reading any; raises StorageFailed."""
        path = self.path(ledger_id)
        try:
            with self._files.borrow(path) as file:
                at = file.next_data(spec.HEADER_SIZE + number * spec.PAGE_SIZE)
        except OSError as error:
            raise StorageFailed(f"cannot read index {path}: {error}") from error
        return None if at is None else (at - spec.HEADER_SIZE) // spec.PAGE_SIZE

    def last_entry(self, ledger_id: int) -> tuple[int, int]:
        """Return the highest entry id that has a location, and that location; raises StorageFailed."""
        path = self.path(ledger_id)
        try:
            with self._files.borrow(path) as file:
                for number in range(max(file.size() - spec.HEADER_SIZE - 1, 0) // spec.PAGE_SIZE, -1, -1):
                    data = file.read(spec.PAGE_SIZE, spec.HEADER_SIZE + number * spec.PAGE_SIZE)
                    # Half a location at the end of the file is none.
                    filled = len(data[: len(data) // spec.LOCATION_SIZE * spec.LOCATION_SIZE].rstrip(b"\0"))
                    if filled:
                        slot = (filled - 1) // spec.LOCATION_SIZE
                        return number * spec.PAGE_COUNT + slot, unpack_page(data)[slot]
        except OSError as error:
            raise StorageFailed(f"cannot read index {path}: {error}") from error
        return NO_ENTRY, entry_log_spec.NO_LOCATION

    def replaced(self, ledger_id: int) -> None:
        """Take notice that the ledger has another index file."""
        self._files.forget(self.path(ledger_id))

    def close(self) -> None:
        self._files.close()
