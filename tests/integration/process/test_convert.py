"""``bktx bookie convert`` is killed again and again: it goes on, and a bookie serves all of what it has converted."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.directories import CONVERSION_NAME
from bookkeeper_tx.bookie.storage.conversion import INDEX_FILES, OTHER, ROCKSDB
from bookkeeper_tx.errors import LedgerFenced
from tests.cli.bktx_process import start
from tests.integration.support import raw_requests
from tests.integration.support.directories_bench import DirectoriesBench
from tests.integration.support.our_client import OurClient, append, read

pytestmark = pytest.mark.crash

SMALL_LEDGERS = 30
SMALL = [b"small", b"", b"x" * 3000]
KILLED_WITHIN_S = 0.15
"""After the first change that a conversion makes."""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DirectoriesBench]:
    pytest.importorskip("rocksdict")
    bench = DirectoriesBench(tmp_path)
    yield bench
    for bookie in bench.bookies:
        bookie.kill()


class Conversions:
    """Conversions of the directories of a bookie, which are killed."""

    def __init__(self, bench: DirectoriesBench, names: str) -> None:
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        self.random = random.Random(seed)
        self.bench, self.names = bench, names
        self.currents = [bench.directory / name / "current" for name in names.split()]
        self.fenced: list[int] = []
        self.small: list[int] = []
        self.half = 0

    def fill(self, name: str) -> None:
        bookie = self.bench.started(self.names, self.names, ledgerStorageClass=name)
        self.bench.write()
        with OurClient(self.bench.uri) as client:
            for _ in range(SMALL_LEDGERS):
                writer = client.create_ledger()
                append(writer, SMALL)
                self.small.append(writer.ledger_id)
        self.fenced = self.small[::7]
        for ledger_id in self.fenced:
            raw_requests.fence(bookie.port, ledger_id)
        assert bookie.stop() == 0

    def convert(self, to: str, kills: int) -> None:
        """Convert, with up to ``kills`` kills, and have no bookie start on what they leave."""
        while kills:
            before = self.seen()
            process = start("bookie", "convert", "--journal-dir", self.bench.listed("j"), *self.data, "--to", to)
            while process.poll() is None and self.seen() == before:
                time.sleep(0.001)
            time.sleep(self.random.uniform(0, KILLED_WITHIN_S))
            process.kill()
            _, errors = process.communicate()
            if self.has_ended(process.returncode, errors):
                return
            assert process.returncode < 0, errors
            kills -= 1
            if any((each / CONVERSION_NAME).exists() for each in self.currents):
                self.half += 1
                if self.half == 1:
                    refused = self.bench.refused(self.names, self.names, ledgerStorageClass=to)
                    assert "a conversion of the indexes is not finished; begin it again" in refused
        process = start("bookie", "convert", "--journal-dir", self.bench.listed("j"), *self.data, "--to", to)
        _, errors = process.communicate()
        assert self.has_ended(process.returncode, errors), errors

    @staticmethod
    def has_ended(code: int, errors: bytes) -> bool:
        """Tell whether all is converted: the one before may have been killed when it had only to end."""
        return code == 0 or (code > 0 and b"already" in errors)

    def check(self, name: str) -> None:
        bookie = self.bench.started(self.names, self.names, ledgerStorageClass=name)
        self.bench.check()
        for ledger_id in self.fenced:
            with pytest.raises(LedgerFenced):
                raw_requests.add(bookie.port, ledger_id, 100, [b"too late"])
        with OurClient(self.bench.uri) as client:
            for ledger_id in self.small:
                reader = client.open_ledger(ledger_id)
                assert read(reader, 0, reader.last_add_confirmed) == SMALL
        assert bookie.stop() == 0

    @property
    def data(self) -> list[str]:
        return ["--data", self.bench.listed(self.names)]

    def seen(self) -> list[tuple[str, int]]:
        """Return what changes when a conversion has begun."""
        return [(str(each), each.stat().st_mtime_ns) for each in self.currents]


def test_it_is_killed_and_goes_on(bench: DirectoriesBench) -> None:
    conversions = Conversions(bench, "a b")
    conversions.fill(INDEX_FILES)
    conversions.convert(ROCKSDB, 1)
    conversions.check(ROCKSDB)


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", ["a", "a b"])
def test_it_is_killed_many_times_both_ways_and_goes_on(bench: DirectoriesBench, names: str) -> None:
    conversions = Conversions(bench, names)
    name = INDEX_FILES
    conversions.fill(name)
    for _ in range(6):
        name = OTHER[name]
        conversions.convert(name, 10)
        conversions.check(name)
    assert conversions.half, "no kill has met a conversion"
