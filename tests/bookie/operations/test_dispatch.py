"""bookkeeper_tx.bookie.operations.dispatch: V2 and V3 bytes to replies over real journal and storage, and brakes."""

from pathlib import Path
from typing import Any

from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.brake import WAITER_BYTES
from bookkeeper_tx.bookie.operations.cold_ledgers import LOADING_BYTES_MAX
from bookkeeper_tx.bookie.operations.dispatch import Dispatch
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import MIXED_ADD_BYTES
from bookkeeper_tx.protocol.bookie.v2 import AddRequests, ReadRequests
from bookkeeper_tx.protocol.bookie.v2_mixed import MixedAddRequests
from bookkeeper_tx.transport.bookie_factory import BookieFactory
from tests.bookie.operations.served import Bookie, config_of
from tests.bookie.seams import KEY, LEDGER, OTHER_KEY, Client, MemoryJournal, MemoryStorage, entry, run_of
from tests.bookie.workers import InlineWorker
from tests.transport.test_bookie_protocol import Transport

READ_0 = bytes.fromhex("0000001402020000") + LEDGER.to_bytes(8, "big") + bytes(8)
BATCH_LIMITS = bytes.fromhex("0000000a00000000000003e8")
BATCH = bytes.fromhex("0000002802070000") + LEDGER.to_bytes(8, "big") + bytes(16) + BATCH_LIMITS


def add_frame(entry: bytes) -> bytes:
    return (24 + len(entry)).to_bytes(4, "big") + bytes.fromhex("02010000") + KEY + entry


def test_an_add_is_replied_after_its_sync_and_read_before(tmp_path: Path) -> None:
    bookie, entry = Bookie(tmp_path), run_of(0, 41).entry(0)
    assert bookie.receive(add_frame(entry)) == b""
    read = bookie.receive(READ_0)
    assert read.endswith(entry)
    assert bookie.sync().hex() == "000000180201000000000000" + LEDGER.to_bytes(8, "big").hex() + bytes(8).hex()
    assert bookie.receive(BATCH).endswith((41).to_bytes(4, "big") + entry)


def test_an_add_that_is_refused_takes_none_with_it_that_came_along(tmp_path: Path) -> None:
    bookie = Bookie(tmp_path)
    negative = b"".join(add_frame(run_of(-2 + i, 41).entry(-2 + i)) for i in range(2))
    good = b"".join(add_frame(run_of(i, 41).entry(i)) for i in range(10))
    short = add_frame(run_of(10, 41).entry(10)[:20])
    refused = bookie.receive(negative + good + short + add_frame(run_of(11, 41).entry(11)))
    assert [refused[at + 8 : at + 28].hex() for at in range(0, len(refused), 28)] == [
        "00000064" + LEDGER.to_bytes(8, "big").hex() + entry_id.to_bytes(8, "big", signed=True).hex()
        for entry_id in (-2, -1, 10)
    ]
    replies = bookie.sync() + (bookie.sync() if bookie.journal_worker.jobs else b"")
    assert [replies[at + 8 : at + 12] for at in range(0, len(replies), 28)] == [bytes(4)] * 11


def test_a_reply_to_a_fencing_read_waits_for_the_sync(tmp_path: Path) -> None:
    bookie = Bookie(tmp_path)
    fencing = bytes.fromhex("0000002802020001") + LEDGER.to_bytes(8, "big") + b"\xff" * 8 + KEY
    assert bookie.receive(fencing) == b""
    assert bookie.sync()[8:12] == bytes.fromhex("00000002")
    assert bookie.receive(add_frame(run_of(0, 41).entry(0)))[8:12] == bytes.fromhex("00000068")


class FullTransport(Transport):
    """The connection of a client that reads nothing: it is full with the first bytes."""

    def write(self, data: bytes) -> None:
        super().write(data)
        self.producer.pauseProducing()  # type: ignore[union-attr]


