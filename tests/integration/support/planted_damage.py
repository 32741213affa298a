"""Damage on the disk of a bookie that is stopped, ours or Java's: started again, it serves the rest."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log_format import log_name
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.testing.local_cluster import LocalCluster
from protocol_specs import codecs
from protocol_specs.disk import ledger_index as spec
from protocol_specs.entry.version import metadata_of
from protocol_specs.ledger_id import SCOPED_MIN

OPEN_FILES_MAX = 10


class StoppedBookie:
    """The ledger directory of a bookie that does not run."""

    def __init__(self, directory: Path) -> None:
        self.current = directory / "current"

    def remove(self, ledger_id: int, entry_id: int) -> None:
        """Remove an entry from the index."""
        with self._index(ledger_id).open("r+b") as file:
            file.seek(_location_at(entry_id))
            file.write(bytes(spec.LOCATION_SIZE))

    def forget(self, ledger_id: int) -> None:
        """Remove a ledger from the bookie."""
        self._index(ledger_id).unlink()

    def flip(self, ledger_id: int, entry_id: int) -> None:
        """Turn a bit in the last byte of an entry, as it lies in the entry log."""
        entry = self.entry(ledger_id, entry_id)
        self.put(ledger_id, entry_id, entry[:-1] + bytes([entry[-1] ^ 1]))

    def replace(self, ledger_id: int, entry_id: int) -> None:
        """Put another payload of the same size in the place of an entry's, with the digest that it should have."""
        entry, digest = self.entry(ledger_id, entry_id), EntryDigest(DigestType.CRC32C, b"")
        payload = bytes(len(entry) - digest.payload_offset_of(ledger_id))
        self.put(ledger_id, entry_id, digest.seal(*metadata_of(entry), payload))

    def entry(self, ledger_id: int, entry_id: int) -> bytes:
        """Return an entry as it lies in the entry log."""
        path, offset = self._place(ledger_id, entry_id)
        with path.open("rb") as file:
            file.seek(offset)
            (length,) = codecs.RECORD_LENGTH.unpack_fixed(file.read(codecs.RECORD_LENGTH.size))
            return file.read(length)

    def put(self, ledger_id: int, entry_id: int, entry: bytes) -> None:
        """Write over an entry in the entry log."""
        path, offset = self._place(ledger_id, entry_id)
        with path.open("r+b") as file:
            file.seek(offset + codecs.RECORD_LENGTH.size)
            file.write(entry)

    def _place(self, ledger_id: int, entry_id: int) -> tuple[Path, int]:
        data, at = self._index(ledger_id).read_bytes(), _location_at(entry_id)
        log_id, offset = split_location(int.from_bytes(data[at : at + spec.LOCATION_SIZE], "big"))
        return self.current / log_name(log_id, ledger_id >= SCOPED_MIN), offset

    def _index(self, ledger_id: int) -> Path:
        return Path(LedgerIndexes(Disk(), str(self.current), OPEN_FILES_MAX).path(ledger_id))


@contextmanager
def stopped(cluster: LocalCluster, index: int) -> Iterator[StoppedBookie]:
    """Stop a bookie, with all it has on the disk, and start it again."""
    cluster.stop_bookie(index)
    yield StoppedBookie(cluster.bookies[index].directory / "data")
    cluster.restart(index)


def _location_at(entry_id: int) -> int:
    return spec.HEADER_SIZE + spec.LOCATION_SIZE * entry_id
