"""``bktx bookie index`` of a bookie with DbLedgerStorage."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from bookkeeper_tx.bookie.directories import DirectoryInUse, unused
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.conversion import Conversion
from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.bookie.storage.db.keys import ledger_key
from bookkeeper_tx.bookie.storage.entry_log_format import log_name
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, Page
from bookkeeper_tx.errors import InvalidArgument, NoSuchLedger, RefusedToStart, StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.disk.db_index import SCOPED_LEDGERS
from protocol_specs.disk.ledger_index import PAGE_COUNT
from protocol_specs.ledger_id import SCOPED_MIN
from tests.bookie.storage.several import test_conversion as several
from tests.bookie.storage.several.several_storages import made_currents
from tests.bookie.storage.test_conversion import CONFIG, LEDGERS, fill
from tests.cli.bookie.bookie_files import files_of, objects, run

pytest.importorskip("rocksdict")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of a bookie with databases."""
    (tmp_path / "current").mkdir()
    fill(Disk(), str(tmp_path / "current"), "DbLedgerStorage")
    return tmp_path


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are made meanwhile."""
    directory = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def which(ledger_id: int) -> list[object]:
    return ["--ledger-qualified-name", ledger_name(ledger_id)] if ledger_id >= SCOPED_MIN else [ledger_id]


def test_databases_say_what_index_files_do(data: Path) -> None:
    def said(*options: str) -> Iterator[tuple[str, list[dict[str, Any]], str]]:
        for ledger_id in [*LEDGERS, 99]:
            arguments = ["index", *which(ledger_id), "--data", data, "--master-key", *options]
            header, *locations = objects(*arguments)
            path = header.pop("path")
            yield path, [header, *locations], run(*arguments).stdout.replace(path, "…")

    found = list(said("--locations"))
    assert [each[0] for each in found if "scoped" in each[0]] == [str(data / "current" / SCOPED_LEDGERS)] * 2
    (_, (header, *locations), text) = found[LEDGERS.index(5)]
    assert (header["fenced"], header["explicit_last_add_confirmed"]) == (True, 7)
    assert (header["entries"], header["last_entry_id"]) == (1131, 9000)
    assert [each["entry_id"] for each in locations] == [*range(30), *range(1000, 2100), 9000]
    assert "fenced: yes\nin limbo: no\nexplicit last add confirmed: 7\nentries: 1131\nlast entry id: 9000\n" in text
    Conversion(Disk(), [str(data / "current")], "SortedLedgerStorage", CONFIG).run()
    assert [each[1:] for each in said("--locations")] == [each[1:] for each in found]


def test_nothing_is_written_and_nothing_left(data: Path, temporary: Path) -> None:
    before = files_of(data)
    assert run("index", 5, "--data", data, "--locations").exit_code == 0
    assert isinstance(run("index", 6, "--data", data).exception, NoSuchLedger)
    assert files_of(data) == before
    assert list(temporary.iterdir()) == []


def test_a_ledger_that_is_not_there(data: Path) -> None:
    for arguments in ([4711], [5, "--ledger-scope-id", 77]):
        error = run("index", *arguments, "--data", data).exception
        assert isinstance(error, NoSuchLedger)
        assert str(error).startswith("there is no index of ledger ")
        assert str(error).endswith(" on this bookie")


def test_of_several_directories_that_of_its_home_has_a_ledger(tmp_path: Path) -> None:
    directories = tmp_path / "a", tmp_path / "b"
    several.fill(Disk(), "DbLedgerStorage", made_currents(*directories))
    places = ["--data", f"{directories[0]},{directories[1]}"]
    for ledger_id in [*several.LEDGERS, several.EMPTY]:
        (header, *locations) = objects("index", *which(ledger_id), *places, "--locations")
        home = directories[ledger_id % 2]
        assert Path(header["path"]).parent == home / "current"
        records = objects("ledger", *which(ledger_id), *places) if ledger_id != several.EMPTY else []
        scoped = ledger_id >= SCOPED_MIN
        assert [(each["entry_id"], log_name(each["log_id"], scoped), each["offset"]) for each in locations] == [
            (each["entry_id"], Path(each["file"]).name, each["offset"]) for each in records
        ]
        assert header["entries"] == len(records)
    reversed_places = f"{directories[1]},{directories[0]}"
    assert isinstance(run("index", 5, "--data", reversed_places).exception, RefusedToStart)
    one_index = run("index", 5, *places, "--index-dir", directories[0]).exception
    assert isinstance(one_index, InvalidArgument)
    assert "2 and 1 are given" in str(one_index)


def test_a_running_bookie_is_left_alone(data: Path) -> None:
    with unused(Disk(), [str(data)], writing=True):
        assert isinstance(run("index", 5, "--data", data).exception, DirectoryInUse)


def test_a_ledger_in_limbo_without_entries(data: Path) -> None:
    indexes = DbIndexes(Disk(), str(data / "current"), CONFIG)
    indexes.open()
    indexes.write([IndexChange(8, IndexHeader(b"key", limbo=True), [])])
    indexes.close()
    assert objects("index", 8, "--data", data, "--master-key") == [
        {
            "path": str(data / "current" / "ledgers"),
            "fenced": False,
            "in_limbo": True,
            "explicit_last_add_confirmed": None,
            "entries": 0,
            "last_entry_id": -1,
            "master_key": b"key".hex(),
        }
    ]
    assert (
        "in limbo: yes\nexplicit last add confirmed: none\nentries: 0\nlast entry id: none"
        in run("index", 8, "--data", data).stdout
    )


def test_locations_are_shown_page_by_page_and_holes_are_skipped(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all of a ledger is in memory, and one without its middle takes no time for that."""
    done: list[str] = []
    read_page, echo = DbIndexes.read_page, click.echo

    def reading(indexes: DbIndexes, ledger_id: int, number: int, count: int = PAGE_COUNT) -> Page:
        done.append(f"page {number}")
        return read_page(indexes, ledger_id, number, count)

    def showing(text: str) -> None:
        done.append(f"{len(text.splitlines())} lines")
        echo(text)

    monkeypatch.setattr(DbIndexes, "read_page", reading)
    monkeypatch.setattr(click, "echo", showing)
    assert run("index", 0, "--data", data, "--locations").exit_code == 0
    pages = ["page 0", "page 1", "page 2", "page 8"]
    shown = ["54 lines", "1024 lines", "52 lines", "1 lines"]
    assert done == [*pages, "6 lines", *(each for both in zip(pages, shown, strict=True) for each in both)]


def test_damage_is_one_error_that_names_the_database(data: Path, temporary: Path) -> None:
    current = data / "current"
    table = max((current / "locations").glob("*.sst"), key=lambda path: path.stat().st_size)
    whole = table.read_bytes()
    table.write_bytes(bytes(100) + whole[100:])
    error = run("index", 5, "--data", data).exception
    assert isinstance(error, StorageFailed)
    assert "cannot read the locations of ledger 5" in str(error)
    assert str(table) in str(error)
    table.write_bytes(whole)
    states = Disk().open_key_values(str(current / "ledgers"), CONFIG)
    states.put([ledger_key(5)], [b"junk"])
    states.sync()
    states.close()
    error = run("index", 5, "--data", data).exception
    assert isinstance(error, StorageFailed)
    assert "RocksDB has no valid state of ledger 5" in str(error)
    (current / "locations").rename(current / "elsewhere")
    error = run("index", 5, "--data", data).exception
    assert isinstance(error, RefusedToStart)
    assert f"there is no database {current}/locations beside" in str(error)
    assert not (current / "locations").exists()
    assert list(temporary.iterdir()) == []
