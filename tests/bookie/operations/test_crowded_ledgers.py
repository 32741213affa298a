"""Ledgers that requests wait for stay in memory, however many others come, and are not read on the reactor thread."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.operations.cold_ledgers import ADD_BYTES, READ_BYTES
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.v2 import AddRequests, ReadRequests
from bookkeeper_tx.transport.bookie_factory import BookieFactory
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from tests.bookie.operations.served import statuses_in
from tests.bookie.operations.test_cold_ledgers import POLL, ColdBookie
from tests.bookie.operations.test_dispatch import add_frame
from tests.bookie.operations.test_dispatch_v3 import BATCH, LIST, READ, V3Bookie
from tests.bookie.seams import KEY, LEDGER, SlowClient, entry, run_of
from tests.bookie.storage.storages import MARK
from tests.conftest import result_of
from tests.protocol.bookie.v2_frames import read_frame
from tests.protocol.bookie.v3_frames import frame_of
from tests.transport.test_bookie_protocol import Transport

CROWD = range(20, 38)
"""Ledgers that drive each other out of memory."""


NEW_LEDGER = 99


class CrowdedBookie(ColdBookie):
    """The same with more ledgers, of one entry each, and room for the handle of one ledger."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        before = V3Bookie(directory)
        for ledger_id in CROWD:
            before.add(0, ledger_id=ledger_id, body=entry(0, 41, ledger_id))
        result_of(before.storage.flush(lambda: MARK))
        result_of(before.storage.stop())
        super().__init__(directory)
        self.table = self.storage._ledgers
        self.table._count_max = 1
        indexes = self.storage.indexes
        self.table.read = self.off_reactor(self.table.read)  # type: ignore[method-assign]
        indexes.read_page = self.off_reactor(indexes.read_page)  # type: ignore[method-assign]

    def off_reactor(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``read``, which reads files that may be open, with a look at where that is done."""

        def checked(*what: int) -> Any:
            assert self.disk.allowed, f"{what} was read on the reactor thread"
            return read(*what)

        return checked

    def read_from_disk(self) -> None:
        """Do the reads that requests wait for."""
        while self.reading.jobs:
            self.reading.execute()
            with self.disk.forbidden():
                self.reading.deliver()

    def crowd(self) -> None:
        """Drive out of memory what nobody holds."""
        for ledger_id in list(self.table._recent):
            if not self.table._in_use(ledger_id):
                del self.table._recent[ledger_id]


@pytest.fixture
def crowded(tmp_path: Path) -> CrowdedBookie:
    return CrowdedBookie(tmp_path)


def reads_of_crowd() -> bytes:
    return b"".join(read_frame(ledger_id, 0) for ledger_id in CROWD)


def test_ledgers_of_mixed_reads_stay_until_all_are_there(crowded: CrowdedBookie) -> None:
    crowded.connection = ServerConnection()
    assert statuses_in(crowded.receive(reads_of_crowd())) == [statuses.EOK] * len(CROWD)


def test_ledgers_of_mixed_adds_stay_until_all_are_there(crowded: CrowdedBookie) -> None:
    adds = b"".join(add_frame(entry(1, 41, ledger_id)) for ledger_id in CROWD)
    crowded.connection = ServerConnection()
    assert statuses_in(crowded.receive(adds) + crowded.sync()) == [statuses.EOK] * len(CROWD)


def test_a_ledger_that_cannot_be_read_is_not_read_again_for_who_has_waited(crowded: CrowdedBookie) -> None:
    for ledger_id in CROWD:
        Path(crowded.storage.indexes.path(ledger_id)).write_bytes(bytes(1024))
    crowded.connection = ServerConnection()
    assert statuses_in(crowded.receive(reads_of_crowd())) == [statuses.EIO] * len(CROWD)


def test_a_ledger_stays_until_its_client_takes_replies(crowded: CrowdedBookie) -> None:
    slow: Any = SlowClient()
    crowded.dispatch.serve(ReadRequests(0x02020000, LEDGER, (4,)), slow)
    crowded.reading.run_all()
    crowded.crowd()
    with crowded.disk.forbidden():
        slow.take_replies()
    assert slow.replies[-1] == entry(4)


def test_a_request_that_has_waited_for_its_ledger_counts_while_its_client_takes_no_replies(
    crowded: CrowdedBookie,
) -> None:
    protocol, transport = BookieFactory(ServerConnection, crowded.dispatch.serve).buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    protocol.dataReceived(add_frame(entry(10, 100_000)))
    protocol.pauseProducing()
    crowded.reading.run_all()
    assert protocol._account.unsent_bytes > 100_000
    protocol.resumeProducing()
    crowded.journal_worker.step()
    assert statuses_in(transport.value()) == [statuses.EOK]


def test_adds_that_need_more_pages_than_are_kept_do_not_read_them_on_the_reactor_thread(
    crowded: CrowdedBookie,
) -> None:
    crowded.storage._pages._size_max = 1
    adds = b"".join(add_frame(entry(0, 41, ledger_id)) for ledger_id in CROWD)
    crowded.connection = ServerConnection()
    assert statuses_in(crowded.receive(adds) + crowded.sync()) == [statuses.EOK] * len(CROWD)
    assert not crowded.storage._unflushed.active, "all were there"


def test_an_add_whose_page_a_flush_has_changed_while_it_waited_waits_again(crowded: CrowdedBookie) -> None:
    crowded.storage._pages._size_max = 1
    crowded.table._count_max = 9
    slow: Any = SlowClient()
    with crowded.disk.forbidden():
        crowded.dispatch.serve(AddRequests(0x02010000, KEY, run_of(8, 50, 50, 50, ledger_id=LEDGER)), slow)
    crowded.read_from_disk()
    for entry_id in (10, 11):
        crowded.add(entry_id)
    crowded.add(0, ledger_id=NEW_LEDGER, body=entry(0, 41, NEW_LEDGER))  # takes the place of the other's page
    result_of(crowded.storage.flush(lambda: MARK))
    with crowded.disk.forbidden():
        slow.take_replies()
    assert (slow.replies, slow.pauses) == ([], 1)
    crowded.read_from_disk()
    assert slow.pauses == 0
    with crowded.disk.forbidden():
        slow.take_replies()
    crowded.journal_worker.step()
    assert statuses_in(b"".join(slow.replies)) == [statuses.EOK] * 3
    assert not crowded.storage._unflushed.active, "all were there when its turn came"


def test_an_add_at_the_end_of_a_ledger_that_has_got_longer_while_it_waited_for_others_waits_again(
    crowded: CrowdedBookie,
) -> None:
    crowded.add(10)
    slow: Any = SlowClient()
    adds = b"".join(add_frame(entry(entry_id, 41, ledger_id)) for ledger_id, entry_id in ((LEDGER, 11), (20, 0)))
    [request] = ServerConnection().receive(adds * 2)
    with crowded.disk.forbidden():
        crowded.dispatch.serve(request, slow)
    crowded.add(11)
    result_of(crowded.storage.flush(lambda: MARK))
    crowded.read_from_disk()
    with crowded.disk.forbidden():
        slow.take_replies()
    crowded.read_from_disk()
    with crowded.disk.forbidden():
        slow.take_replies()
    crowded.journal_worker.step()
    assert statuses_in(b"".join(slow.replies)) == [statuses.EOK] * 4
    assert not crowded.storage._unflushed.active


@pytest.mark.parametrize(
    ("frame", "size"),
    [(lambda ledger_id: read_frame(ledger_id, 0), READ_BYTES), (lambda at: add_frame(entry(0, 41, at)), ADD_BYTES)],
    ids=["reads", "adds"],
)
def test_what_is_held_for_a_request_counts_while_it_is_loaded_and_while_its_client_is_slow(
    crowded: CrowdedBookie, frame: Callable[[int], bytes], size: int
) -> None:
    protocol, transport = BookieFactory(ServerConnection, crowded.dispatch.serve).buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    protocol.dataReceived(b"".join(map(frame, CROWD)))
    assert crowded.dispatch.memory()["loads"][0] == size * len(CROWD)
    protocol.pauseProducing()
    unsent = protocol._account.unsent_bytes
    crowded.read_from_disk()
    assert crowded.dispatch.memory()["loads"][0] == 0
    assert protocol._account.unsent_bytes > unsent + size * len(CROWD)


def test_requests_wait_while_others_hold_too_much(crowded: CrowdedBookie) -> None:
    crowded.dispatch._cold.room.bytes_max = 1
    clients: list[Any] = [SlowClient() for _ in range(4)]
    for client in clients:
        [request] = ServerConnection().receive(reads_of_crowd())
        crowded.dispatch.serve(request, client)
    assert [client.pauses for client in clients] == [1] * 4
    clients[0].lose()
    clients[2].lose()
    while crowded.reading.jobs:
        assert crowded.dispatch.memory()["loads"][0] == READ_BYTES * len(CROWD), "of one at a time"
        crowded.reading.step()
    assert crowded.dispatch.memory()["loads"][0] == 0
    assert [bool(client.next) for client in clients] == [False, True, False, True]
    assert [client.pauses for client in clients if client.connected_to_client] == [0, 0]


def test_a_ledger_stays_while_its_fence_is_held_back(crowded: CrowdedBookie) -> None:
    brake = crowded.dispatch._journal_brake
    fencing: Any = ReadRequests(0x02020001, LEDGER, (0,), KEY)
    slow: Any = SlowClient()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(brake, "_overloaded", lambda _: True)
        crowded.dispatch.serve(fencing, slow)
        crowded.reading.run_all()
        slow.take_replies()
        crowded.crowd()
    with crowded.disk.forbidden():
        brake.look_again()
        slow.take_replies()
    crowded.journal_worker.step()
    result_of(crowded.storage.flush(lambda: MARK))
    crowded.crowd()
    with crowded.disk.forbidden():
        slow.take_replies()
    crowded.reading.run_all()
    slow.take_replies()
    assert slow.replies[-1] == entry(0)


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        (READ, POLL | {"previous_lac": 8}),
        (BATCH, {"start_entry_id": 9, "max_count": 1, "max_size": 999, "previous_lac": 8, "time_out": 1000}),
    ],
    ids=["long poll", "batch read"],
)
def test_a_ledger_stays_while_somebody_polls_it(crowded: CrowdedBookie, operation: int, part: dict[str, Any]) -> None:
    assert crowded.ask(operation, **part) is None
    crowded.crowd()
    with crowded.disk.forbidden():
        crowded.clock.advance(2)
    replies = crowded.receive(b"")
    assert crowded.answer(operation, replies).status == v3_pb2.EOK


def test_a_ledger_stays_while_others_are_listed(crowded: CrowdedBookie) -> None:
    client: Any = crowded.client
    for ledger_id in CROWD:
        frame = frame_of(LIST, get_list_of_entries_of_ledger_request={"ledger_id": ledger_id})
        for request in crowded.connection.receive(len(frame).to_bytes(4, "big") + frame):
            crowded.dispatch.serve(request, client)
    while crowded.reading.jobs:
        crowded.crowd()
        crowded.reading.execute()
        with crowded.disk.forbidden():
            crowded.reading.deliver()
    assert statuses_in(crowded.receive(b"")) == [statuses.EOK] * len(CROWD)
