"""The workloads of the bench, on ledgers in memory."""

from itertools import cycle, islice

import pytest
from twisted.internet import task
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.bench import workloads
from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import Entry

PAYLOADS = [b"x" * (number % 7) for number in range(250)]
SIZE = sum(map(len, PAYLOADS))
LEDGERS = 3


class Reader:
    """One ledger of those that PAYLOADS were spread over; answers a turn later; some batches are short."""

    def __init__(self, clock, payloads):
        self.clock = clock
        self.payloads = payloads
        self.read_ids = []

    def later(self, result):
        return task.deferLater(self.clock, 1, lambda: result)

    def read_entry(self, entry_id):
        self.read_ids.append(entry_id)
        return self.later(Entry(0, entry_id, self.payloads[entry_id], 0, 0))

    def read(self, first, last, batch=True):
        assert not batch
        assert last < len(self.payloads)
        self.read_ids += range(first, last + 1)
        return self.later(LedgerEntries(0, first, self.payloads[first : last + 1], []))

    def read_batch(self, start, max_count, fallback=True):
        assert not fallback
        count = min(max_count, 30)
        assert start + count <= len(self.payloads)
        self.read_ids += range(start, start + count)
        return self.later(LedgerEntries(0, start, self.payloads[start : start + count], []))


class Writer:
    """Acknowledges when the test says so."""

    def __init__(self, log):
        self.length = 0
        self.log = log

    def append(self, payload):
        deferred = Deferred()
        self.log.append((self, payload, deferred))
        self.length += len(payload)
        return deferred

    def append_many(self, payloads):
        return self.append(b"".join(payloads))


@pytest.fixture
def clock():
    return task.Clock()


@pytest.fixture
def readers(clock):
    return [Reader(clock, PAYLOADS[index::LEDGERS]) for index in range(LEDGERS)]


@pytest.fixture
def log():
    """(writer, payload, its Deferred) of each append."""
    return []


@pytest.fixture
def writers(log):
    return [Writer(log) for _ in range(2)]


def run(coroutine):
    return Deferred.fromCoroutine(coroutine)


@pytest.mark.parametrize(
    "workload",
    [
        lambda readers: workloads.range_of_single_reads(readers, len(PAYLOADS)),
        lambda readers: workloads.single_reads(readers, len(PAYLOADS), 10),
        lambda readers: workloads.batch_reads(readers, len(PAYLOADS), 40, 2),
    ],
)
def test_reads_read_every_entry_once(workload, clock, readers, result_of):
    done = run(workload(readers))
    clock.pump([1] * len(PAYLOADS))
    entries, size, latencies = result_of(done)
    assert (entries, size) == (len(PAYLOADS), SIZE)
    assert latencies.sampled
    for reader in readers:
        assert sorted(reader.read_ids) == list(range(len(reader.payloads)))


def test_a_part_of_the_entries_can_be_read(clock, readers, result_of):
    done = run(workloads.single_reads(readers, 8, 10))
    clock.pump([1] * 8)
    assert result_of(done)[1] == sum(map(len, PAYLOADS[:8]))
    assert [reader.read_ids for reader in readers] == [[0, 1, 2], [0, 1, 2], [0, 1]]


def test_adds_go_to_the_ledgers_in_turns_and_keep_a_window_full(writers, log, result_of):
    done = run(workloads.adds(writers, [b"a", b"bb", b"ccc"], 5, 3))
    first, second = writers
    assert [(writer, payload) for writer, payload, _ in log] == [(first, b"a"), (second, b"bb"), (first, b"ccc")]
    log[0][2].callback(0)
    assert log[-1][:2] == (second, b"a")
    for _, _, deferred in islice(log, 1, 4):
        deferred.callback(0)
    assert not done.called
    log[4][2].callback(0)
    entries, size, _ = result_of(done)
    assert (entries, size) == (5, 9)


def test_bulks_are_of_all_entries(writers, log, result_of, monkeypatch):
    monkeypatch.setattr(workloads, "BULK_ENTRIES", 2)
    done = run(workloads.bulk_adds(writers, [b"a", b"bb"], 5))
    assert [(writer, payload) for writer, payload, _ in log] == [
        *zip(cycle(writers), [b"abb", b"abb", b"a"], strict=False)
    ]
    for _, _, deferred in log:
        deferred.callback(range(0))
    entries, size, _ = result_of(done)
    assert (entries, size) == (5, 7)


def test_reads_beside_adds_do_half_of_each(clock, readers, writers, log, result_of):
    done = run(workloads.reads_beside_adds(readers, writers, [b"a"], 20, 8))
    assert len(log) == 4
    for _, _, deferred in log:  # grows to half of the entries
        deferred.callback(0)
    assert len(log) == 10
    clock.pump([1] * 10)
    entries, size, _ = result_of(done)
    assert (entries, size) == (20, 10 + sum(map(len, PAYLOADS[:10])))


def test_an_error_beside_reads_is_that_error(clock, readers, writers, log, failure_of):
    done = run(workloads.reads_beside_adds(readers, writers, [b"a"], 20, 8))
    log[0][2].errback(StorageFailed())
    failure_of(done, StorageFailed)
