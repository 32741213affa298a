"""bookkeeper_tx.bookie.operations.cold_ledgers, by itself, and before every operation of a bookie."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.operations.cold_ledgers import ColdLedgers
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Continuation
from bookkeeper_tx.transport.bookie_factory import BookieFactory
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from tests.bookie.operations.served import statuses_in
from tests.bookie.operations.test_dispatch import add_frame
from tests.bookie.operations.test_dispatch_v3 import BATCH, INFO, LIST, READ, READ_LAC, WRITE_LAC, V3Bookie
from tests.bookie.seams import KEY, LEDGER, Add, Client, MemoryStorage, Read, SlowClient, entry, run_of
from tests.bookie.storage.storages import MARK
from tests.bookie.workers import SteppedWorker
from tests.conftest import result_of
from tests.protocol.bookie.v2_frames import read_frame
from tests.transport.test_bookie_protocol import Transport


class Served:
    """What an operation was asked to serve, over ledgers of which 7 and 8 are not in memory."""

    def __init__(self) -> None:
        storage: Any = MemoryStorage()
        self.loader = storage.loader
        self.loader.cold |= {7, 8}
        self.cold = ColdLedgers(storage)
        self.served: list[tuple[Any, int]] = []
        self.client: Any = Client()

    def serve(self, request: Any, connection: Any) -> None:
        self.served.append((request, connection.pauses))


@pytest.fixture
def served() -> Served:
    return Served()


def test_what_is_in_memory_is_served_at_once(served: Served) -> None:
    request = Read([0], ledger_id=9)
    served.cold.before(served.serve)(request, served.client)
    add = Add(run_of(0, 30, ledger_id=9))
    served.cold.before_adds(served.serve)(add, served.client)
    assert served.served == [(request, 0), (add, 0)]


def test_a_request_waits_for_its_ledger_and_all_later_ones_for_the_request(served: Served) -> None:
    request = Read([0], ledger_id=7)
    served.cold.before(served.serve)(request, served.client)
    assert (served.served, served.client.pauses) == ([], 1)
    assert served.loader.load_next() == 7
    assert served.served == [(request, 1)], "before the others may go on"
    assert served.client.pauses == 0


def test_an_add_of_one_ledger_waits_for_it(served: Served) -> None:
    request = Add(run_of(0, 30, ledger_id=7))
    served.cold.before_adds(served.serve)(request, served.client)
    assert served.loader.load_next() == 7
    assert served.served == [(request, 1)]
    assert served.client.pauses == 0


@define
class Mixed:
    adds: Any = ()
    reads: Any = ()


def test_mixed_adds_wait_for_each_ledger_that_is_not_in_memory(served: Served) -> None:
    request = Mixed(adds=[(7, 0), (9, 0), (8, 3), (7, 1)])
    served.cold.before_mixed_adds(served.serve)(request, served.client)
    assert sorted(served.loader.load_next() for _ in range(3)) == [7, 7, 8]
    assert served.served == [(request, 1)]
    assert served.client.pauses == 0
    served.cold.before_mixed_adds(served.serve)(request, served.client)
    assert served.served == [(request, 1), (request, 0)]


def test_mixed_reads_wait_for_each_ledger_that_is_not_in_memory(served: Served) -> None:
    request = Mixed(reads=[(7, 0), (9, 0), (8, 3), (7, 1)])
    served.cold.before_mixed_reads(served.serve)(request, served.client)
    assert sorted(served.loader.load_next() for _ in range(2)) == [7, 8]
    assert served.served == [(request, 1)]
    assert served.client.pauses == 0
    served.cold.before_mixed_reads(served.serve)(request, served.client)
    assert served.served == [(request, 1), (request, 0)]


def test_nothing_is_served_for_a_client_that_has_gone(served: Served) -> None:
    served.cold.before(served.serve)(Read([0], ledger_id=7), served.client)
    served.client.lose()
    served.loader.load_next()
    assert (served.served, served.client.pauses) == ([], 0)


def test_a_request_that_cannot_be_served_is_left_to_its_connection(served: Served) -> None:
    """The connection ends then; otherwise the client would wait for an answer that does not come."""

    def fail(request: Any, connection: Any) -> None:
        raise RuntimeError("a defect")

    client: Any = SlowClient()
    served.cold.before(fail)(Read([0], ledger_id=7), client)
    served.loader.load_next()
    assert client.pauses == 0
    [end] = client.next
    with pytest.raises(RuntimeError):
        end()


def test_the_connection_ends_of_a_request_that_fails_after_its_wait() -> None:
    storage: Any = MemoryStorage()
    storage.loader.cold.add(1)

    def fail(request: Any, connection: Any) -> None:
        raise RuntimeError("a defect")

    wait_and_fail = ColdLedgers(storage).before(fail)

    def serve(request: Any, connection: Any) -> None:
        request.go_on() if isinstance(request, Continuation) else wait_and_fail(request, connection)

    protocol, transport = BookieFactory(ServerConnection, serve).buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    protocol.dataReceived(read_frame(1, 0))
    assert not transport.aborted
    storage.loader.load_next()
    assert transport.aborted


class OffReactor(Disk):
    """A disk that may only be touched where that is allowed."""

    def __init__(self) -> None:
        self.allowed = True

    def open(self, path: str, writable: bool = False) -> File:
        assert self.allowed, f"{path} was opened on the reactor thread"
        return super().open(path, writable)

    def total_bytes(self, path: str) -> int:
        assert self.allowed, "the space was asked for on the reactor thread"
        return super().total_bytes(path)

    @contextmanager
    def forbidden(self) -> Iterator[None]:
        self.allowed = False
        try:
            yield
        finally:
            self.allowed = True


class ColdBookie(V3Bookie):
    """A bookie that was started on ten entries of one ledger, and whose reactor must not touch the disk."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        before = V3Bookie(directory)
        for entry_id in range(10):
            before.add(entry_id)
        result_of(before.storage.flush(lambda: MARK))
        result_of(before.storage.stop())
        self.disk, self.reading = OffReactor(), SteppedWorker()
        super().__init__(directory, self.disk, self.reading)

    def receive(self, data: bytes) -> bytes:
        with self.disk.forbidden():
            replies = super().receive(data)
        while self.reading.jobs:
            self.reading.execute()
            with self.disk.forbidden():
                self.reading.deliver()
        with self.disk.forbidden():
            return replies + super().receive(b"")