def test_fencing_batch_reads_that_wait_for_one_sync_do_not_fill_the_memory(tmp_path: Path) -> None:
    """A hundred requests of 64 bytes ask for 300 MB; they wait for one fence, and are answered one after the other."""
    bookie, size = Bookie(tmp_path), 1_000_000
    bookie.receive(b"".join(add_frame(entry(at, size)) for at in range(3)))
    bookie.sync()
    protocol, transport = BookieFactory(ServerConnection, bookie.dispatch.serve).buildProtocol(None), FullTransport()
    protocol.makeConnection(transport)
    limits = (0).to_bytes(4, "big") + (5 << 20).to_bytes(8, "big")
    fencing = bytes.fromhex("0000003c02070001") + LEDGER.to_bytes(8, "big") + bytes(16) + limits + KEY
    protocol.dataReceived(fencing * 100)
    assert transport.value() == b""
    bookie.journal_worker.step()
    assert 3 * size < len(transport.value()) < 4 * size


class Braked:
    """The operations over storage and journal in memory, and two clients."""

    def __init__(self, **values: Any) -> None:
        self.storage, self.journal, self.availability = MemoryStorage(), MemoryJournal(), Availability()
        parts: Any = (self.storage, self.journal, self.availability)
        self.dispatch = Dispatch(config_of(Path("/d"), **values), Disk(), *parts, Clock(), InlineWorker())
        self.client, self.other = Client(), Client()

    def serve(self, request: Any, client: Client | None = None) -> None:
        connection: Any = client or self.client
        self.dispatch.serve(request, connection)

    def add(self, entry_id: int, client: Client | None = None) -> None:
        self.serve(AddRequests(0x02010000, KEY, run_of(entry_id, 41)), client)

    def fence(self, ledger_id: int, client: Client | None = None) -> None:
        self.serve(ReadRequests(0x02020001, ledger_id, (-1,), KEY), client)

    @property
    def stored(self) -> list[int]:
        return [run.first_entry_id for run in self.storage.runs]


def test_a_full_write_cache_holds_back_adds_until_it_has_drained() -> None:
    braked = Braked()
    braked.add(0)
    braked.storage.full = True
    braked.add(1)
    braked.add(2)
    braked.add(3, braked.other)
    braked.journal.sync()
    assert braked.stored == [0]
    braked.storage.full = False
    braked.dispatch.look_again()
    assert sorted(braked.stored) == [0, 1, 2, 3]
    assert braked.stored.index(1) < braked.stored.index(2)


def test_a_full_write_cache_holds_back_nothing_else_not_even_of_the_same_client() -> None:
    braked = Braked()
    braked.add(0)
    braked.journal.sync()
    braked.client.take()
    braked.storage.full = True
    braked.add(1)
    braked.serve(ReadRequests(0x02020000, LEDGER, (0,)))
    (_, stored) = braked.client.take()
    assert stored == run_of(0, 41).entry(0)
    braked.fence(LEDGER + 1)
    braked.journal.sync()
    assert braked.client.take()[0][8:12] == bytes.fromhex("00000002"), "fenced, and without an entry"


def test_a_long_queue_of_the_journal_holds_back_adds_and_fences_until_half_is_written() -> None:
    braked = Braked(connection_requests_bytes_max=3 * WAITER_BYTES)
    for entry_id in range(4):
        braked.add(entry_id)
    braked.fence(LEDGER + 1, braked.other)
    assert (braked.stored, len(braked.journal.waiting)) == ([0, 1, 2], 3)
    braked.journal.sync(1)
    assert braked.stored == [0, 1, 2]
    braked.journal.sync(1)
    assert (braked.stored, len(braked.journal.waiting)) == ([0, 1, 2], 2), "the fence comes first"
    braked.journal.sync(1)
    assert (braked.stored, len(braked.journal.waiting)) == ([0, 1, 2, 3], 2)
    braked.journal.sync()
    assert len(braked.other.take()) == 1


