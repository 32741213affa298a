"""Scrubbing a storage on RocksDB itself: what passes, what is damaged, and what the disk does not give."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.db import keys
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.scrub import ScrubFailed, Suspect
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.fields import NO_ENTRY
from tests.bookie.seams import KEY, LEDGER, run_of
from tests.bookie.storage.storages import add, flush, new_storage
from tests.conftest import result_of

pytest.importorskip("rocksdict")


def opened(path: Path) -> LedgerStorage:
    return new_storage(Disk(), str(path), ledger_storage_class="DbLedgerStorage")


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[LedgerStorage]:
    storage = opened(tmp_path)
    storage.open_for(LEDGER, KEY)
    add(storage, run_of(0, *[50] * 2000))
    flush(storage)
    yield storage
    storage.stop()


def locations_of(storage: LedgerStorage) -> Any:
    return storage.indexes._plain.locations  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["Already mutably borrowed", ""])
def test_a_look_while_the_database_is_opened_anew_does_not_blame_the_disk(
    storage: LedgerStorage, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    db = locations_of(storage)
    raised: list[type[BaseException]] = []

    class Full:
        def write(self, *_: object) -> None:
            raise Exception("IO error: No space left on device: while appending to file")

        def close(self) -> None:
            inner.close()

        def get(self, keys: object) -> object:
            if text:  # as of another thread, while this one closes it
                raise RuntimeError(text)
            return inner.get(keys)

    def open_anew() -> object:
        with pytest.raises(StorageFailed) as caught:
            storage.scrub.look(LEDGER, 0, 1024)
        raised.append(caught.type)
        return open_again()

    inner, open_again = db._db, db._opening.as_can_be
    monkeypatch.setattr(db._opening, "as_can_be", open_anew)
    db._db = Full()
    add(storage, run_of(2000, 50))
    with pytest.raises(OSError, match="No space"):
        flush(storage)
    assert raised == [StorageFailed]
    flush(storage)
    assert storage.scrub.look(LEDGER, 1024, 1024).suspects == []


def test_damage_of_a_database_is_a_suspect(storage: LedgerStorage, tmp_path: Path) -> None:
    locations_of(storage).compact()  # which makes a table file
    result_of(storage.stop())
    (table,) = (tmp_path / "locations").glob("*.sst")
    data = bytearray(table.read_bytes())
    data[len(data) // 3] ^= 0x10
    table.write_bytes(data)
    damaged = opened(tmp_path)
    first_id: int | None = 0
    suspects: list[Suspect] = []
    while first_id is not None:
        looked = damaged.scrub.look(LEDGER, first_id, 1024)
        suspects += looked.suspects
        first_id = looked.next_id
    assert [each.entry_id for each in suspects] == [NO_ENTRY]
    assert "RocksDB: Corruption" in suspects[0].text
    damaged.stop()


def test_a_key_that_is_none_of_an_entry_is_a_suspect(storage: LedgerStorage) -> None:
    locations_of(storage).put([keys.location_key(LEDGER, 7) + b"x"], [bytes(8)])
    looked = storage.scrub.look(LEDGER, 0, 1024)
    assert [each.entry_id for each in looked.suspects] == [NO_ENTRY]
    assert "damaged" in looked.suspects[0].text


def test_what_the_disk_does_not_give_is_the_end(storage: LedgerStorage) -> None:
    class Broken:
        def get(self, keys: object) -> object:
            raise Exception("IO error: Input/output error: While pread")

    db = locations_of(storage)
    inner, db._db = db._db, Broken()
    with pytest.raises(ScrubFailed, match="Input/output error"):
        storage.scrub.look(LEDGER, 0, 1024)
    db._db = inner
