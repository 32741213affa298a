"""Histories of a bookie with several directories: entry logs and index files are spread over disks of their own."""

from typing import Any

from tests.bookie.crashing_disk import DIRECTORY
from tests.simulation.bookie_history import BookieHistory

LEDGERS = ("/second/current", "/third/current")
INDEXES = ("/index/current", DIRECTORY)


class SeveralDirectoriesHistory(BookieHistory):
    """The journal is in the first ledger directory, which is an index directory, too."""

    directories = (*LEDGERS, INDEXES[0])
    """Those without the journal."""

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        super().__init__(seed, syncs_lie)
        for path in (*LEDGERS, *INDEXES):
            self.disk.make_directories(path)
        self.more_directories = {"more_ledgers": LEDGERS, "indexes": INDEXES, "choose": self.random.choice}
        self.used: set[str] = set()
        """The directories that had an entry log or an index file."""

    def start(self) -> None:
        super().start()
        self.used |= {path for path in (DIRECTORY, *LEDGERS) if self._has(path, ".log", ".log128")}
        self.used |= {path for path in INDEXES if any(True for _ in self._index_files(path))}

    def _has(self, path: str, *endings: str) -> bool:
        return any(name.endswith(endings) for name in self.disk.list_directory(path))

    def _index_files(self, path: str) -> Any:
        return (each for each in self.disk._names if each.startswith(f"{path}/") and each.endswith(".idx"))