def test_fences_alone_fill_the_queue_of_the_journal_and_are_released_by_its_groups() -> None:
    """An add that is refused meanwhile must not hold back all clients for ever either."""
    braked = Braked(connection_requests_bytes_max=10 * WAITER_BYTES)
    braked.storage.store(run_of(0, 41))
    for ledger_id in range(100, 130):
        braked.fence(ledger_id)
    assert len(braked.journal.waiting) < 15
    braked.serve(AddRequests(0x02010000, OTHER_KEY, run_of(1, 41)), braked.other)
    assert braked.other.take() == []
    for _ in range(10):
        braked.journal.sync()
    assert (len(braked.client.take()), braked.journal.waiting) == (30, [])
    assert braked.other.take()[0][8:12] == bytes.fromhex("00000066"), "the add with a wrong password"
    braked.add(2)
    assert 2 in braked.stored


def test_what_waits_is_told_with_its_limits() -> None:
    braked = Braked(connection_requests_bytes_max=WAITER_BYTES, held_bytes_max=7, reads_bytes_max=9)
    braked.storage.store(run_of(0, 41))
    braked.add(1)
    braked.add(2)
    braked.fence(LEDGER)
    held = len(run_of(2, 41).buffer) + WAITER_BYTES
    assert braked.dispatch.memory() == {
        "queued": (len(run_of(1, 41).buffer) + WAITER_BYTES, WAITER_BYTES),
        "held_adds": (held, 7),
        "held_fences": (WAITER_BYTES + len(KEY), 7),
        "reads": (0, 9),
        "loads": (0, LOADING_BYTES_MAX),
        "write_cache": (11, 1000),
    }


def test_the_key_of_a_fence_that_is_held_back_counts() -> None:
    """It is as long as its client makes it, and only looked at when the fence is made."""
    braked = Braked(connection_requests_bytes_max=WAITER_BYTES)
    braked.add(0)
    braked.serve(ReadRequests(0x02020001, LEDGER, (0,), bytes(100_000)))
    assert braked.dispatch.memory()["held_fences"][0] == WAITER_BYTES + 100_000
    braked.journal.sync()
    assert braked.dispatch.memory()["held_fences"][0] == 0


def mixed_adds(count: int) -> MixedAddRequests:
    """Make adds of one small entry to each of ``count`` new ledgers, as one request."""
    frames = b"".join(add_frame(entry(0, 41, 100 + index)) for index in range(count))
    [adds] = ServerConnection().receive(frames)
    assert isinstance(adds, MixedAddRequests)
    return adds


def test_adds_of_many_ledgers_that_are_held_count_each() -> None:
    braked, adds = Braked(), mixed_adds(50)
    braked.storage.full = True
    braked.serve(adds)
    held, _ = braked.dispatch.memory()["held_adds"]
    assert held == adds.content_bytes + WAITER_BYTES > 50 * (41 + MIXED_ADD_BYTES)


def test_adds_of_many_ledgers_that_wait_for_the_journal_count_each(tmp_path: Path) -> None:
    bookie, adds = Bookie(tmp_path), mixed_adds(50)
    bookie.dispatch.serve(adds, bookie.client)
    queued, _ = bookie.dispatch.memory()["queued"]
    assert queued >= adds.content_bytes - 50 * len(KEY) + WAITER_BYTES
    bookie.sync()
    assert bookie.dispatch.memory()["queued"][0] == 0


def test_while_flushes_fail_adds_are_not_held_back_but_refused() -> None:
    braked = Braked()
    braked.storage.full = True
    braked.add(0)
    assert braked.client.take() == []
    braked.availability.note(Reason.FLUSH_FAILED, True)
    braked.dispatch.look_again()
    braked.add(1)
    assert [reply[8:12] for reply in braked.client.take()] == [bytes.fromhex("00000069")] * 2
