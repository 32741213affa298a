"""Histories of a bookie with DbLedgerStorage in two ledger directories: each has a storage of its own."""

from tests.bookie.crashing_disk import DIRECTORY
from tests.simulation.db_history import DbHistory

SECOND, INDEX = "/second/current", "/index/current"


class SeveralDbDirectoriesHistory(DbHistory):
    """The journal is in the first ledger directory, whose databases are in another; those of the second are there."""

    directories = (SECOND, INDEX)
    """Those without the journal."""

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        super().__init__(seed, syncs_lie)
        for path in (SECOND, INDEX):
            self.disk.make_directories(path)
        self.more_directories = {"more_ledgers": (SECOND,), "indexes": (INDEX, SECOND)}
        self.used: set[str] = set()
        """The directories that had an entry log."""

    def start(self) -> None:
        super().start()
        for path in (DIRECTORY, SECOND):
            if any(name.endswith((".log", ".log128")) for name in self.disk.list_directory(path)):
                self.used.add(path)
