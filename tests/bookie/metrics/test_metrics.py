"""bookkeeper_tx.bookie.metrics: what is counted of adds, reads, groups, flushes, caches, disks and garbage."""

from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bookkeeper_tx.bookie.availability import Reason
from bookkeeper_tx.bookie.garbage.status import GarbageStatus
from bookkeeper_tx.bookie.metrics.garbage import COUNTERS, GAUGES, PREFIXES
from bookkeeper_tx.bookie.metrics.requests import SAMPLED
from bookkeeper_tx.protocol.bookie.v2 import BatchReadRequest
from bookkeeper_tx.protocol.bookie.v2_mixed import MixedAddRequests, MixedReadRequests
from tests.bookie.metrics.measured_bookie import MeasuredBookie
from tests.bookie.seams import KEY, LEDGER, OTHER_KEY, run_of

SERVER = "bookkeeper_server_"


@pytest.fixture
def measured() -> MeasuredBookie:
    return MeasuredBookie()


def counts(measured: MeasuredBookie, name: str) -> tuple[float, float]:
    return tuple(measured.value(f"{SERVER}{name}_count", success=each) for each in ("true", "false"))  # type: ignore[return-value]


def test_every_entry_that_is_added_counts(measured: MeasuredBookie) -> None:
    measured.add(0, 41, 41, 41)
    measured.add(3, 100, key=OTHER_KEY)
    records: Any = [
        (LEDGER, 3, 2, KEY, bytes(run_of(3, 50).buffer)),
        (LEDGER + 1, 0, -1, KEY, bytes(run_of(0, 60, ledger_id=LEDGER + 1).buffer)),
    ]
    measured.ask(MixedAddRequests(0x02010000, records, [bytes(16)] * 2))
    assert counts(measured, "ADD_ENTRY") == counts(measured, "ADD_ENTRY_REQUEST") == (5, 1)
    assert 5 * 41 <= measured.value("bookie_WRITE_BYTES") <= 3 * 41 + 50 + 60 + 200
    assert measured.value(f"{SERVER}ADD_ENTRY_IN_PROGRESS") == 0


def test_entries_that_are_not_journaled_count_with_their_bytes() -> None:
    measured = MeasuredBookie(journal_data_written=False)
    measured.add(0, 41, 50)
    measured.add(2, 100, key=OTHER_KEY)
    records: Any = [
        (LEDGER, 2, 1, KEY, bytes(run_of(2, 60).buffer)),
        (LEDGER + 1, 0, -1, KEY, bytes(run_of(0, 70, ledger_id=LEDGER + 1).buffer)),
        (LEDGER + 1, 1, 0, OTHER_KEY, bytes(run_of(1, 70, ledger_id=LEDGER + 1).buffer)),
    ]
    measured.ask(MixedAddRequests(0x02010000, records, [bytes(16)] * 3))
    assert counts(measured, "ADD_ENTRY") == counts(measured, "ADD_ENTRY_REQUEST") == (4, 2)
    assert measured.value("bookie_WRITE_BYTES") == 41 + 50 + 60 + 70
    assert measured.value(f"{SERVER}ADD_ENTRY_sum", success="true") == 0
    assert measured.value(f"{SERVER}ADD_ENTRY", success="true", quantile="1.0") < 0.01
    assert measured.value(f"{SERVER}ADD_ENTRY_IN_PROGRESS") == 0


def test_adds_that_are_refused_count_as_failed(measured: MeasuredBookie) -> None:
    measured.bookie.availability.note(Reason.MANUAL, True)
    measured.add(0, 41, 41)
    record = bytes(run_of(0, 41).buffer)
    measured.ask(MixedAddRequests(0x02010000, [(LEDGER, 0, -1, KEY, record)], [bytes(16)]))
    assert counts(measured, "ADD_ENTRY") == (0, 3)
    assert measured.value("bookie_SERVER_STATUS") == 0


