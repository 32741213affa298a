"""Ledgers whose states Java's ``rebuild-db-ledgers-index`` has made: under longer keys, fenced, and without theirs."""

from collections.abc import Iterable

import pytest

from bookkeeper_tx.bookie.storage.db import keys, ledger_data
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import Unauthorized
from protocol_specs.disk.db_index import LEDGERS
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, LEDGER, SCOPED, entry, run_of
from tests.bookie.storage.storages import add, flush, new_storage, read
from tests.conftest import result_of

OTHER_KEY = bytes(20)
REBUILT = IndexHeader(b"", True)


def opened(disk: CrashingDisk) -> LedgerStorage:
    return new_storage(disk, DIRECTORY, ledger_storage_class="DbLedgerStorage")


def rebuilt(disk: CrashingDisk, ledger_ids: Iterable[int]) -> None:
    """Have the states as Java's tool leaves them."""
    states = disk.open_key_values(
        f"{DIRECTORY}/{LEDGERS}", BookieConfig(metadata_uri="", journal_directory="", ledger_directory="")
    )
    states.delete_ranges([(bytes(8), bytes([0x7F] * 8))])
    states.put(list(map(keys.rebuilt_key, ledger_ids)), [ledger_data.packed(REBUILT) for _ in ledger_ids])
    states.sync()
    states.close()


@pytest.fixture
def storage(disk: CrashingDisk) -> LedgerStorage:
    ledger_ids = LEDGER, LEDGER + 1
    storage = opened(disk)
    for each in (*ledger_ids, SCOPED):
        storage.open_for(each, KEY)
        add(storage, run_of(0, 60, 70, ledger_id=each))
    flush(storage)
    result_of(storage.stop())
    rebuilt(disk, ledger_ids)
    return opened(disk)


def test_they_are_served_and_the_others_as_before(storage: LedgerStorage) -> None:
    assert sorted(storage.indexes.ledger_ids()) == [LEDGER, LEDGER + 1, SCOPED]
    for each in (LEDGER, LEDGER + 1, SCOPED):
        assert storage.indexes.has(each)
        assert read(storage, each, 1) == entry(1, 70, each)
        ledger = storage.ledger(each)
        assert ledger is not None
        assert ledger.fenced is (each != SCOPED)
    assert not storage.indexes.has(LEDGER + 2)


def test_the_first_key_is_theirs_also_after_a_crash(disk: CrashingDisk, storage: LedgerStorage) -> None:
    assert storage.open_for(LEDGER, KEY)[1]
    flush(storage)
    disk.crash()
    disk.restart()
    storage = opened(disk)
    assert sorted(storage.indexes.ledger_ids()) == [LEDGER, LEDGER + 1, SCOPED]
    with pytest.raises(Unauthorized):
        storage.open_for(LEDGER, OTHER_KEY)
    assert not storage.open_for(LEDGER, KEY)[1]
    assert storage.indexes.read_header(LEDGER) == IndexHeader(KEY, True)
    assert storage.indexes.read_header(LEDGER + 1) == REBUILT


@pytest.mark.parametrize("used", [False, True])
def test_they_can_be_deleted(disk: CrashingDisk, storage: LedgerStorage, used: bool) -> None:
    if used:
        storage.open_for(LEDGER, KEY)
        flush(storage)
    assert result_of(storage.collection.delete_ledgers([LEDGER])) == [LEDGER]
    disk.crash()
    disk.restart()
    assert sorted(opened(disk).indexes.ledger_ids()) == [LEDGER + 1, SCOPED]


def test_their_key_may_come_after_a_replay_and_after_limbo(disk: CrashingDisk, storage: LedgerStorage) -> None:
    result_of(storage.stop())
    replaying = new_storage(disk, DIRECTORY, serving=False, ledger_storage_class="DbLedgerStorage")
    sink = StorageSink(replaying)
    sink.entries(run_of(2, 60, ledger_id=LEDGER))
    sink.finish()
    in_limbo = replaying.ledger(LEDGER + 1)
    assert in_limbo is not None
    replaying.limbo.enter(in_limbo, False)
    flush(replaying)
    replaying.limbo.leave(in_limbo)
    flush(replaying)
    result_of(replaying.stop())
    again = opened(disk)
    for each in LEDGER, LEDGER + 1:
        assert again.open_for(each, KEY)[1]
        with pytest.raises(Unauthorized):
            again.open_for(each, OTHER_KEY)


def test_java_finds_no_rebuilt_state_in_place_of_a_later_one(disk: CrashingDisk, storage: LedgerStorage) -> None:
    storage.open_for(LEDGER, KEY)
    flush(storage)
    result_of(storage.stop())
    config = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="")
    states = disk.open_key_values(f"{DIRECTORY}/{LEDGERS}", config)
    assert list(states.keys()) == [keys.ledger_key(LEDGER), keys.rebuilt_key(LEDGER + 1)]
