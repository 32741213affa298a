"""bookkeeper_tx.bookie.offline.stored_ledgers: what commands read of a bookie with databases."""

from contextlib import closing
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.consistency import Checked, check
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.stored_entries import Stored, stored_entries
from bookkeeper_tx.bookie.offline.stored_ledgers import InFiles, stored_ledgers
from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import InvalidArgument, RefusedToStart
from tests.bookie.golden_directory import build, files_of
from tests.bookie.storage.several.test_conversion import EMPTY, LEDGERS, fill

pytest.importorskip("rocksdict")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Two directories with databases."""
    places = Places((), (str(tmp_path / "a"), str(tmp_path / "b")))
    for current in places.ledger_currents:
        Path(current).mkdir(parents=True)
    first, second = places.ledger_currents
    fill(Disk(), "DbLedgerStorage", (first, second))
    return places


def test_all_ledgers_are_found_and_nothing_is_written(places: Places, tmp_path: Path) -> None:
    before, checked = files_of(str(tmp_path)), Checked()
    with closing(stored_ledgers(Disk(), places)) as stored:
        assert sorted(stored.ledger_ids()) == sorted([*LEDGERS, EMPTY])
        for ledger_id in LEDGERS:
            indexes = stored.find(ledger_id)
            assert indexes is not None
            found = list(stored_entries(indexes, stored.logs_of(ledger_id), ledger_id))
            assert sum(each.run.count for each in found if isinstance(each, Stored)) == 30
        assert stored.find(4711) is None
        assert list(check(stored, checked)) == []
    assert (checked.ledgers, checked.entries, checked.faults) == (len(LEDGERS) + 1, len(LEDGERS) * 30, 0)
    assert files_of(str(tmp_path)) == before


def test_a_log_that_is_gone_is_a_fault_although_another_directory_has_one_of_its_name(places: Places) -> None:
    log = min(Path(places.ledger_currents[1]).glob("*.log"))
    assert (Path(places.ledger_currents[0]) / log.name).exists()
    log.unlink()
    with closing(stored_ledgers(Disk(), places)) as stored:
        assert {fault.ledger_id % 2 for fault in check(stored, Checked())} == {1}


def test_directories_in_another_order_or_one_too_few_are_refused(places: Places) -> None:
    with pytest.raises(RefusedToStart, match="the number or the order of the directories"):
        stored_ledgers(Disk(), Places((), places.ledger[::-1]))
    with pytest.raises(InvalidArgument, match="2 and 1 are given"):
        stored_ledgers(Disk(), Places((), places.ledger, places.ledger[:1]))


def test_index_files_are_read_as_such(tmp_path: Path) -> None:
    (tmp_path / "current").mkdir()
    build(str(tmp_path / "current"))
    with closing(stored_ledgers(Disk(), Places((), (str(tmp_path),)))) as stored:
        assert isinstance(stored, InFiles)
        assert list(check(stored, Checked())) == []


def test_the_databases_of_all_directories_take_what_those_of_one_would(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches: list[int] = []

    class Watched(DbIndexes):
        def __init__(self, disk: Disk, directory: str, config: BookieConfig) -> None:
            caches.append(config.rocksdb_block_cache_bytes)
            super().__init__(disk, directory, config)

    monkeypatch.setattr("bookkeeper_tx.bookie.offline.stored_ledgers.DbIndexes", Watched)
    stored_ledgers(Disk(), places).close()
    assert (
        caches
        == [BookieConfig(metadata_uri="", journal_directory="", ledger_directory="").rocksdb_block_cache_bytes // 2] * 2
    )
