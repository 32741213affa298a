"""bookkeeper_tx.bookie.storage.several.storages: each ledger is in the storage of its home."""

from typing import Any

import pytest

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.limbo import Limbo
from bookkeeper_tx.bookie.storage.several.storages import SeveralStorages, storages_of
from bookkeeper_tx.errors import NoSuchEntry, NoSuchLedger, RefusedToStart, UnknownLedgerState
from bookkeeper_tx.protocol.bookie.requests import OneAdd
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, entry, run_of
from tests.bookie.storage.several.several_storages import SECOND, several_storages, two_disks
from tests.bookie.storage.storages import add, explicit_lac, flush, new_storage, read
from tests.conftest import failure_of, result_of

LEDGERS = [0, 1, 5, 8, join(3, 2), join(3, -1)]


@pytest.fixture
def disk() -> CrashingDisk:
    return two_disks()


def filled(disk: CrashingDisk, **settings: Any) -> SeveralStorages:
    storage = several_storages(disk, **settings)
    for ledger_id in LEDGERS:
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 50, 60, ledger_id=ledger_id))
    return storage


def record(entry_id: int, ledger_id: int) -> bytes:
    return bytes(run_of(entry_id, 50, ledger_id=ledger_id).records(entry_id, 1))


def test_a_ledger_is_in_the_storage_of_its_home_alone(disk: CrashingDisk) -> None:
    storage = filled(disk)
    even, odd = storages_of(storage)
    flush(storage)
    assert list(even.collection.ledger_ids()) == [0, 8, join(3, 2)]
    assert list(odd.collection.ledger_ids()) == [1, 5, join(3, -1)]
    assert list(storage.collection.ledger_ids()) == LEDGERS
    assert all(map(storage.collection.has_ledger, LEDGERS))
    assert not storage.collection.has_ledger(2)
    for directory in (DIRECTORY, SECOND):
        assert {"0.log", "1.log128", "ledgers", "locations"} <= set(disk.list_directory(directory))
    for each in LEDGERS:
        assert read(storage, each, 1) == entry(1, 60, each)
        assert storage.indexed_ranges(each, 0, 1) == [range(2)]
        assert (storage.next_indexed_page(each, 0), storage.unflushed_ranges(each)) == (0, [])
        looked = storage.scrub.look(each, 0, 10)
        assert (looked.entry_count, looked.suspects) == (2, [])
    result_of(storage.stop())


def test_what_is_not_there_is_said_not_to_be_there(disk: CrashingDisk) -> None:
    storage = filled(disk)
    for known in (storage, several_storages_again(disk, storage)):
        failure_of(known.load_run(2, 0), NoSuchLedger)
        failure_of(known.load_run(5, 2), NoSuchEntry)
        assert known.ledger(2) is None


def several_storages_again(disk: CrashingDisk, storage: SeveralStorages) -> SeveralStorages:
    flush(storage)
    result_of(storage.stop())
    return several_storages(disk)


def test_fences_and_explicit_last_adds_confirmed_go_home(disk: CrashingDisk) -> None:
    storage = filled(disk)
    for ledger_id in LEDGERS[:3]:
        ledger = storage.ledger(ledger_id)
        assert ledger is not None
        assert storage.fence(ledger)
        storage.set_explicit_lac(ledger, explicit_lac(ledger_id, 1, 4))
    again = several_storages_again(disk, storage)
    for ledger_id in LEDGERS:
        ledger = again.ledger(ledger_id)
        assert ledger is not None
        assert (ledger.fenced, ledger.explicit_lac is not None) == (ledger_id in LEDGERS[:3],) * 2


def test_adds_of_many_ledgers_are_shared_out_and_those_left_are_told_by_their_index(disk: CrashingDisk) -> None:
    storage = filled(disk)
    adds: list[OneAdd] = [(ledger_id, 2, 1, KEY, record(2, ledger_id)) for ledger_id in (1, 0, 2, 3, 5, 8)]
    assert storage.add_at_ends(adds, (), False) == [2, 3]
    assert storage.add_at_ends([(each, 3, 1, KEY, record(3, each)) for each in (8, 1)], {8}, False) == [0]
    assert [sum(map(len, storage.unflushed_ranges(each))) for each in (0, 1, 2)] == [3, 4, 0]


