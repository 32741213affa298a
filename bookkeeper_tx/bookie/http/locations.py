"""What the endpoints need of the databases of entry locations, which a storage on RocksDB has."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class EntryLocations(Protocol):
    """The databases.  Called on the reactor thread; nothing here waits."""

    def compacting(self) -> Mapping[str, bool]:
        """Return for the path of each database whether it is being compacted."""

    def compact(self, paths: Sequence[str]) -> object:
        """Begin to compact the databases at these paths."""


class NoEntryLocations:
    """A storage without such databases."""

    def compacting(self) -> Mapping[str, bool]:
        return {}

    def compact(self, paths: Sequence[str]) -> None: ...
