"""bookkeeper_tx.bookie.operations.last_add_confirmed: kept whole, after the key, acknowledged after the sync."""

from typing import Any

import pytest

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.operations.last_add_confirmed import ReadLac, WriteLac
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.storage.limits import EXPLICIT_LAC_SIZE_MAX
from protocol_specs.wire import status as statuses
from tests.bookie import seams
from tests.bookie.seams import (
    EIO,
    KEY,
    KEY_RECORD,
    LEDGER,
    OTHER_KEY,
    Client,
    MemoryJournal,
    MemoryStorage,
    run_of,
    runs_of,
)


def body(lac: int, digest_size: int = 4, ledger_id: int = LEDGER) -> bytes:
    return ledger_id.to_bytes(8, "big") + lac.to_bytes(8, "big") + bytes(digest_size)


class Bench:
    def __init__(self) -> None:
        self.storage, self.journal, self.client = MemoryStorage(), MemoryJournal(), Client()
        self.availability = Availability()
        keys: Any = LedgerKeys(self.storage)  # type: ignore[arg-type]
        self.watch = seams.watch_of()
        parts: Any = (self.storage, self.journal, keys, self.availability)
        self.writing: Any = WriteLac(*parts, self.watch)
        self.reading: Any = ReadLac(self.storage, runs_of(self.storage))

    def write(self, data: bytes, key: bytes = KEY) -> list[Any]:
        self.writing.serve(seams.WriteLac(data, key), self.client)
        return self.client.take()

    def read(self) -> list[Any]:
        self.reading.serve(seams.ReadLac(), self.client)
        return self.client.take()


def test_a_write_to_an_unknown_ledger_is_journaled_behind_its_key() -> None:
    bench = Bench()
    assert bench.write(body(3)) == []
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK]
    assert bench.journal.records == [KEY_RECORD, seams.lac_record(body(3))]


@pytest.mark.parametrize("digest_size", [0, 4, 8, 20])
def test_a_body_is_kept_whole_whatever_the_length_of_the_first(digest_size: int) -> None:
    bench = Bench()
    bench.write(body(1, 4))
    bench.write(body(2, digest_size))
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK, statuses.EOK]
    assert bench.read() == [(statuses.EIO, body(2, digest_size), None)]


def test_a_body_names_its_ledger() -> None:
    bench = Bench()
    bench.write(body(1, ledger_id=99))
    assert list(bench.storage.ledgers) == [99]


def test_a_body_that_is_too_long_is_a_bad_request() -> None:
    bench = Bench()
    assert bench.write(body(1, EXPLICIT_LAC_SIZE_MAX)) == [statuses.EBADREQ]
    assert bench.storage.ledgers == {}


def test_a_wrong_key_and_a_read_only_bookie_refuse() -> None:
    bench = Bench()
    bench.write(body(1))
    assert bench.write(body(2), OTHER_KEY) == [statuses.EUA]
    bench.availability.note(Reason.FLUSH_FAILED, True)
    assert bench.write(body(2)) == [statuses.EREADONLY]
    assert bench.storage.ledgers[LEDGER].explicit_lac == body(1)


def test_a_failed_journal_is_an_io_error() -> None:
    bench = Bench()
    bench.write(body(1))
    bench.journal.sync(error=EIO)
    assert bench.client.take() == [statuses.EIO]


def test_what_a_read_finds() -> None:
    bench = Bench()
    assert bench.read() == [(statuses.ENOENTRY, None, None)]
    run = run_of(0, 41, 50)
    bench.storage.store(run)
    assert bench.read() == [(statuses.EOK, None, run.entry(1))]
    bench.write(body(1))
    assert bench.read() == [(statuses.EOK, body(1), run.entry(1))]


def test_a_last_entry_on_the_disk_is_fetched_and_an_unreadable_one_left_out() -> None:
    bench = Bench()
    run = run_of(0, 41)
    bench.storage.store(run, cold=True)
    assert bench.read() == []
    bench.storage.load_next()
    assert bench.client.take() == [(statuses.EOK, None, run.entry(0))]
    bench.storage.broken = True
    assert bench.read() == [(statuses.EIO, None, None)]


def test_an_explicit_one_ends_the_waits_of_its_ledger_that_it_passes_and_no_others() -> None:
    bench = Bench()
    ended: dict[tuple[int, int], list[Any]] = {(LEDGER, 2): [], (LEDGER, 3): [], (LEDGER + 1, 2): []}
    for (ledger_id, previous), times in ended.items():
        bench.watch.wait(ledger_id, previous, 1000, bench.client, times.append)  # type: ignore[arg-type]
    bench.write(body(3))
    bench.write(body(3))
    assert [len(times) for times in ended.values()] == [1, 0, 0]
