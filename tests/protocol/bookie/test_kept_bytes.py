"""bookkeeper_tx.protocol.bookie.requests.kept_bytes: about as much as the requests really take."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import REQUEST_BYTES, Answered, InContext, kept_bytes
from protocol_specs.wire import v3_pb2
from tests.bookie.seams import KEY, entry
from tests.protocol.bookie.v2_frames import add_frame, frame, read_frame
from tests.protocol.bookie.v3_frames import frame_of

COUNT = 400
LEDGER, ENTRY = 5_000_000, 1000
"""Larger than the numbers that Python has once for all."""


def v2_add(ledger_id: int, entry_id: int, size: int) -> bytes:
    return add_frame(ledger_id, entry_id, entry(entry_id, size, ledger_id)[16:])


def v2_read(ledger_id: int, entry_id: int, _: int) -> bytes:
    return read_frame(ledger_id, entry_id)


def v3_add(ledger_id: int, entry_id: int, size: int) -> bytes:
    body = entry(entry_id, size, ledger_id)
    part = v3_pb2.AddRequest(ledger_id=ledger_id, entry_id=entry_id, master_key=KEY, body=body)
    return frame(frame_of(2, 10**6 + entry_id, add_request=part))


def v3_read(ledger_id: int, entry_id: int, _: int) -> bytes:
    part = v3_pb2.ReadRequest(ledger_id=ledger_id, entry_id=entry_id)
    return frame(frame_of(1, 10**6 + entry_id, read_request=part))


def counted_and_traced(frames: bytes) -> tuple[int, int]:
    """Return the bytes that the requests in ``frames`` are said to keep, and those that they keep."""
    for _ in range(2):  # the first time brings what all share
        connection = ServerConnection()
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            requests = connection.receive(frames)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    return sum(map(kept_bytes, requests)), after - before


@pytest.mark.parametrize("ledger_count", [100, 1])
@pytest.mark.parametrize("size", [41, 1000])
@pytest.mark.parametrize("make", [v2_add, v2_read, v3_add, v3_read])
def test_what_requests_keep_is_counted(make: Callable[[int, int, int], bytes], size: int, ledger_count: int) -> None:
    frames = [make(LEDGER + i % ledger_count, ENTRY + i // ledger_count, size) for i in range(COUNT)]
    counted, traced = counted_and_traced(b"".join(frames))
    assert 0.75 * traced < counted < 1.5 * traced + 2 * REQUEST_BYTES


def test_reads_of_one_ledger_in_no_order() -> None:
    counted, traced = counted_and_traced(b"".join(read_frame(LEDGER, ENTRY + i * 7919 % COUNT) for i in range(COUNT)))
    assert 0.75 * traced < counted < 1.5 * traced


def read_with_long_key(**fields: Any) -> bytes:
    return frame(frame_of(1, read_request={"ledger_id": 1, "entry_id": 2, "master_key": bytes(10_000), **fields}))


def batch_read_with_long_key(**fields: Any) -> bytes:
    limits = {"start_entry_id": 2, "max_count": 1, "max_size": 1}
    part = {"ledger_id": 1, "master_key": bytes(10_000), **limits, **fields}
    return frame(frame_of(12, batch_read_request=part))


@pytest.mark.parametrize(
    "sent",
    [
        read_with_long_key(flag=v3_pb2.ReadRequest.FENCE_LEDGER),
        batch_read_with_long_key(flag=v3_pb2.BatchReadRequest.FENCE_LEDGER),
        frame(
            frame_of(
                6, write_lac_request=v3_pb2.WriteLacRequest(ledger_id=1, lac=2, master_key=KEY, body=bytes(10_000))
            )
        ),
    ],
    ids=["key", "key of a batch read", "explicit last add confirmed"],
)
def test_long_fields_count(sent: bytes) -> None:
    [request] = ServerConnection().receive(sent)
    assert kept_bytes(request) > 10_000


@pytest.mark.parametrize(
    "sent",
    [read_with_long_key(), batch_read_with_long_key(), batch_read_with_long_key(previous_lac=5, time_out=1000)],
    ids=["read", "batch read", "batch read that polls"],
)
def test_a_key_that_fences_nothing_is_not_kept(sent: bytes) -> None:
    """Thousands of reads may wait, for the disk or for the last add confirmed, and none is counted by its key."""
    [request] = ServerConnection().receive(sent)
    assert kept_bytes(request) < 2 * REQUEST_BYTES
    assert getattr(request, "master_key", None) is None


def test_a_fencing_read_does_not_keep_the_other_parts_of_its_message() -> None:
    fence = {"ledger_id": 1, "entry_id": 2, "master_key": KEY, "flag": v3_pb2.ReadRequest.FENCE_LEDGER}
    body = v3_pb2.AddRequest(ledger_id=1, entry_id=2, master_key=KEY, body=bytes(10_000))
    [request] = ServerConnection().receive(frame(frame_of(1, read_request=fence, add_request=body)))
    assert kept_bytes(request) < 2 * REQUEST_BYTES


def test_an_answer_and_a_context_count() -> None:
    assert kept_bytes(Answered(bytes(99))) == REQUEST_BYTES + 99
    assert kept_bytes(InContext(Answered(b""), "c" * 50)) == 2 * REQUEST_BYTES + 50
