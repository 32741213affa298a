"""A bookie with several ledger and index directories: killed, expanded, and looked at with the tools for its files."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie
from compat_tests.targets.payloads import patterns
from compat_tests.targets.ports import choose_port
from tests.cli.bktx_process import bktx
from tests.integration.support.our_client import OurClient, append, read

PAYLOADS = patterns(700, 1000, seed=1)
LEDGERS = 6
SETTINGS = {"skipListSizeLimit": 1 << 20, "logSizeLimit": 1 << 20}


class Bench:
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


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for bookie in bench.bookies:
        bookie.kill()


def test_it_serves_all_after_a_kill_and_takes_new_directories(bench: Bench) -> None:
    bookie = bench.started("a b")
    bench.write()
    bookie.kill()
    assert "ledger directories" in bench.refused("a b c")
    bookie = bench.started("a b c", "x y z", allowStorageExpansion="true")
    bench.check()
    bench.write()
    bench.write()
    bookie.kill()
    assert bench.used("a b c", "*.log") == "a b c"
    assert bench.used("x y z", "*.idx") == "x y z"
    assert "ledger directories" in bench.refused("a b", "x y z", allowStorageExpansion="true")
    bookie = bench.started("a b c", "x y z")
    bench.check()
    assert bookie.stop() == 0


def test_a_directory_that_is_missing_refuses_the_start(bench: Bench) -> None:
    assert bench.started("a b").stop() == 0
    shutil.rmtree(bench.directory / "b")
    for setting in ("false", "true"):
        assert f"no cookie {bench.directory}/b/current/VERSION" in bench.refused("a b", allowStorageExpansion=setting)


def test_the_tools_look_into_all_directories(bench: Bench) -> None:
    bookie = bench.started("a b")
    bench.write()
    assert bookie.stop() == 0
    places = ["--journal-dir", bench.listed("j"), "--index-dir", bench.listed("x y")]
    listed = bktx("bookie", "listfilesondisc", "--data", bench.listed("a b"), *places)
    assert listed.returncode == 0, listed.stderr
    for name in ("/a/current/", "/b/current/", "/x/current/", "/y/current/"):
        assert name in listed.stdout.decode()
    checked = bktx("bookie", "consistency", "--data", bench.listed("a b"), *places)
    assert checked.returncode == 0, checked
    partial = bktx("bookie", "consistency", "--data", bench.listed("a"), *places)
    assert partial.returncode == 1
    assert b"2 ledger directories" in partial.stderr


@pytest.mark.full
def test_the_databases_may_be_in_a_directory_of_their_own(bench: Bench) -> None:
    storage = {"ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"}
    bookie = bench.started("a", "x", **storage)
    bench.write()
    bookie.kill()
    assert bench.used("a x", "CURRENT") == "x"
    bookie = bench.started("a", "x", **storage)
    bench.check()
    assert bookie.stop() == 0
    assert "serves one ledger directory and one index directory" in bench.refused("a b", "x", **storage)