def test_reads_find_what_is_in_each_write_cache_and_read_ahead_whatever_is_flushed(disk: CrashingDisk) -> None:
    storage = filled(disk)
    reads = [(ledger_id, 1) for ledger_id in LEDGERS] + [(2, 0), (5, 7)]
    assert storage.find_reads(reads, 1 << 20).entries == [entry(1, 60, each) for each in LEDGERS]
    assert storage.find_reads(reads, 1 << 20).others == [len(LEDGERS), len(LEDGERS) + 1]
    assert storage.find_reads(reads, 100).end == 2
    _, odd = storages_of(storage)
    flush(odd)
    result_of(storage.load_run(5, 0))
    found = storage.find_reads([(5, 0), (0, 0), (1, 0)], 1 << 20)
    assert (found.indexes, found.others) == ([0, 1], [2])


def test_the_loader_knows_the_ledgers_of_all(disk: CrashingDisk) -> None:
    storage = several_storages_again(disk, filled(disk))
    loader = storage.loader
    for ledger_id in LEDGERS:
        assert (loader.knows(ledger_id), loader.in_memory(ledger_id)) == (False, None)
        assert not loader.is_ready_for_add(ledger_id, 2, 2)
        held = result_of(loader.load(ledger_id))
        assert loader.is_loaded(ledger_id)
        assert loader.in_memory(ledger_id) is held
        held = result_of(loader.load_for_add(ledger_id, 0, 1))
        assert loader.is_loaded_for_add(ledger_id, 0, 1)
    assert loader.knows(2)


def test_a_budget_is_divided_and_what_is_used_is_added(disk: CrashingDisk) -> None:
    storage = filled(disk, write_cache_bytes_max=4000)
    first, second = (each.write_cache_bytes for each in storages_of(storage))
    assert first[1] == second[1] == 4000
    assert storage.write_cache_bytes == (first[0] + second[0], 8000)
    assert storage.ledger_count == 0
    flush(storage)
    assert (storage.write_cache_bytes[0], storage.ledger_count) == (0, len(LEDGERS))
    assert storage.entry_count == sum(each.entry_count or 0 for each in storages_of(storage)) > len(LEDGERS)
    for ledger_id in LEDGERS[:3]:
        result_of(storage.load_run(ledger_id, 0))
    assert storage.load_count == 3
    assert storage.read_cache_bytes == sum(each.read_cache_bytes for each in storages_of(storage)) > 0


def test_one_full_cache_asks_for_a_flush_and_holds_up_all_until_it_has_drained(disk: CrashingDisk) -> None:
    storage = several_storages(disk, write_cache_bytes_max=2000)
    told: list[str] = []
    storage.on_flush_wanted = lambda: told.append("wanted")
    storage.on_drained = lambda: told.append("drained")
    storage.open_for(1, KEY)
    add(storage, run_of(0, 600, ledger_id=1))
    assert (told, storage.full, storage.dirty) == (["wanted"], False, True)
    add(storage, run_of(1, 1500, ledger_id=1))
    assert storage.full
    flush(storage)
    assert (told, storage.full, storage.dirty) == (["wanted", "drained"], False, False)


def test_a_flush_that_fails_in_one_is_told(disk: CrashingDisk) -> None:
    storage = filled(disk)
    told: list[bool] = []
    storage.on_flush_failed_changed = lambda: told.append(storage.flush_failed)
    disk.full_directories = {SECOND}
    failure_of(storage.flush(lambda: LogMark(1, 1)), OSError)
    even, odd = storages_of(storage)
    assert (even.dirty, odd.dirty, storage.dirty) == (False, True, True)
    for ledger_id in LEDGERS:
        assert read(storage, ledger_id, 0) == entry(0, 50, ledger_id)
    disk.full_directories = ()
    assert result_of(storage.flush(lambda: LogMark(1, 2))) == LogMark(1, 1)
    assert (told, storage.dirty) == ([True, False], False)


