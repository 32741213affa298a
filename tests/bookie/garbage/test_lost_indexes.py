"""A start without any index: refused while the metadata name the bookie for a ledger in its logs, and only then."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.garbage.lost_indexes import refuse_lost_indexes, refuse_passed_over
from bookkeeper_tx.errors import MetadataCorrupt, MetadataUnavailable, RefusedToStart
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.garbage.bookies import BOOKIE, ELSEWHERE, Bench, with_two_logs, without_index
from tests.conftest import result_of


@pytest.fixture
def stored(disk: CrashingDisk) -> Bench:
    return with_two_logs(disk)


def look(bench: Bench) -> None:
    store: Any = bench.store
    storage = bench.storage
    result_of(
        Deferred.fromCoroutine(
            refuse_lost_indexes(
                bench.disk,
                [DIRECTORY],
                lambda ledger_id: storage.ledger(ledger_id) is not None,
                bench.worker,
                store,
                BOOKIE,
            )
        )
    )


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_it_is_refused_while_the_store_names_the_bookie_for_any_of_them(stored: Bench, kept: int) -> None:
    bench = without_index(stored, 1, 2, 3)
    bench.store.ledgers = {kept: bench.store.ledgers[kept]}
    with pytest.raises(RefusedToStart, match=rf"\.log has entries of ledger {kept}, .* bktx bookie rebuild-index"):
        look(bench)
    assert {each[0] for each in bench.store.calls} == {"read latest"}


def test_logs_of_ledgers_that_are_gone_or_elsewhere_are_garbage(stored: Bench) -> None:
    bench = without_index(stored, 1, 2, 3)
    bench.store.ledgers = {2: ELSEWHERE}
    look(bench)


def test_a_log_that_is_damaged_tells_nothing(stored: Bench) -> None:
    bench = without_index(stored, 1, 2, 3)
    for name in bench.disk.list_directory(DIRECTORY):
        if name.endswith(".log"):
            bench.disk.replace(f"{DIRECTORY}/{name}", bytes(2000))
    look(bench)


def test_a_damaged_log_tells_of_what_is_before_the_damage(stored: Bench) -> None:
    bench = without_index(stored, 1, 2, 3)
    bench.store.ledgers = {2: bench.store.ledgers[2]}
    path = f"{DIRECTORY}/0.log"
    file = bench.disk.open(path, writable=True)
    file.truncate(1024 + 2 * 1004)
    file.write(bytes(16) + b"x" * 100, file.size())
    file.write(bytes(12), 8)  # no map
    with pytest.raises(RefusedToStart, match=r"0\.log has entries of ledger 2, "):
        look(bench)


def test_of_a_log_that_cannot_be_read_nobody_knows(stored: Bench) -> None:
    bench = without_index(stored, 1, 2, 3)
    bench.store.ledgers = {}
    bench.disk.fail_reads(1)
    with pytest.raises(OSError, match="Input/output"):
        look(bench)


def passed_over(bench: Bench, *ledger_ids: int) -> None:
    store: Any = bench.store
    result_of(Deferred.fromCoroutine(refuse_passed_over(store, BOOKIE, ledger_ids)))


def test_ledgers_in_the_journal_are_asked_for_too(stored: Bench) -> None:
    stored.store.ledgers = {2: ELSEWHERE, 3: stored.store.ledgers[3]}
    passed_over(stored, 1, 2)
    with pytest.raises(RefusedToStart, match=r"records of ledger 3, .* bktx bookie rebuild-index"):
        passed_over(stored, 1, 2, 3)
    stored.store.read_error = MetadataUnavailable("away")
    with pytest.raises(MetadataUnavailable):
        passed_over(stored, 1)


def test_metadata_that_cannot_be_understood_tell_nothing(stored: Bench) -> None:
    bench = without_index(stored, 1, 2, 3)
    bench.store.read_error = MetadataCorrupt("damaged")
    look(bench)


def test_without_an_answer_of_the_store_nobody_knows(stored: Bench) -> None:
    bench = without_index(stored, 1, 2, 3)
    bench.store.read_error = MetadataUnavailable("away")
    with pytest.raises(MetadataUnavailable):
        look(bench)


def test_what_the_journal_has_brought_is_known(stored: Bench) -> None:
    bench = without_index(stored, 1, 2, 3)
    for ledger_id in (1, 2, 3):
        bench.storage.open_for(ledger_id, b"key")
    bench.store.read_error = MetadataUnavailable("away")
    look(bench)
