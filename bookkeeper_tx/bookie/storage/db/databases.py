"""The databases of ledgers of one kind: those of scope 0, or those of all other scopes."""

import errno
import os
from contextlib import closing

from attrs import evolve, frozen

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.key_values import KeyValues
from bookkeeper_tx.config import MIB, BookieConfig
from bookkeeper_tx.errors import RefusedToStart

LEDGERS_MEMORY_BYTES = 4 * MIB
"""Of the database of ledgers, which is small, in each of the two places in which RocksDB keeps bytes."""


@frozen
class Databases:
    """A pair of databases."""

    ledgers: KeyValues
    """The states of the ledgers."""
    locations: KeyValues
    """The locations of their entries."""
    locations_path: str

    @classmethod
    def open(cls, disk: Disk, ledgers: str, locations: str, config: BookieConfig) -> "Databases":
        """Open the databases at two paths, made if there are none; raises RefusedToStart, OSError."""
        small = evolve(
            config, rocksdb_block_cache_bytes=LEDGERS_MEMORY_BYTES, rocksdb_write_buffer_bytes=LEDGERS_MEMORY_BYTES
        )
        present = [path for path in (ledgers, locations) if disk.has_key_values(path)]
        if len(present) == 1:
            _refuse_if_used(disk, present[0], locations if present == [ledgers] else ledgers, small)
        states = disk.open_key_values(ledgers, small)
        try:
            opened = cls(states, disk.open_key_values(locations, config), locations)
        except BaseException:
            states.close()
            raise
        try:
            _sync(disk, os.path.dirname(ledgers))
        except BaseException:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        try:
            self.ledgers.close()
        finally:
            self.locations.close()


def _refuse_if_used(disk: Disk, path: str, missing: str, config: BookieConfig) -> None:
    """Raise RefusedToStart if the one database that is there has keys; the other is not made then.

    A first start that was killed leaves one without keys.
    """
    with closing(disk.open_key_values(path, config)) as database:
        if next(database.keys(), None) is not None:
            raise RefusedToStart(f"there is no database {missing} beside {path}: bring it back, or rebuild it")


def _sync(disk: Disk, directory: str) -> None:
    """Make the names of the databases durable, also those of a process that was killed before it could."""
    try:
        disk.sync_directory(directory)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
