"""bookkeeper_tx.bookie.operations.dispatch: V2 and V3 bytes to replies over real journal and storage, and the brake."""

from pathlib import Path
from typing import Any

from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.dispatch import Dispatch
from bookkeeper_tx.protocol.bookie.v2 import AddRequests
from tests.bookie.operations.served import Bookie, config_of
from tests.bookie.seams import KEY, LEDGER, Client, MemoryJournal, MemoryStorage, run_of
from tests.bookie.workers import InlineWorker

READ_0 = bytes.fromhex("0000001402020000") + LEDGER.to_bytes(8, "big") + bytes(8)
BATCH_LIMITS = bytes.fromhex("0000000a00000000000003e8")
BATCH = bytes.fromhex("0000002802070000") + LEDGER.to_bytes(8, "big") + bytes(16) + BATCH_LIMITS


def add_frame(entry: bytes) -> bytes:
    return (24 + len(entry)).to_bytes(4, "big") + bytes.fromhex("02010000") + KEY + entry


class Brake:
    """Counts."""

    def __init__(self) -> None:
        self.pauses = self.resumes = 0

    def pause(self) -> None:
        self.pauses += 1

    def resume(self) -> None:
        self.resumes += 1


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


def braked(**values: Any) -> tuple[Any, MemoryStorage, MemoryJournal, Availability, Brake]:
    storage, journal, availability = MemoryStorage(), MemoryJournal(), Availability()
    parts: Any = (storage, journal, availability)
    dispatch = Dispatch(config_of(Path("/d"), **values), Disk(), *parts, Clock(), InlineWorker())
    brake = dispatch.brake = Brake()

    def add(entry_id: int) -> None:
        client: Any = Client()
        dispatch.serve(AddRequests(0x02010000, KEY, run_of(entry_id, 41)), client)

    return (dispatch, add), storage, journal, availability, brake


def test_a_full_write_cache_stops_all_clients_until_it_has_drained() -> None:
    (dispatch, add), storage, journal, _, brake = braked()
    add(0)
    storage.full = True
    add(1)
    add(2)
    assert (brake.pauses, brake.resumes) == (1, 0)
    journal.sync()
    assert brake.resumes == 0
    storage.full = False
    dispatch.look_again()
    dispatch.look_again()
    assert (brake.pauses, brake.resumes) == (1, 1)


def test_a_long_queue_of_the_journal_stops_all_clients_until_half_is_written() -> None:
    (_, add), _, journal, _, brake = braked(connection_requests_bytes_max=400)
    for entry_id in range(5):
        add(entry_id)
    assert brake.pauses == 1
    journal.sync(1)
    journal.sync(1)
    assert brake.resumes == 0
    journal.sync()
    assert brake.resumes == 1


def test_while_flushes_fail_nobody_is_stopped_because_reads_go_on() -> None:
    (dispatch, add), storage, _, availability, brake = braked()
    storage.full = True
    add(0)
    assert brake.pauses == 1
    availability.cannot_write = True
    dispatch.look_again()
    assert brake.resumes == 1
    add(1)
    assert brake.pauses == 1