def test_a_flush_on_this_thread_is_one_of_all_even_if_one_fails(disk: CrashingDisk) -> None:
    storage = filled(disk)
    disk.full_directories = {DIRECTORY}
    with pytest.raises(OSError, match="No space"):
        storage.flush_now()
    assert [each.dirty for each in storages_of(storage)] == [True, False]


def test_limbo_and_the_note_of_a_check_are_kept_in_each(disk: CrashingDisk) -> None:
    storage = filled(disk, data_integrity_checking=True)
    storage.limbo.set_needs_check(True)
    assert all(each.limbo.needs_check() for each in storages_of(storage))
    ledger = storage.ledger(5)
    assert ledger is not None
    storage.limbo.enter(ledger, fenced=True)
    change = storage.limbo.last_change
    assert not storage.limbo.is_durable(change)
    flush(storage)
    assert storage.limbo.is_durable(change)
    failure_of(storage.load_run(5, 9), UnknownLedgerState)
    storage.limbo.leave(ledger)
    failure_of(storage.load_run(5, 9), NoSuchEntry)
    storage.limbo.set_needs_check(False)
    assert not storage.limbo.needs_check()


@pytest.mark.parametrize("needed", [True, False])
def test_the_first_directory_needs_a_check_while_any_does(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, needed: bool
) -> None:
    storage = filled(disk, data_integrity_checking=True)
    storage.limbo.set_needs_check(not needed)
    seen: list[list[bool]] = []
    set_needs_check = Limbo.set_needs_check

    def watched(limbo: Limbo, needed: bool) -> None:
        set_needs_check(limbo, needed)
        seen.append([each.limbo.needs_check() for each in storages_of(storage)])

    monkeypatch.setattr(Limbo, "set_needs_check", watched)
    storage.limbo.set_needs_check(needed)
    assert seen == [[True, False], [needed] * 2]


def test_logs_that_are_lost_with_one_directory_cost_its_ledgers_and_no_others(disk: CrashingDisk) -> None:
    checking = {"data_integrity_checking": True}
    storage = filled(disk, **checking)
    flush(storage)
    result_of(storage.stop())
    disk.remove(f"{SECOND}/0.log")
    started = several_storages(disk, logs_lost=True, **checking)
    assert started.lost_logs.possible
    assert started.limbo.needs_check()
    assert [started.indexed_ranges(each, 0, 1) for each in (0, 5)] == [[range(2)], []]


def test_a_directory_at_another_place_refuses_the_start(disk: CrashingDisk) -> None:
    storage = filled(disk)
    flush(storage)
    result_of(storage.stop())
    with pytest.raises(RefusedToStart, match="the number or the order of the directories"):
        several_storages(disk, (SECOND, DIRECTORY))
    third = "/third/current"
    disk.make_directories(third)
    with pytest.raises(RefusedToStart, match="look for it in"):
        several_storages(disk, (DIRECTORY, SECOND, third))


def test_nothing_is_erased_before_directories_at_other_places_are_refused(disk: CrashingDisk) -> None:
    storage = filled(disk)
    flush(storage)
    result_of(storage.stop())
    third = "/third/current"
    disk.make_directories(third)
    disk.remove(f"{DIRECTORY}/0.log")
    with pytest.raises(RefusedToStart, match="the number or the order of the directories"):
        several_storages(disk, (DIRECTORY, third, SECOND), logs_lost=True, data_integrity_checking=True)
    started = several_storages(disk)
    assert not started.limbo.needs_check()
    assert [started.indexed_ranges(each, 0, 1) for each in (0, 8)] == [[range(2)]] * 2


def test_one_directory_is_one_storage(disk: CrashingDisk) -> None:
    storage = new_storage(disk, DIRECTORY)
    assert storages_of(storage) == [storage]