def test_every_entry_that_is_read_counts_with_its_bytes(measured: MeasuredBookie) -> None:
    measured.add(0, 41, 50, 60)
    measured.read(0, 1, 9)
    measured.ask(MixedReadRequests(0x02020000, [(LEDGER, 2), (LEDGER + 1, 0)]))
    assert counts(measured, "READ_ENTRY") == (3, 2)
    assert measured.value("bookie_READ_BYTES") == 41 + 50 + 60


def test_one_run_of_reads_in_so_many_is_measured(measured: MeasuredBookie) -> None:
    measured.add(0, 41)
    for _ in range(SAMPLED["READ_ENTRY"]):
        measured.read(0)
    assert measured.value(f"{SERVER}READ_ENTRY", success="true", quantile="1.0") > 0
    assert counts(measured, "READ_ENTRY") == (64, 0)


def test_reads_whose_ledgers_alternate_are_measured_as_well(measured: MeasuredBookie) -> None:
    measured.add(0, 41)
    for _ in range(SAMPLED["READ_ENTRY"]):
        measured.ask(MixedReadRequests(0x02020000, [(LEDGER, 0), (LEDGER + 1, 0)]))
    assert measured.value(f"{SERVER}READ_ENTRY", success="true", quantile="1.0") > 0
    assert counts(measured, "READ_ENTRY") == (64, 64)


def test_reads_that_no_cache_has_are_misses(measured: MeasuredBookie) -> None:
    measured.add(0, *[5000] * 20)
    measured.read(0)
    assert (measured.value("bookie_read_cache_hits"), measured.value("bookie_read_cache_misses")) == (1, 0)
    assert measured.value("bookie_write_cache_size") > 100_000
    measured.clock.advance(20)
    assert measured.value("bookie_write_cache_size") == 0
    measured.read(0)
    measured.read(1)
    assert (measured.value("bookie_read_cache_hits"), measured.value("bookie_read_cache_misses")) == (2, 1)
    assert measured.value("bookie_read_cache_size") > 5000
    assert measured.value("bookie_ledgers_count") == 1


def test_entries_of_batch_reads_are_hits_and_misses_as_well(measured: MeasuredBookie) -> None:
    measured.add(0, *[41] * 20)
    measured.ask(BatchReadRequest(0x02000000, LEDGER, 0, 1, 10, 1 << 20, KEY))
    assert (measured.value("bookie_read_cache_hits"), measured.value("bookie_read_cache_misses")) == (10, 0)
    measured.clock.advance(20)
    measured.ask(BatchReadRequest(0x02000000, LEDGER, 0, 2, 20, 1 << 20, KEY))
    assert (measured.value("bookie_read_cache_hits"), measured.value("bookie_read_cache_misses")) == (29, 1)


def test_hits_do_not_fall_when_entries_are_read_that_are_not_there(measured: MeasuredBookie) -> None:
    measured.add(0, 41)
    measured.add(2, 41)
    measured.read(0)
    assert measured.value("bookie_read_cache_hits") == 1
    measured.clock.advance(20)
    for _ in range(3):
        measured.read(1)
    assert measured.value("bookie_read_cache_misses") == 3
    assert measured.value("bookie_read_cache_hits") == 1


def test_entries_are_counted_where_the_index_knows_how_many_they_are(measured: MeasuredBookie) -> None:
    on_rocks_db = MeasuredBookie(ledger_storage_class="DbLedgerStorage")
    for each in (measured, on_rocks_db):
        each.add(0, 41, 41, 41)
        each.clock.advance(20)
    for name in ("bookie_entries_count", "bookie_storage_entries_count"):
        assert on_rocks_db.value(name) == 3
        assert name not in {printed for printed, _ in measured.samples()}


def test_groups_of_the_journal_are_measured(measured: MeasuredBookie) -> None:
    measured.add(0, 41, 41)
    name = "bookie_journal_JOURNAL_{}".format
    assert measured.value(name("SYNC_count"), success="true", journalIndex="0") == 1
    assert measured.value(name("ADD_ENTRY_count"), success="true", journalIndex="0") == 1
    assert measured.value(name("FORCE_WRITE_BATCH_BYTES_sum"), success="true") == measured.value(name("WRITE_BYTES"))
    measured.disk.fail_writes(1)
    measured.add(2, 41)
    assert measured.value(name("SYNC_count"), success="false") == 1
    assert counts(measured, "ADD_ENTRY") == (2, 1)


