"""bookkeeper_tx.bookie.operations.stored_runs: reads that wait for the disk and for slow clients are bounded."""

from collections.abc import Sequence
from typing import Any

from bookkeeper_tx.bookie.operations import stored_runs
from bookkeeper_tx.bookie.operations.stored_runs import LOAD_BYTES
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.wire import status as statuses
from tests.bookie.seams import LEDGER, Client, MemoryStorage, SlowClient, run_of, runs_of

RUN = run_of(0, 100)


class Bench:
    """Runs of one size, all of them on the disk, one for each tenth entry."""

    def __init__(self, runs: Sequence[EntryRun], **limits: int) -> None:
        self.storage = MemoryStorage()
        self.storage.store(*runs, cold=True)
        self.runs: Any = runs_of(self.storage, **limits)
        self.found: list[Any] = []

    def find(self, client: Client, entry_id: int, collected: int = 0) -> Any:
        return self.runs.find(LEDGER, entry_id, client, self.found.append, collected)

    def load_all(self) -> None:
        while self.storage.loads:
            self.storage.load_next()


def small_runs() -> list[EntryRun]:
    return [run_of(10 * i, 100) for i in range(10)]


def test_a_run_waits_until_its_client_takes_replies_and_counts_until_then() -> None:
    bench, slow = Bench(small_runs()), SlowClient()
    assert bench.find(slow, 0, collected=1000) is None
    assert bench.runs.held_bytes == LOAD_BYTES + 1000
    bench.load_all()
    assert (bench.found, bench.runs.held_bytes) == ([], LOAD_BYTES + 1000 + RUN.size)
    slow.take_replies()
    assert ([run.first_entry_id for run in bench.found], bench.runs.held_bytes) == ([0], 0)


def test_beyond_what_all_clients_may_have_reads_are_refused() -> None:
    bench, slow, other = Bench(small_runs(), bytes_max=3 * LOAD_BYTES + 2 * RUN.size + 1), SlowClient(), Client()
    for entry_id in (0, 10, 20):
        bench.find(slow, entry_id)
    bench.load_all()
    assert bench.runs.held_bytes == 3 * LOAD_BYTES + 2 * RUN.size
    assert bench.find(other, 30, collected=2) is statuses.ETOOMANYREQUESTS
    slow.take_replies()
    assert [each if each is statuses.ETOOMANYREQUESTS else each.first_entry_id for each in bench.found] == [
        0,
        10,
        statuses.ETOOMANYREQUESTS,
    ]
    assert bench.find(other, 30) is None


def test_reads_of_a_client_wait_while_those_before_have_much_and_may_bring_more() -> None:
    size = stored_runs.RUN_BYTES_FIRST
    bench, client = Bench(small_runs(), client_bytes_max=2 * size), Client()
    for entry_id in (0, 10, 20, 30):
        bench.find(client, entry_id)
    assert len(bench.storage.loads) == 2, "nothing is known of its runs"
    bench.storage.load_next()
    assert len(bench.storage.loads) == 3, "they are small"
    bench.load_all()
    assert [run.first_entry_id for run in bench.found] == [0, 10, 20, 30]
    assert (client.pauses, bench.runs.held_bytes) == (0, 0)


def test_a_client_is_paused_while_its_waiting_reads_have_much() -> None:
    bench, client = Bench(small_runs(), client_bytes_max=1000 + 2 * LOAD_BYTES), Client()
    for entry_id, collected, paused in ((0, 0, 0), (10, 999, 0), (20, 1, 1), (30, 0, 1)):
        bench.find(client, entry_id, collected)
        assert client.pauses == paused
    assert bench.runs.held_bytes == 1000 + 4 * LOAD_BYTES
    bench.load_all()
    assert (client.pauses, len(bench.found), bench.runs.held_bytes) == (0, 4, 0)


def test_large_runs_are_loaded_few_at_once() -> None:
    bench, client = Bench([run_of(10 * i, 1_000_000) for i in range(10)], client_bytes_max=1_000_000), SlowClient()
    for entry_id in (0, 10, 20, 30):
        bench.find(client, entry_id)
    bench.storage.load_next()
    client.take_replies()
    assert len(bench.storage.loads) == 1
    while bench.storage.loads:
        assert bench.runs.held_bytes == LOAD_BYTES * (4 - len(bench.found))
        bench.storage.load_next()
        assert len(bench.storage.loads) <= 1
        client.take_replies()
    assert len(bench.found) == 4


def test_of_a_lost_client_nothing_is_held_and_nothing_is_read_on() -> None:
    bench, slow = Bench(small_runs(), client_bytes_max=2 * stored_runs.RUN_BYTES_FIRST), SlowClient()
    bench.find(slow, 0, collected=1000)
    bench.find(slow, 10)
    bench.find(slow, 20, collected=10)
    bench.storage.load_next()
    slow.lose()
    bench.load_all()
    slow.take_replies()
    assert (bench.found, bench.runs.held_bytes) == ([], 0)


def test_what_waiting_reads_take_besides_entries_counts() -> None:
    bench, slow = Bench(small_runs()), SlowClient()
    for _ in range(100):
        bench.find(slow, 0)
    assert bench.runs.held_bytes == 100 * LOAD_BYTES
    slow.lose()
    bench.load_all()
    slow.take_replies()
    assert bench.runs.held_bytes == 0
