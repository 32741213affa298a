"""A bookie with several directories, started and stopped with any of them."""

import contextlib
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie
from compat_tests.targets.payloads import patterns
from compat_tests.targets.ports import choose_port
from tests.integration.support.our_client import OurClient, append, read

PAYLOADS = patterns(700, 1000, seed=1)
LEDGERS = 6
SETTINGS = {"skipListSizeLimit": 1 << 20, "logSizeLimit": 1 << 20}


class DirectoriesBench:
    """A bookie whose directories are all below one; its metadata is in an SQLite file."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.uri = f"sqlite:///{directory}/metadata.db"
        self.bookies: list[LocalBookie] = []
        self.ledger_ids: list[int] = []
        self.port = choose_port()

    def started(self, ledgers: str, indexes: str = "x y", **settings: object) -> LocalBookie:
        options = ["--data", self.listed(ledgers), "--index-dir", self.listed(indexes)]
        bookie = LocalBookie(
            self.directory, self.uri, SETTINGS | settings, ["--journal-dir", str(self.directory / "j"), *options]
        )
        bookie.port = self.port
        self.bookies.append(bookie)
        bookie.launch()
        bookie.wait_until_ready()
        return bookie

    def refused(self, ledgers: str, indexes: str = "x y", **settings: object) -> str:
        with pytest.raises(BookieFailed) as caught:
            self.started(ledgers, indexes, **settings)
        return str(caught.value)

    def listed(self, names: str) -> str:
        return ",".join(str(self.directory / name) for name in names.split())

    def write(self) -> None:
        with OurClient(self.uri) as ours:
            for _ in range(LEDGERS):
                writer = ours.create_ledger()
                append(writer, PAYLOADS)
                self.ledger_ids.append(writer.ledger_id)

    def check(self) -> None:
        with OurClient(self.uri) as ours:
            for ledger_id in self.ledger_ids:
                reader = ours.open_ledger(ledger_id)
                assert read(reader, 0, reader.last_add_confirmed) == PAYLOADS

    def used(self, names: str, pattern: str) -> str:
        return " ".join(name for name in names.split() if any((self.directory / name / "current").rglob(pattern)))

    def logged(self, name: str) -> int:
        """Return the bytes of the entry logs in a directory, of which some may go meanwhile."""
        size = 0
        for path in (self.directory / name / "current").glob("*.log"):
            with contextlib.suppress(FileNotFoundError):
                size += path.stat().st_size
        return size

    def files(self) -> dict[str, int]:
        """Return the files below it, and when each was written."""
        return {str(path): path.stat().st_mtime_ns for path in self.directory.rglob("*") if "metadata" not in path.name}