def test_flushes_are_measured(measured: MeasuredBookie) -> None:
    measured.add(0, 41)
    before = measured.value("bookie_flush_count", success="true")
    measured.clock.advance(20)
    assert measured.value("bookie_flush_count", success="true") > before


def test_the_disk_of_the_ledgers_is_shown_by_its_path(measured: MeasuredBookie) -> None:
    assert measured.value("bookie_ledger_num_dirs") == measured.value("bookie_ledger_writable_dirs") == 1
    assert 0 <= measured.value("bookie_ledger_dir__data_usage") <= 100


def test_each_disk_of_ledgers_and_indexes_is_shown() -> None:
    measured = MeasuredBookie(more_ledgers=["/more/current"], indexes=["/index/current"])
    assert measured.value("bookie_ledger_num_dirs") == 2
    assert measured.value("bookie_index_num_dirs") == measured.value("bookie_index_writable_dirs") == 1
    for name in ("bookie_ledger_dir__data_usage", "bookie_ledger_dir__more_usage", "bookie_index_dir__index_usage"):
        assert measured.value(name) == 0
    measured.disk.full_directories = {"/more/current"}
    measured.clock.advance(20)
    assert measured.value("bookie_ledger_writable_dirs") == 1
    assert measured.value("bookie_ledger_dir__more_usage") == 100


def test_the_server_has_a_status(measured: MeasuredBookie) -> None:
    assert measured.value("bookie_SERVER_STATUS") == 1
    measured.metrics.is_serving = lambda: False
    assert measured.value("bookie_SERVER_STATUS") == -1


def test_threads_have_queues(measured: MeasuredBookie) -> None:
    assert measured.value(f"{SERVER}thread_executor_queue", thread="read") == 3
    assert measured.value(f"{SERVER}BookieReadThreadPool_threads") == 2


def test_garbage_is_counted_under_the_names_of_both_storages(measured: MeasuredBookie) -> None:
    attributes = {**COUNTERS, **GAUGES}
    assert {measured.value(f"bookie_{name}") for name in attributes} == {0}
    values = {name: float(value) for value, name in enumerate(attributes, start=1)}
    status = SimpleNamespace(**{attributes[name]: value for name, value in values.items()})
    measured.metrics.garbage = lambda: status
    for name, value in values.items():
        assert measured.value(f"bookie_{name}") == measured.value(f"bookie_gc_{name}") == value
    assert measured.value("bookie_gc_ENTRY_LOG_COMPACT_RATIO") == 0
    assert measured.value("bookie_DELETED_LEDGER_COUNT") == values["DELETED_LEDGER_TOTAL"]


def test_logs_are_counted_by_their_usage_and_those_that_were_compacted(measured: MeasuredBookie) -> None:
    status = GarbageStatus(log_usages=(9, 2, 9, 0), compaction_found_count=4, compaction_done_count=1)
    measured.metrics.garbage = lambda: status
    for prefix in PREFIXES:
        counts = [measured.value(f"{prefix}entry_log_usage_buckets_le_{percent}") for percent in range(10, 101, 10)]
        assert counts == [1, 0, 1, 0, 0, 0, 0, 0, 0, 2]
        assert measured.value(f"{prefix}ENTRY_LOG_COMPACT_RATIO") == 0.25


def test_prometheus_own_parser_reads_all_of_it(measured: MeasuredBookie) -> None:
    families = list(text_string_to_metric_families(measured.metrics.text()))
    names = [family.name for family in families]
    assert len(names) == len(set(names)) > 80
    types = {family.name: family.type for family in families}
    assert types["bookkeeper_server_ADD_ENTRY"] == "summary"
    assert types["bookie_WRITE_BYTES"] == "counter"


def test_before_there_is_a_bookie_only_the_process_is_shown() -> None:
    from bookkeeper_tx.bookie.metrics.metrics import Metrics

    text = Metrics(lambda: 0.0).text()
    assert "process_open_fds" in text
    assert "bookie_SERVER_STATUS" not in text
