"""bookkeeper_tx.bookie.storage.limbo: what is kept of lost entries, in index files and in RocksDB."""

import pytest

from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.errors import BadRequest, NoSuchEntry, RefusedToStart, Unauthorized, UnknownLedgerState
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, LEDGER, OTHER_KEY, SCOPED, entry, run_of
from tests.bookie.storage.storages import MARK, add, flush, new_storage, read
from tests.bookie.workers import SteppedWorker
from tests.conftest import result_of

pytestmark = pytest.mark.usefixtures("ledger_storage_class")


def opened(disk: CrashingDisk, **settings: object) -> LedgerStorage:
    return new_storage(disk, DIRECTORY, data_integrity_checking=True, **settings)


def in_limbo(storage: LedgerStorage, ledger_id: int = LEDGER, fenced: bool = True) -> None:
    ledger, _ = storage.open_for(ledger_id, KEY)
    storage.limbo.enter(ledger, fenced)


@pytest.mark.parametrize("ledger_id", [LEDGER, SCOPED])
def test_an_entry_that_may_be_lost_is_not_missing_but_unknown_until_the_ledger_is_out_of_limbo(
    disk: CrashingDisk, ledger_id: int
) -> None:
    storage = opened(disk)
    in_limbo(storage, ledger_id)
    add(storage, run_of(2, 41, ledger_id=ledger_id))
    for _ in range(2):
        for entry_id in (0, 3):
            with pytest.raises(UnknownLedgerState, match="may have lost entries"):
                read(storage, ledger_id, entry_id)
        assert read(storage, ledger_id, 2) == entry(2, ledger_id=ledger_id)
        flush(storage)
        disk.crash()
        disk.restart()
        storage = opened(disk)
    ledger = storage.ledger(ledger_id)
    assert ledger is not None
    assert ledger.fenced
    storage.limbo.leave(ledger)
    flush(storage)
    disk.crash()
    disk.restart()
    with pytest.raises(NoSuchEntry):
        read(opened(disk), ledger_id, 3)


def test_a_key_that_no_index_can_hold_is_neither_taken_nor_replayed(disk: CrashingDisk) -> None:
    storage = new_storage(disk, DIRECTORY)
    ledger, _ = storage.open_for(LEDGER, b"")
    storage.limbo.enter(ledger, True)
    flush(storage)
    with pytest.raises(BadRequest, match="a master key has 20 bytes, not 2000"):
        storage.open_for(LEDGER, b"x" * 2000)
    again = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(again)
    sink.key(LEDGER, b"x" * 2000)
    sink.finish()
    flush(again)
    assert again.open_for(LEDGER, KEY)[1]


def test_a_read_that_began_in_limbo_does_not_end_with_a_missing_entry(disk: CrashingDisk) -> None:
    reading = SteppedWorker()
    storage = opened(disk)
    in_limbo(storage)
    add(storage, run_of(0, 41))
    add(storage, run_of(5, 41))
    flush(storage)
    storage = opened(disk, read_worker=reading)
    ledger = storage.ledger(LEDGER)
    assert ledger is not None
    loading = storage.load_run(LEDGER, 3)
    storage.limbo.leave(ledger)
    reading.run_all()
    with pytest.raises(UnknownLedgerState):
        result_of(loading)


def test_a_storage_that_needs_a_check_is_opened_only_by_a_bookie_that_checks(disk: CrashingDisk) -> None:
    storage = opened(disk)
    assert not storage.limbo.needs_check()
    storage.limbo.set_needs_check(True)
    disk.crash()
    disk.restart()
    with pytest.raises(RefusedToStart, match="start the bookie with dataIntegrityChecking=true"):
        new_storage(disk, DIRECTORY)
    storage = opened(disk)
    assert storage.limbo.needs_check()
    storage.limbo.set_needs_check(False)
    disk.crash()
    disk.restart()
    assert not new_storage(disk, DIRECTORY).limbo.needs_check()


def test_the_first_key_is_that_of_a_ledger_whose_key_was_not_known(disk: CrashingDisk) -> None:
    storage = opened(disk)
    storage.limbo.enter(storage.open_for(LEDGER, b"")[0], False)
    flush(storage)
    storage = opened(disk)
    assert storage.open_for(LEDGER, KEY)[1]
    assert not storage.open_for(LEDGER, KEY)[1]
    with pytest.raises(Unauthorized):
        storage.open_for(LEDGER, OTHER_KEY)
    flush(storage)
    with pytest.raises(Unauthorized):
        opened(disk).open_for(LEDGER, OTHER_KEY)


def test_a_change_is_durable_when_a_flush_that_began_after_it_has_ended(disk: CrashingDisk) -> None:
    flushing = SteppedWorker()
    storage = opened(disk, flush_worker=flushing)
    assert storage.limbo.is_durable(storage.limbo.last_change)
    in_limbo(storage)
    first = storage.limbo.last_change
    disk.fail_syncs(1)
    failed = storage.flush(lambda: MARK)
    failed.addErrback(lambda _: None)
    flushing.run_all()
    in_limbo(storage, LEDGER + 1)
    second = storage.limbo.last_change
    assert (second > first, storage.limbo.is_durable(first)) == (True, False)
    for durable in ([True, False], [True, True]):
        again = storage.flush(lambda: MARK)
        flushing.run_all()
        result_of(again)
        assert [storage.limbo.is_durable(each) for each in (first, second)] == durable