POLL = {"entry_id": LAST_ENTRY, "flag": v3_pb2.ReadRequest.ENTRY_PIGGYBACK, "previous_lac": 4, "time_out": 1000}
FENCE = {"entry_id": LAST_ENTRY, "flag": v3_pb2.ReadRequest.FENCE_LEDGER, "master_key": KEY}
LAC = {"lac": 3, "master_key": KEY, "body": LEDGER.to_bytes(8, "big") + (3).to_bytes(8, "big")}


def synced(bookie: ColdBookie, operation: int, **part: Any) -> Any:
    """Return the reply to what is answered after a sync of the journal."""
    assert bookie.ask(operation, **part) is None
    return bookie.answer(operation, bookie.sync())


REQUESTS: dict[str, tuple[Callable[[ColdBookie], Any], Any]] = {
    "add": (lambda bookie: bookie.add(10).status, v3_pb2.EOK),
    "add of what is there": (lambda bookie: bookie.add(3, body=entry(3, 99)).status, v3_pb2.EOK),
    "add with another password": (lambda bookie: bookie.add(10, master_key=b"x" * 20).status, v3_pb2.EUA),
    "add to a new ledger": (lambda bookie: bookie.add(0, ledger_id=8, body=entry(0, 41, 8)).status, v3_pb2.EOK),
    "read": (lambda bookie: bookie.ask(READ, entry_id=4).body, entry(4)),
    "read of what is not there": (lambda bookie: bookie.ask(READ, entry_id=10).status, v3_pb2.ENOENTRY),
    "read of another ledger": (lambda bookie: bookie.ask(READ, entry_id=0, ledger_id=8).status, v3_pb2.ENOLEDGER),
    "read of the last entry": (lambda bookie: bookie.ask(READ, entry_id=LAST_ENTRY).body, entry(9)),
    "fence": (lambda bookie: synced(bookie, READ, **FENCE).body, entry(9)),
    "long poll": (lambda bookie: bookie.ask(READ, **POLL).body, entry(5)),
    "batch read": (
        lambda bookie: list(bookie.ask(BATCH, start_entry_id=7, max_count=9, max_size=9999).body),
        [entry(7), entry(8), entry(9)],
    ),
    "write of the last add confirmed": (lambda bookie: synced(bookie, WRITE_LAC, **LAC).status, v3_pb2.EOK),
    "read of the last add confirmed": (lambda bookie: bookie.ask(READ_LAC).last_entry_body, entry(9)),
    "list of entries": (lambda bookie: bookie.ask(LIST).status, v3_pb2.EOK),
    "space": (lambda bookie: bookie.ask(INFO, requested=3).total_disk_capacity > 0, True),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_no_request_about_a_ledger_on_the_disk_touches_it_on_the_reactor_thread(tmp_path: Path, name: str) -> None:
    bookie = ColdBookie(tmp_path)
    ask, expected = REQUESTS[name]
    assert ask(bookie) == expected
    assert bookie.client.pauses == 0


def test_mixed_requests_about_a_ledger_on_the_disk_do_not_touch_it_on_the_reactor_thread(tmp_path: Path) -> None:
    bookie = ColdBookie(tmp_path)
    ids = [(LEDGER, 3), (8, 0), (LEDGER, 10), (8, 1), (LEDGER, 11), (8, 2)]
    adds = b"".join(add_frame(entry(entry_id, 41, ledger_id)) for ledger_id, entry_id in ids)
    replies = bookie.receive(adds) + bookie.sync()
    assert statuses_in(replies) == [statuses.EOK] * 6
    bookie = ColdBookie(tmp_path / "other")
    head = bytes.fromhex("0000001402020000")
    reads = b"".join(head + LEDGER.to_bytes(8, "big") + at.to_bytes(8, "big") for at in (3, 10, 9, 4))
    unknown = head + (8).to_bytes(8, "big") + bytes(8)
    assert sorted(each.name for each in statuses_in(bookie.receive(reads + unknown))) == [
        "ENOENTRY",
        "ENOLEDGER",
        "EOK",
        "EOK",
        "EOK",
    ]
