"""bookkeeper_tx.transport.receive_size: what connections bring at once, and what it takes in memory."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.transport.receive_size import RECEIVED_BYTES_MAX, RECEIVED_MEMORY_FACTOR, receive_size
from protocol_specs.wire import v3_pb2
from tests.bookie.operations.test_dispatch import add_frame
from tests.bookie.operations.test_dispatch_v3 import ADD, INFO, LIST, READ, READ_LAC
from tests.bookie.seams import KEY, entry
from tests.protocol.bookie.v2_frames import read_frame
from tests.protocol.bookie.v3_frames import frame_of

SIZE = 64 * 1024


@pytest.mark.parametrize("connections", [0, 1, 100, 256, 1000, 2000])
def test_all_connections_together_bring_no_more_than_that(connections: int) -> None:
    assert connections * receive_size(connections) <= RECEIVED_BYTES_MAX


def v3(operation: int, **parts: Any) -> bytes:
    frame = frame_of(operation, **parts)
    return len(frame).to_bytes(4, "big") + frame


def v3_add(at: int) -> bytes:
    return v3(ADD, add_request={"ledger_id": at, "entry_id": at, "master_key": KEY, "body": entry(at, 33, at)})


CONTEXT = v3_pb2.ContextPair(key="a", value="b")

SMALLEST: dict[str, Callable[[int], bytes]] = {
    "V2 reads of many ledgers": lambda at: read_frame(10**6 + at, at),
    "V2 reads of one ledger": lambda at: read_frame(7, 2 * at),
    "V2 adds to many ledgers": lambda at: add_frame(entry(at, 33, 10**6 + at)),
    "V2 adds to one ledger": lambda at: add_frame(entry(at, 33)),
    "V3 reads": lambda at: v3(READ, read_request={"ledger_id": at, "entry_id": at % 100}),
    "V3 adds": v3_add,
    "V3 reads of the last add confirmed": lambda at: v3(READ_LAC, read_lac_request={"ledger_id": at}),
    "V3 lists": lambda at: v3(LIST, get_list_of_entries_of_ledger_request={"ledger_id": at}),
    "V3 questions about the space": lambda _: v3(INFO, get_bookie_info_request={"requested": 3}),
    "V3 with a context": lambda at: v3(READ_LAC, read_lac_request={"ledger_id": at}, request_context=[CONTEXT]),
}


@pytest.mark.parametrize("kind", SMALLEST)
def test_what_was_received_takes_some_times_its_bytes(kind: str) -> None:
    frames = [SMALLEST[kind](at) for at in range(SIZE // 20)]
    data = b"".join(frames)
    # Other threads of the test run take memory meanwhile.
    assert min(memory_of(frames[0], data) for _ in range(3)) < RECEIVED_MEMORY_FACTOR * len(data)


def memory_of(first: bytes, data: bytes) -> int:
    connection = ServerConnection()
    connection.receive(first)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        requests = list(connection.receive(data))
        memory = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert requests
    return memory
