"""A bookie with several ledger and index directories: killed, expanded, and looked at with the tools for its files."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.bktx_process import bktx
from tests.integration.support.directories_bench import LEDGERS, PAYLOADS, DirectoriesBench
from tests.integration.support.our_client import OurClient, poll, wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DirectoriesBench]:
    bench = DirectoriesBench(tmp_path)
    yield bench
    for bookie in bench.bookies:
        bookie.kill()


def test_it_serves_all_after_a_kill_and_takes_new_directories(bench: DirectoriesBench) -> None:
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


@pytest.mark.full
def test_a_directory_that_is_missing_refuses_the_start(bench: DirectoriesBench) -> None:
    assert bench.started("a b").stop() == 0
    shutil.rmtree(bench.directory / "b")
    for setting in ("false", "true"):
        assert f"no cookie {bench.directory}/b/current/VERSION" in bench.refused("a b", allowStorageExpansion=setting)


@pytest.mark.full
def test_the_tools_look_into_all_directories(bench: DirectoriesBench) -> None:
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
def test_the_databases_may_be_in_a_directory_of_their_own(bench: DirectoriesBench) -> None:
    storage = {"ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"}
    bookie = bench.started("a", "x", **storage)
    bench.write()
    bookie.kill()
    assert bench.used("a x", "CURRENT") == "x"
    bookie = bench.started("a", "x", **storage)
    bench.check()
    assert bookie.stop() == 0
    assert "2 ledgerDirectories and 1 indexDirectories" in bench.refused("a b", "x", **storage)


DB = {
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": 2,
    "gcWaitTime": 300,
    "minorCompactionInterval": 0,
    "majorCompactionInterval": 1,
    "majorCompactionThreshold": 0.99,
}


def test_with_databases_each_directory_has_its_ledgers_and_keeps_them(bench: DirectoriesBench) -> None:
    pytest.importorskip("rocksdict")
    bookie = bench.started("a b", **DB)
    bench.write()
    bookie.kill()
    assert bench.used("a b x y", "locations/CURRENT") == "x y"
    assert bench.used("a b", "*.log") == "a b"
    order = "finds a ledger by the number and the order"
    for ledgers, indexes in (("b a", "x y"), ("a b", "y x"), ("a b c", "x y z"), ("a", "x")):
        assert order in bench.refused(ledgers, indexes, allowStorageExpansion="true", **DB)
    bookie = bench.started("a b", **DB)
    bench.check()
    bench.write()
    before = {name: bench.logged(name) for name in "ab"}
    with OurClient(bench.uri) as ours:
        for ledger_id in bench.ledger_ids[:LEDGERS]:
            wait_for(ours.bookkeeper.delete_ledger, ledger_id)
    del bench.ledger_ids[:LEDGERS]
    assert poll(lambda: all(bench.logged(name) < 0.8 * before[name] for name in before), timeout_s=60)
    bench.check()
    assert bookie.stop() == 0


@pytest.mark.full
def test_between_the_two_classes_of_storage_all_directories_are_converted(bench: DirectoriesBench) -> None:
    pytest.importorskip("rocksdict")
    bookie = bench.started("a b", "a b")
    bench.write()
    bookie.kill()
    places = ["--journal-dir", bench.listed("j"), "--data"]
    swapped = bktx("bookie", "convert", *places, bench.listed("b a"), "--to", "DbLedgerStorage")
    assert b"in the order of the cookie" in swapped.stderr
    for to, settings in (("DbLedgerStorage", DB), ("SortedLedgerStorage", {}), ("DbLedgerStorage", DB)):
        done = bktx("bookie", "convert", *places, bench.listed("a b"), "--to", to, "--json")
        assert done.returncode == 0, done.stderr
        bookie = bench.started("a b", "a b", **settings)
        bench.check()
        bench.write()
        bookie.kill()


@pytest.mark.full
def test_the_tools_read_the_databases_of_each_directory_and_write_nothing(bench: DirectoriesBench) -> None:
    pytest.importorskip("rocksdict")
    bookie = bench.started("a b", **DB)
    bench.write()
    bookie.kill()
    bookie = bench.started("a b", **DB)  # it brings home what the kill has left in the journal
    assert bookie.stop() == 0
    before = bench.files()
    journal = ["--journal-dir", bench.listed("j")]
    places = [*journal, "--data", bench.listed("a b"), "--index-dir", bench.listed("x y")]
    checked = bktx("bookie", "consistency", "--json", *places)
    assert json.loads(checked.stdout) == {"ledgers": LEDGERS, "entries": LEDGERS * len(PAYLOADS), "faults": 0}
    for ledger_id in bench.ledger_ids[:2]:
        shown = bktx("bookie", "ledger", "--json", "--first", "690", *places, str(ledger_id))
        lines = [json.loads(line) for line in shown.stdout.splitlines()]
        assert [each["entry_id"] for each in lines] == list(range(690, 700))
        assert {each["file"].split("/")[-3] for each in lines} == {"ab"[ledger_id % 2]}
    assert bktx("bookie", "ledger", *places, "4711").returncode == 1
    swapped = [*journal, "--data", bench.listed("b a"), "--index-dir", bench.listed("y x")]
    assert b"the number or the order of the directories" in bktx("bookie", "consistency", *swapped).stderr
    assert bench.files() == before
    for path in (bench.directory / "b" / "current").glob("*.log"):  # in some the indexes may have nothing
        path.unlink()
    lost = bktx("bookie", "consistency", *places)
    assert (lost.returncode, b"which is not there" in lost.stdout) == (1, True)
