"""Appending many entries with one call: read as there is room, sent as runs, and taken apart when a bookie fails."""

from asyncio import CancelledError
from collections.abc import Iterator
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument, LedgerClosed, LedgerFenced, StorageFailed
from tests.client.puppets import Cluster
from tests.client.writers import writer_of

PAYLOADS = [b"%d" % i for i in range(600)]


def stored(cluster: Cluster, bookie_id: str, ledger_id: int) -> list[bytes]:
    entries = cluster.bookies[bookie_id].ledgers[ledger_id].entries
    return [entries[entry_id][36:] for entry_id in sorted(entries)]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 3, 2), (3, 2, 2)])
@pytest.mark.parametrize("protocol", list(WireProtocol))
def test_every_payload_is_an_entry(sizes: tuple[int, int, int], protocol: WireProtocol) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, sizes, ClientConfig(protocol=protocol))
    assert cluster.result(writer.append(b"first")) == 0
    assert cluster.result(writer.append_many(PAYLOADS)) == range(1, 601)
    assert cluster.result(writer.append(b"last")) == 601
    assert (writer.last_add_confirmed, writer.length) == (601, 9 + sum(map(len, PAYLOADS)))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id))
    assert [each.payload for each in cluster.result(reader.read(0, 601))] == [b"first", *PAYLOADS, b"last"]


def test_a_generator_is_read_as_there_is_room() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=4))
    read: list[int] = []

    def payloads() -> Iterator[bytes]:
        for number in range(20):
            read.append(number)
            yield b"%d" % number

    appended = writer.append_many(payloads())
    late = writer.append(b"after it")
    assert len(read) <= 5
    cluster.network.run()
    assert (appended.result, late.result) == (range(20), 20)
    assert stored(cluster, "b1", writer.ledger_id) == [*(b"%d" % number for number in range(20)), b"after it"]


def test_bytes_on_their_way_are_bounded_whatever_their_number() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_bytes_max=1_000_000))
    singles = [writer.append(bytes(300_000)) for _ in range(6)]
    many = writer.append_many(bytes(300_000) for _ in range(6))
    most = 0
    while cluster.network.messages:
        most = max(
            most, sum(each.text.startswith("b1: add") or "add" in each.text for each in cluster.network.messages)
        )
        cluster.network.deliver(0)
    assert [each.result for each in singles] == list(range(6))
    assert many.result == range(6, 12)
    assert most <= 5


@pytest.mark.parametrize("bad", ["text", 7, None])
def test_a_bad_payload_of_a_list_stores_nothing(bad: Any) -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    with pytest.raises(InvalidArgument, match="payload must be bytes"):
        cluster.result(writer.append_many([b"good", bad]))
    assert cluster.result(writer.append(b"next")) == 0


def test_what_a_generator_raises_comes_after_the_entries_before_it() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))

    def payloads() -> Iterator[Any]:
        yield b"one"
        yield b"two"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cluster.result(writer.append_many(payloads()))
    with pytest.raises(InvalidArgument):
        cluster.result(writer.append_many(iter([b"three", "text"])))  # type: ignore[list-item]
    assert cluster.result(writer.append(b"four")) == 3
    assert stored(cluster, "b1", writer.ledger_id) == [b"one", b"two", b"three", b"four"]


@pytest.mark.parametrize("error", [GeneratorExit, SystemExit, CancelledError])
@pytest.mark.parametrize("before", [0, 1, 3, 10, 600])
@pytest.mark.parametrize("outstanding", [4, 1000])
def test_no_exception_of_a_generator_loses_what_came_before_it_or_reaches_anyone_else(
    error: type[BaseException], before: int, outstanding: int
) -> None:
    """Most of it is read when a reply has made room: nobody is there then to take what is raised."""
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=outstanding))
    ended: list[str] = []

    def payloads() -> Iterator[bytes]:
        try:
            yield from PAYLOADS[:before]
            raise error
        finally:
            ended.append("generator")

    appended, failures = writer.append_many(payloads()), []
    appended.addErrback(failures.append)
    after = writer.append(b"after it")
    cluster.network.run()
    assert [each.check(error) for each in failures] == [error]
    assert ended == ["generator"]
    assert after.result == before
    assert cluster.result(writer.append_many(iter([b"x", b"y"]))) == range(before + 1, before + 3)
    assert stored(cluster, "b1", writer.ledger_id) == [*PAYLOADS[:before], b"after it", b"x", b"y"]
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id).last_entry_id == before + 2


