"""Range reads: the bytes in flight and the bytes held, whatever the size of entries."""

import re
from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_entries import without_payloads
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.client.read_window import START_SIZE
from bookkeeper_tx.config import MIB, ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import DigestType
from tests.client.puppets import Cluster

RANGE = re.compile(r"range 0/(\d+)\.\.(\d+)")
BATCH = re.compile(r"batch 0/(\d+) count (\d+) size (\d+)")


class Link:
    """A ledger of entries of one size on one bookie, behind a link that brings ``rate`` bytes a second."""

    def __init__(
        self,
        entries: int,
        size: int,
        rate: float = 1e6,
        closed: bool = False,
        length: int | None = None,
        **settings: Any,
    ) -> None:
        self.cluster = Cluster(["b1"])
        self.size, self.rate = size, rate
        self.payloads = [bytes([index % 256]) * size for index in range(entries)]
        client = self.cluster.client(ClientConfig(**settings))
        self.writer: LedgerWriter = self.cluster.result(client.create_ledger(1, 1, 1))
        self.cluster.result(self.writer.append_many(self.payloads))
        if closed:
            self.cluster.result(self.writer.close())
        if length is not None:
            versioned = self.cluster.state.ledgers[0]
            self.cluster.state.ledgers[0] = evolve(versioned, metadata=evolve(versioned.metadata, length=length))
        self.bookie = self.cluster.bookies["b1"]
        self.reader = self._open(client, closed)
        self.bookie.requests.clear()
        self.in_flight_max = 0

    def _open(self, client: BookKeeper, closed: bool) -> LedgerReader:
        if closed:
            return self.cluster.result(client.open_ledger(0))
        reader = self.cluster.result(client.open_ledger_no_recovery(0))
        reader._last_add_confirmed = len(self.payloads) - 1
        return reader

    def expected(self, text: str) -> int:
        """The bytes of the answer to a request."""
        if found := RANGE.search(text):
            return (int(found[2]) - int(found[1]) + 1) * (self.size + 64)
        if found := BATCH.search(text):
            fit = max(1, int(found[3]) // (self.size + 40))
            return min(int(found[2]), fit) * (self.size + 64)
        return 0

    def run(self) -> None:
        """Deliver every request at once, and the answers as fast as the link brings them."""
        messages = self.cluster.network.messages
        while messages:
            request = next((index for index, each in enumerate(messages) if each.text.startswith("request")), None)
            if request is not None:
                self.cluster.network.deliver(request)
                continue
            self.in_flight_max = max(self.in_flight_max, sum(self.expected(each.text) for each in messages))
            self.cluster.clock.advance(self.expected(messages[0].text) / self.rate)
            self.cluster.network.deliver()

    def result(self, deferred: Deferred[Any]) -> Any:
        outcome: list[Any] = []
        deferred.addBoth(outcome.append)
        self.run()
        assert outcome, "the Deferred has not fired though nothing is on its way"
        if hasattr(outcome[0], "raiseException"):
            outcome[0].raiseException()
        return outcome[0]


@pytest.mark.parametrize("batch", [True, False])
def test_a_slow_link_has_in_flight_what_it_brings_soon(batch: bool) -> None:
    link = Link(600, 10_000)
    entries = link.result(link.reader.read(0, 599, batch=batch))
    assert entries.payloads == link.payloads
    assert link.in_flight_max <= link.rate * link.reader.context.config.read_timeout_s / 8
    assert link.in_flight_max >= link.rate * 0.2, "enough to keep it busy"


@pytest.mark.parametrize("batch", [True, False])
def test_while_nothing_is_known_of_the_entries_one_small_request_is_sent(batch: bool) -> None:
    link = Link(300, 100_000)
    reading = link.reader.read(0, 299, batch=batch)
    (first,) = [each for each in link.cluster.network.messages if "request" in each.text]
    if batch:
        assert f"size {START_SIZE}" in first.text
    else:
        assert first.text.endswith("range 0/0..2"), "each may be as large as a frame"
    assert link.result(reading).payloads == link.payloads


def test_a_length_of_zero_tells_nothing_of_the_entries() -> None:
    """Java's recovery closes some ledgers with a length of 0 that have entries (BKW-CREC-006)."""
    link = Link(300, 100_000, closed=True, length=0)
    link.result(link.reader.read(0, 299, batch=False))
    assert link.bookie.requests[0].endswith("range 0/0..2")


def test_the_size_of_a_closed_ledgers_entries_is_known_from_its_metadata() -> None:
    link = Link(300, 1000, closed=True)
    link.result(link.reader.read(0, 299, batch=False))
    assert link.bookie.requests[0].endswith(f"range 0/0..{START_SIZE // 4 // 1040 - 1}")


def test_batches_are_limited_by_bytes_if_entries_become_larger() -> None:
    link = Link(10, 100)
    large = [b"x" * 200_000] * 40
    link.cluster.result(link.writer.append_many(large))
    link.reader._last_add_confirmed = 49
    assert link.result(link.reader.read(0, 49)).payloads == link.payloads + large
    sizes = [int(found[3]) for each in link.bookie.requests if (found := BATCH.search(each))]
    assert max(sizes) <= 2 * MIB
    assert sizes[0] == START_SIZE


def test_single_reads_bring_no_more_than_asked_for_if_entries_become_larger() -> None:
    link = Link(100, 100)
    large = [b"x" * 200_000] * 40
    link.cluster.result(link.writer.append_many(large))
    link.reader._last_add_confirmed = 139
    brought = []
    original = link.reader.window.arrived

    def arrived(asked: Any, run: EntryRun | None, now: float) -> None:
        brought.append(run.size if run is not None else 0)
        original(asked, run, now)

    link.reader.window.arrived = arrived  # type: ignore[method-assign]
    assert link.result(link.reader.read(0, 139, batch=False)).payloads == link.payloads + large
    assert max(brought) <= 2 * MIB


def test_two_reads_of_one_handle_share_what_is_in_flight() -> None:
    link = Link(600, 10_000)
    link.result(link.reader.read(0, 300))
    link.in_flight_max = 0
    together = [link.reader.read(0, 599) for _ in range(3)]
    for reading in together:
        assert link.result(reading).payloads == link.payloads
    assert link.in_flight_max <= link.rate * 5 / 8


def test_answers_that_lack_entries_are_completed() -> None:
    link = Link(500, 100)
    link.bookie.batch_entries_max = 3
    assert link.result(link.reader.read(0, 499)).payloads == link.payloads


# In pieces -----------------------------------------------------------------------------------------------------------


def collect(link: Link, batch: bool = True) -> tuple[list[bytes], list[int]]:
    payloads: list[bytes] = []
    pieces: list[int] = []

    async def collect_them() -> None:
        async for piece in link.reader.entries(batch=batch):
            payloads.extend(piece.payloads)
            pieces.append(sum(map(len, piece.payloads)))
            assert [entry.payload for entry in piece] == piece.payloads

    link.result(Deferred.fromCoroutine(collect_them()))
    return payloads, pieces


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("size", [0, 100, 10_000, 300_000])
def test_pieces_are_the_whole_range_and_none_is_large(size: int, batch: bool) -> None:
    link = Link(200, size, rate=1e8)
    link.bookie.batch_entries_max = 7
    payloads, pieces = collect(link, batch)
    assert payloads == link.payloads
    assert max(pieces) <= 5 * MIB
    assert batch == any("batch" in each for each in link.bookie.requests)


@pytest.mark.parametrize("size", [1000, 100_000, 3_000_000])
def test_what_is_held_for_a_caller_who_takes_nothing_is_bounded(size: int) -> None:
    entries = max(8, 6_000_000 // size)
    link = Link(entries, size, rate=1e9, read_bytes_max=4 * MIB)
    pieces = link.reader.entries(batch=False)
    first = Deferred.fromCoroutine(pieces.__anext__())
    link.result(first)
    link.run()
    came = sum(link.expected(each) for each in link.bookie.requests)
    assert came <= 2.5 * MIB + 2 * size, "the piece that was given, and those ahead of it"
    assert came < entries * size, "there is more"


def test_the_entries_before_an_error_are_given() -> None:
    link = Link(200, 100)
    del link.bookie.ledgers[0].entries[150]
    found: list[bytes] = []

    async def collect_them() -> None:
        async for piece in link.reader.entries():
            found.extend(piece.payloads)

    link.bookie.batch_entries_max = 10
    with pytest.raises(Exception, match="entry 150 of ledger 0"):
        link.result(Deferred.fromCoroutine(collect_them()))
    assert found == link.payloads[:150]


def test_answers_behind_an_error_leave_their_room_to_what_is_read_before_it() -> None:
    link = Link(400, 1000, closed=True, read_bytes_max=MIB)
    messages, entries = link.cluster.network.messages, link.bookie.ledgers[0].entries
    missing = [entries.pop(entry_id) for entry_id in (3, 18, 33, 45)]
    for entry_id in range(200, 400):
        entries[entry_id] = EntryDigest(DigestType.CRC32C, b"").seal(0, entry_id, -1, 0, bytes(5000))
    pieces = link.reader.entries(batch=False)
    first = Deferred.fromCoroutine(pieces.__anext__())
    before = [messages.pop(0) for _ in range(3)]
    assert [each.text for each in before] == [f"request b1 range 0/{each}" for each in ("0..14", "15..29", "30..44")]
    failing = messages.pop(0)
    link.run()
    assert len(link.bookie.requests) < 16, "as much is held as may be"
    link.cluster.network.send(failing)
    link.run()
    for each in before:
        link.cluster.network.send(each)
    for _ in range(6):
        link.cluster.network.deliver()
    asked = [each.text for each in messages]
    assert asked == [f"request b1 range 0/{each}" for each in ("3..14", "18..29", "33..44")]
    entries.update(zip((3, 18, 33), missing, strict=False))
    assert link.result(first).payloads == link.payloads[:3]


def test_a_range_that_cannot_be_read_asks_for_no_more() -> None:
    link = Link(500, 10_000)
    reading = link.reader.read(0, 499)
    link.bookie.fails = StorageFailed()
    with pytest.raises(StorageFailed):
        link.result(reading)
    assert len(link.bookie.requests) == 1


def test_a_read_that_is_cancelled_asks_for_no_more() -> None:
    link = Link(500, 10_000)
    reading = link.reader.read(0, 499)
    reading.addErrback(lambda _: None)
    reading.cancel()
    link.run()
    assert len(link.bookie.requests) == 1
    assert link.reader.window.in_flight == 0


# Without the bytes of answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 5000])
def test_entries_have_their_metadata_whatever_is_kept(size: int) -> None:
    link = Link(20, size)
    entries = link.result(link.reader.read(0, 19))
    assert [entry.length for entry in entries] == [size * (index + 1) for index in range(20)]
    assert [entry.entry_id for entry in entries] == list(range(20))
    assert [entry.payload for entry in entries] == link.payloads


def test_of_large_entries_the_payloads_are_kept_once() -> None:
    run = EntryRun.of_entries(0, 7, [bytes(40) + bytes(5000)] * 3)
    kept = without_payloads(run)
    assert (kept.first_entry_id, kept.count) == (7, 3)
    assert len(kept.buffer) == 3 * 32
    small = EntryRun.of_entries(0, 7, [bytes(140)] * 3)
    assert without_payloads(small) is small


def test_of_small_entries_the_bytes_beside_them_are_not_kept() -> None:
    """One read of a socket may bring the answers to many requests of many readers."""
    whole = EntryRun.of_entries(0, 0, [bytes([index]) * 140 for index in range(100)])
    kept = without_payloads(whole.part(40, 44))
    assert [*kept] == [*whole.part(40, 44)]
    assert len(kept.buffer) == 5 * 144
