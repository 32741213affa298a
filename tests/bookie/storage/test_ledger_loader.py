from typing import Any

import pytest

from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.errors import StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.bookie.seams import KEY, run_of
from tests.bookie.storage.storages import add, flush, new_storage
from tests.bookie.workers import SteppedWorker
from tests.conftest import result_of


class Restarted:
    """A storage that was started on ledger 7 with entries 0 to 9 and 5000, and whose read worker is moved by hand."""

    def __init__(self, **limits: int) -> None:
        self.disk = new_disk()
        before = new_storage(self.disk, DIRECTORY)
        before.open_for(7, KEY)
        add(before, run_of(0, *[50] * 10))
        add(before, run_of(5000, 50))
        flush(before)
        self.worker = SteppedWorker()
        self.storage: LedgerStorage = new_storage(self.disk, DIRECTORY, read_worker=self.worker, **limits)
        self.loader = self.storage.loader

    def load_for_add(self, first: int, last: int) -> list[Any]:
        """Begin to load; returns a list to which the outcome comes."""
        outcome: list[Any] = []
        self.loader.load_for_add(7, first, last).addBoth(outcome.append)
        return outcome


@pytest.fixture
def cold() -> Restarted:
    return Restarted()


def test_those_who_wait_for_a_ledger_share_the_read_and_are_answered_in_turn(cold: Restarted) -> None:
    answered: list[int] = []
    for number in range(3):
        cold.loader.load(7).addCallback(lambda _, number=number: answered.append(number))
    assert len(cold.worker.jobs) == 1
    assert not cold.loader.knows(7)
    cold.worker.run_all()
    assert answered == [0, 1, 2]
    assert cold.loader.knows(7)
    ledger = cold.storage.ledger(7)
    assert ledger is not None
    assert (ledger.master_key, ledger.last_entry_id, ledger.last_indexed_id) == (KEY, 5000, 5000)


def test_an_error_waits_in_memory_until_the_ledger_is_asked_for_again(cold: Restarted) -> None:
    index = cold.disk.open(f"{DIRECTORY}/0/7/7.idx", writable=True)
    header = index.read(1024, 0)
    index.write(bytes(1024), 0)
    loading = cold.loader.load(7)
    cold.worker.run_all()
    held = result_of(loading)
    assert isinstance(held, StorageFailed)
    index.write(header, 0)
    with pytest.raises(StorageFailed, match="no valid header"):
        cold.storage.ledger(7)
    assert not cold.loader.knows(7)
    cold.loader.load(7)
    cold.worker.run_all()
    assert cold.storage.ledger(7) is not None


def test_an_add_of_new_entries_needs_the_ledger_only(cold: Restarted) -> None:
    assert not cold.loader.is_ready_for_add(7, 5001, 5005)
    outcome = cold.load_for_add(5001, 5005)
    assert len(cold.worker.jobs) == 1
    cold.worker.run_all()
    assert outcome == [(cold.storage.ledger(7), [])]
    assert cold.loader.is_ready_for_add(7, 5001, 5005)
    assert cold.loader.is_ready_for_add(8, 0, 5)
    assert cold.loader.is_ready_for_add(7, -3, 5), "this is refused whatever is there"


def test_an_add_of_earlier_entries_needs_the_pages_of_the_index(cold: Restarted) -> None:
    outcome = cold.load_for_add(1000, 6000)
    cold.worker.step()
    assert not cold.loader.is_ready_for_add(7, 1000, 6000)
    assert not cold.loader.is_loaded_for_add(7, 1000, 6000)
    assert outcome == []
    cold.worker.run_all()
    assert cold.loader.is_ready_for_add(7, 1000, 6000)
    assert cold.loader.is_ready_for_add(7, 0, 1023), "the same page"


def test_what_a_flush_changes_meanwhile_is_to_be_loaded_again(cold: Restarted) -> None:
    outcome = cold.load_for_add(3, 3)
    cold.worker.step()
    cold.worker.execute()
    add(cold.storage, run_of(5001, 50))
    flush(cold.storage)
    cold.worker.deliver()
    assert cold.loader.is_loaded_for_add(7, 3, 3), "that was another page"
    outcome = cold.load_for_add(4999, 5000)
    cold.worker.execute()
    add(cold.storage, run_of(5002, 50))
    flush(cold.storage)
    cold.worker.deliver()
    assert len(outcome) == 1
    assert not cold.loader.is_loaded_for_add(7, 4999, 5000)
    cold.load_for_add(4999, 5000)
    cold.worker.run_all()
    assert not cold.loader.is_loaded_for_add(7, 0, 5000), "nobody holds the pages between"
    assert cold.loader.is_loaded_for_add(7, 4999, 5000)


def test_pages_stay_while_they_are_held_however_few_are_kept() -> None:
    cold = Restarted(index_pages_max=1)
    outcome = cold.load_for_add(0, 5000)
    cold.worker.run_all()
    assert cold.loader.is_loaded_for_add(7, 0, 5000)
    stored = [entry_id for entry_id in range(5001) if cold.storage._pages.has_location(7, entry_id)]
    assert stored == [*range(10), 5000]
    outcome.clear()
    assert not cold.loader.is_loaded_for_add(7, 0, 5000)


def test_an_add_learns_of_pages_that_cannot_be_read_without_the_disk(
    cold: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = cold.load_for_add(3, 3)
    cold.worker.step()
    cold.disk.remove(f"{DIRECTORY}/0/7/7.idx")
    cold.storage.indexes.replaced(7)
    cold.worker.run_all()
    assert cold.loader.is_loaded_for_add(7, 3, 3)
    ledger = cold.storage.ledger(7)
    assert ledger is not None
    with monkeypatch.context() as patched:
        patched.setattr(cold.storage.indexes, "read_page", lambda *_: pytest.fail("it blocks"))
        with pytest.raises(StorageFailed, match="cannot read index"):
            cold.storage.add(ledger, run_of(3, 50))
    assert not cold.loader.is_ready_for_add(7, 3, 3), "the next add looks again"
    outcome.clear()
    assert not cold.loader.is_loaded_for_add(7, 3, 3)


def test_an_index_that_cannot_be_read_is_loaded_as_long_as_the_error_is_held(cold: Restarted) -> None:
    cold.disk.remove(f"{DIRECTORY}/0/7/7.idx")
    outcome = cold.load_for_add(3, 3)
    assert not cold.loader.is_loaded(7)
    assert not cold.loader.is_loaded_for_add(7, 3, 3)
    cold.worker.run_all()
    assert cold.loader.is_loaded(7)
    assert cold.loader.is_loaded_for_add(7, 3, 3)
    outcome.clear()
    assert not cold.loader.is_loaded(7)
    assert not cold.loader.is_loaded_for_add(7, 3, 3)
