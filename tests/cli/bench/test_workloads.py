"""The workloads of the bench, on a ledger in memory."""

import pytest
from twisted.internet import task
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.bench import workloads
from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import Entry

PAYLOADS = [b"x" * (number % 7) for number in range(250)]
SIZE = sum(map(len, PAYLOADS))


class Reader:
    """Answers a turn later, as every reader does; some batches are short."""

    def __init__(self, clock):
        self.clock = clock

    def later(self, result):
        return task.deferLater(self.clock, 1, lambda: result)

    def read_entry(self, entry_id):
        return self.later(Entry(0, entry_id, PAYLOADS[entry_id], 0, 0))

    def read(self, first, last, batch=True):
        assert not batch
        return self.later(LedgerEntries(0, first, PAYLOADS[first : last + 1], []))

    def read_batch(self, start, max_count, fallback=True):
        assert not fallback
        count = min(max_count, 70)
        return self.later(LedgerEntries(0, start, PAYLOADS[start : start + count], []))


class Writer:
    """Acknowledges when the test says so."""

    def __init__(self):
        self.length = 0
        self.waiting = []
        self.appended = []

    def append(self, payload):
        self.appended.append(payload)
        self.length += len(payload)
        deferred = Deferred()
        self.waiting.append(deferred)
        return deferred


def run(coroutine):
    return Deferred.fromCoroutine(coroutine)


@pytest.mark.parametrize(
    "workload",
    [
        lambda reader: workloads.range_of_single_reads(reader, len(PAYLOADS)),
        lambda reader: workloads.single_reads(reader, len(PAYLOADS), 10),
        lambda reader: workloads.batch_reads(reader, len(PAYLOADS)),
    ],
)
def test_reads_read_every_entry_once(workload, result_of):
    clock = task.Clock()
    done = run(workload(Reader(clock)))
    clock.pump([1] * len(PAYLOADS))
    entries, size, latencies_s = result_of(done)
    assert (entries, size) == (len(PAYLOADS), SIZE)
    assert latencies_s


def test_adds_keep_a_window_full(result_of):
    writer = Writer()
    done = run(workloads.adds(writer, [b"a", b"bb"], 5, 3))
    assert writer.appended == [b"a", b"bb", b"a"]
    writer.waiting[0].callback(0)
    assert writer.appended == [b"a", b"bb", b"a", b"bb"]
    for deferred in writer.waiting[1:4]:
        deferred.callback(0)
    assert not done.called
    writer.waiting[4].callback(0)
    entries, size, _ = result_of(done)
    assert (entries, size) == (5, 7)


def test_adds_one_at_a_time_wait_for_each(result_of):
    writer = Writer()
    done = run(workloads.adds_one_at_a_time(writer, [b"a"], 2))
    assert len(writer.waiting) == 1
    writer.waiting[0].callback(0)
    assert len(writer.waiting) == 2
    writer.waiting[1].callback(1)
    entries, size, latencies_s = result_of(done)
    assert (entries, size, len(latencies_s)) == (2, 2, 2)


def test_the_first_error_ends_a_workload(failure_of):
    writer = Writer()
    done = run(workloads.adds(writer, [b"a"], 9, 3))
    writer.waiting[1].errback(StorageFailed())
    failure_of(done, StorageFailed)
    writer.waiting[0].callback(0)
    writer.waiting[2].errback(StorageFailed())
    assert len(writer.appended) == 3