def test_a_generator_is_let_go_when_the_writer_fails() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=4))
    ended: list[str] = []

    def payloads() -> Iterator[bytes]:
        try:
            while True:
                yield b"x"
        finally:
            ended.append("generator")

    failures: list[Any] = []
    writer.append_many(payloads()).addErrback(failures.append)
    cluster.bookies["b1"].fails = LedgerFenced()
    cluster.network.run()
    assert [each.check(LedgerFenced) for each in failures] == [LedgerFenced]
    assert ended == ["generator"]


def test_nothing_is_a_range_without_ids() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    assert cluster.result(writer.append_many([])) == range(0)
    cluster.result(writer.append_many([b"a", b"b"]))
    assert cluster.result(writer.append_many(iter(()))) == range(2, 2)
    cluster.result(writer.close())
    with pytest.raises(LedgerClosed):
        cluster.result(writer.append_many([b"c"]))


@pytest.mark.parametrize("error", [StorageFailed(), BookKeeperError()])
@pytest.mark.parametrize("after", [0, 1, 100, 700, 1300])
def test_a_bookie_that_fails_amid_a_run_is_replaced(error: BookKeeperError, after: int) -> None:
    """What the failed bookie has acknowledged counts for nothing in the new fragment, and every entry is readable."""
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    writer = writer_of(cluster, (3, 3, 2))
    failing = writer.metadata.last_fragment.ensemble[1]
    appended = writer.append_many(PAYLOADS)
    for _ in range(after):
        cluster.network.deliver(0)
    cluster.bookies[failing].fails = error
    cluster.network.run()
    assert appended.result == range(600)
    cluster.result(writer.close())
    assert failing not in cluster.metadata(writer.ledger_id).last_fragment.ensemble or after == 1300
    for fragment_end in (0, 599):
        reader = cluster.result(cluster.client().open_ledger(writer.ledger_id))
        assert cluster.result(reader.read(fragment_end, fragment_end))[0].payload == PAYLOADS[fragment_end]
    metadata = cluster.metadata(writer.ledger_id)

    def entries_on(bookie_id: str) -> dict[int, bytes]:
        return cluster.bookies[bookie_id].ledgers[writer.ledger_id].entries

    starts = [*(fragment.first_entry_id for fragment in metadata.fragments[1:]), 600]
    for fragment, end in zip(metadata.fragments, starts, strict=True):
        for entry_id in range(fragment.first_entry_id, end):
            holders = [each for each in fragment.ensemble if entry_id in entries_on(each)]
            assert len(holders) >= 2


def test_a_fence_amid_a_run_ends_the_writer() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    cluster.result(writer.append(b"x"))
    cluster.result(cluster.client().open_ledger(writer.ledger_id))
    with pytest.raises(LedgerFenced, match="may exist or not"):
        cluster.result(writer.append_many(PAYLOADS))
    assert writer.last_add_confirmed == 0


def test_a_generator_that_closes_the_writer_first_adds_nothing() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    closed: list[Any] = []

    def payloads() -> Iterator[bytes]:
        closed.append(writer.close())
        yield b"x"

    appended = writer.append_many(payloads())
    with pytest.raises(LedgerClosed):
        cluster.result(appended)
    cluster.network.run()
    assert closed[0].called
    assert cluster.metadata(writer.ledger_id).last_entry_id == -1


def test_a_generator_that_closes_the_writer_amid_its_payloads_is_read_to_its_end() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    closed: list[Any] = []

    def payloads() -> Iterator[bytes]:
        yield b"a"
        closed.append(writer.close())
        yield b"b"

    assert cluster.result(writer.append_many(payloads())) == range(2)
    while not closed[0].called:
        cluster.network.run()
        cluster.clock.advance(1)
    assert cluster.metadata(writer.ledger_id).last_entry_id == 1
