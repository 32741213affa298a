"""The verbs of a process that makes load, with a client in memory."""

from concurrent.futures import Future

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred, succeed

from bookkeeper_tx.cli.bench import blocking_window
from bookkeeper_tx.cli.bench.load_lines import parse_reply, render
from bookkeeper_tx.cli.bench.load_process import Load, answer
from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.errors import NotEnoughBookies
from bookkeeper_tx.model import DigestType, Entry


class Ledger:
    """Writer and reader of one ledger."""

    def __init__(self, ledger_id):
        self.ledger_id = ledger_id
        self.payloads = []
        self.closed = False

    @property
    def length(self):
        return sum(map(len, self.payloads))

    def append(self, payload):
        self.payloads.append(payload)
        return succeed(len(self.payloads) - 1)

    def append_many(self, payloads):
        self.payloads += payloads
        return succeed(range(len(payloads)))

    def read_entry(self, entry_id):
        return succeed(Entry(0, entry_id, self.payloads[entry_id], 0, 0))

    def read(self, first, last, batch=True):
        return succeed(LedgerEntries(0, first, self.payloads[first : last + 1], []))

    def read_batch(self, first, count, fallback=True):
        return self.read(first, first + count - 1)

    def close(self):
        self.closed = True
        return succeed(None)


class Client:
    """Makes ledgers, as often as it is allowed to."""

    def __init__(self):
        self.ledgers = {}
        self.created = []

    def create_ledger(self, *arguments):
        if len(self.ledgers) == 20:
            raise NotEnoughBookies("none left")
        self.created.append(arguments)
        ledger = self.ledgers[len(self.ledgers)] = Ledger(len(self.ledgers))
        return succeed(ledger)

    def open_ledger(self, ledger_id):
        assert self.ledgers[ledger_id].closed
        return succeed(self.ledgers[ledger_id])


@pytest.fixture
def load():
    return Load(Client(), payloads=[b"a", b"bb", b"ccc"])


@pytest.fixture
def ask(load, result_of):
    def ask(verb, **values):
        return parse_reply(result_of(Deferred.fromCoroutine(answer(load, render(verb, values)))), "client")

    return ask


@pytest.fixture
def written(ask):
    """Two ledgers with seven entries, open for reading."""
    ask("create", ledgers=2, ensemble=3, write_quorum=3, ack_quorum=2)
    worked = ask("adds", entries=7, window=3)
    ask("open")
    return worked


def test_ready_has_payloads_of_the_lengths_given(load, ask):
    async def cost_us():
        return 0.25

    load._loop = evolve(load._loop, cost_us=cost_us)
    assert ask("ready", lengths=[1, 0, 5]) == {"loop_us": "0.25"}
    assert list(map(len, load.payloads)) == [1, 0, 5]


def test_ledgers_are_created_as_asked(load, written):
    assert load.client.created == [(3, 3, 2, DigestType.CRC32C)] * 2


def test_adds_say_how_many_and_how_much(written):
    assert written == {"entries": "7", "bytes": "13"}


@pytest.mark.parametrize(
    ("verb", "options"),
    [("single_reads", {"window": 2}), ("range_of_single_reads", {}), ("batch_reads", {"batch": 2, "window": 1})],
)
def test_reads_read_what_was_written(written, ask, verb, options):
    assert ask(verb, entries=7, **options) == written


def test_other_ledgers_are_written_while_the_first_are_read(load, written, ask):
    ask("create", ledgers=1, ensemble=1, write_quorum=1, ack_quorum=1)
    assert ask("bulk_adds", entries=4) == {"entries": "4", "bytes": "7"}
    assert ask("reads_beside_adds", entries=6, window=4) == {"entries": "6", "bytes": "12"}
    assert ask("close") == {}
    assert load.client.ledgers[2].closed
    assert (load.readers, load.writers) == ([], [])


def test_latencies_are_those_of_the_last_workload(written, ask):
    latencies = ask("latencies")
    assert int(latencies["slowest_us"]) >= 0
    assert len(latencies["sampled_us"].split(",")) == 2  # of 7 entries, 3 in flight


def test_an_error_is_the_reply(ask):
    with pytest.raises(Exception, match="client: none left"):
        ask("create", ledgers=30, ensemble=1, write_quorum=1, ack_quorum=1)


def test_a_verb_that_there_is_not_is_an_error(ask):
    with pytest.raises(Exception, match="no attribute 'fly'"):
        ask("fly")


class WaitingClient(Client):
    """The client whose calls wait: it gives results, and Futures of what is to be in flight."""

    class Ledger(Ledger):
        def append_later(self, payload):
            return ended(super().append(payload).result)

        def read_entry_later(self, entry_id):
            return ended(super().read_entry(entry_id).result)

        def append_many(self, payloads):
            return super().append_many(payloads).result

        def read(self, first, last, batch=True):
            return super().read(first, last, batch).result

        def close(self):
            return super().close().result

    def create_ledger(self, *arguments):
        ledger = self.ledgers[len(self.ledgers)] = self.Ledger(len(self.ledgers))
        return ledger

    def open_ledger(self, ledger_id):
        return super().open_ledger(ledger_id).result


def ended(result):
    future = Future()
    future.set_result(result)
    return future


def test_the_client_whose_calls_wait():
    load = Load(WaitingClient(), blocking_window.on_threads(), payloads=[b"a", b"bb", b"ccc"])

    def ask(verb, **values):
        return parse_reply(blocking_window.run(answer(load, render(verb, values))), "client")

    ask("create", ledgers=2, ensemble=3, write_quorum=3, ack_quorum=2)
    written = ask("adds", entries=7, window=3)
    assert written == {"entries": "7", "bytes": "13"}
    ask("open")
    for verb in ("single_reads", "range_of_single_reads", "batch_reads"):
        assert ask(verb, entries=7, window=3, batch=2) == written
    ask("create", ledgers=1, ensemble=1, write_quorum=1, ack_quorum=1)
    assert ask("bulk_adds", entries=4) == {"entries": "4", "bytes": "7"}
    assert ask("reads_beside_adds", entries=6, window=4) == {"entries": "6", "bytes": "12"}
    assert ask("close") == {}
