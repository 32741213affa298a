"""A log of many ledgers is opened and read from its ends by as many requests as a log of few."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.replicated_log import Namespace
from bookkeeper_tx.replicated_log.log_metadata import LogMetadata
from bookkeeper_tx.replicated_log.segment_list import SegmentList, chunk_of, serialize, serialize_chunk
from tests.replicated_log.logs import LOG, Logs


def log_of(count: int) -> Logs:
    """Return a log whose list has ``count`` ledgers, of which only the last two are there."""
    logs = Logs()
    records = logs.cluster.state.records
    (path,) = [each for each in records if each[-1] == "list"]
    segments = SegmentList()
    for number in range(count):
        ledger_id = 10**9 + number
        if number >= count - 2:
            writer = logs.result(logs.first.create_ledger(1, 1, 1))
            logs.result(writer.append(b"x"))
            logs.result(writer.close())
            ledger_id = writer.ledger_id
        full = segments.full_chunk
        if full:
            records[*path[:-1], str(chunk_of(full[0].log_segment_sequence_no))] = serialize_chunk(full), 0
        segments = segments.with_ledger(ledger_id, number)
    records[path] = serialize(segments), 0
    return logs


def requests(logs: Logs, use: Callable[[Namespace], Deferred[Any]]) -> int:
    """Return how many messages ``use`` takes."""
    ended: list[Any] = []
    use(logs.logs(logs.client())).addBoth(ended.append)
    count = 0
    while not ended:
        logs.cluster.network.deliver()
        count += 1
    assert not hasattr(ended[0], "raiseException"), ended[0]
    return count


@pytest.mark.parametrize("operation", ["open_log_writer", "first_dlsn", "last_dlsn", "log_state"])
def test_ten_thousand_ledgers_cost_no_more_requests_than_ten(operation: str) -> None:
    few, many = (requests(log_of(count), lambda logs: getattr(logs, operation)(LOG)) for count in (10, 10_000))
    assert few == many


def test_no_record_is_large() -> None:
    logs = log_of(10_000)
    sizes = [len(data) for data, _ in logs.cluster.state.records.values()]
    assert len(sizes) < 100
    assert max(sizes) < 16_000


def test_a_ledger_in_the_middle_is_found_in_one_part_of_the_list() -> None:
    logs = log_of(1000)

    async def find() -> Any:
        metadata = await LogMetadata.find(logs.first.metadata, LOG)
        return await metadata.segment((await metadata.read()).segments, 300)

    segment = logs.result(Deferred.fromCoroutine(find()))
    assert (segment.log_segment_sequence_no, segment.ledger_id) == (300, 10**9 + 300)
