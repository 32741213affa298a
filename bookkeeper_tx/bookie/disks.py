"""All disks of a bookie: what their space lets it do."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.space import LedgerDisks, Space
from bookkeeper_tx.config import BookieConfig


@frozen
class HomeDisks:
    """The disks of one storage: of all ledger directories, or of one that has its own."""

    ledgers: LedgerDisks
    indexes: LedgerDisks

    @property
    def full(self) -> bool:
        """Whether one of them is full."""
        return self.ledgers.full or self.indexes.full


class BookieDisks:
    """The disks of journals, ledgers and indexes, each in these directories; ``indexes`` may be the ``ledgers``."""

    def __init__(
        self, disk: Disk, journals: Sequence[str], ledgers: Sequence[str], indexes: Sequence[str], config: BookieConfig
    ) -> None:
        self._disk = disk
        self._full: frozenset[str] = frozenset()
        self._journals = {directory: Space(config) for directory in journals}
        apart = len(ledgers) > 1 and config.ledger_storage_class == "DbLedgerStorage"
        self.ledgers = LedgerDisks(disk, ledgers, config, apart)
        self.indexes = self.ledgers if list(indexes) == list(ledgers) else LedgerDisks(disk, indexes, config, apart)
        self.homes = [HomeDisks(self.ledgers, self.indexes)]
        """Those of each storage."""
        if apart:
            self.homes = [
                HomeDisks(self.ledgers.only(ledger), self.indexes.only(index))
                for ledger, index in zip(ledgers, indexes, strict=True)
            ]

    def look(self) -> None:
        """Find out how full they are.  Blocks; raises OSError if one does not tell, after all others have."""
        failed: OSError | None = None
        looks: list[Callable[[], None]] = [disks.look for disks in self._kinds]
        looks += [partial(self._look_at, each) for each in self._journals]
        for look in looks:
            try:
                look()
            except OSError as error:
                failed = error
        if failed is not None:
            raise failed

    def take_filled(self) -> frozenset[str]:
        """Return the directories of ledgers and indexes whose disks are full, and were not at the last call."""
        full = frozenset[str]().union(*(disks.full_directories for disks in self._kinds))
        filled, self._full = full - self._full, full
        return filled

    @property
    def full(self) -> bool:
        """Whether one of those of ledgers and indexes is full."""
        return any(disks.full for disks in self._kinds)

    @property
    def read_only(self) -> bool:
        """Whether adds are to be refused, but for those of high priority."""
        return any(disks.read_only for disks in self._kinds)

    @property
    def reserve_used(self) -> bool:
        """Whether these are to be refused as well."""
        return any(disks.reserve_used for disks in self._kinds)

    @property
    def journals_short(self) -> bool:
        """Whether one of those of the journals is nearly full."""
        return any(space.short for space in self._journals.values())

    def usage(self) -> tuple[Mapping[str, Space], Mapping[str, Space]]:
        """Return how full those of the ledgers are, by the directory in the configuration, and so those of the indexes.

        The second is empty if they are the same.
        """
        ledgers, *more = [_by_configured(disks) for disks in self._kinds]
        return ledgers, more[0] if more else {}

    def _look_at(self, journal: str) -> None:
        self._journals[journal].look(self._disk.total_bytes(journal), self._disk.free_bytes(journal))

    @property
    def _kinds(self) -> list[LedgerDisks]:
        return list(dict.fromkeys((self.ledgers, self.indexes)))


def _by_configured(disks: LedgerDisks) -> dict[str, Space]:
    return {os.path.dirname(current): space for current, space in disks.spaces.items()}
