"""The V3 operations besides adds and reads, with our client and bookies: tailing, force, lists, batches, scopes."""

from collections.abc import Iterator
from typing import Any

import pytest

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.driver import all_of
from bookkeeper_tx.errors import IllegalOperation
from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import OurClient, append, append_and_close, make_driver, read, wait_for


@pytest.fixture(scope="module")
def bookies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=3) as cluster:
        yield cluster


@pytest.fixture(params=["v2", "v3"])
def client(request: Any, face: str, bookies: LocalCluster) -> Iterator[OurClient]:
    with OurClient(bookies.metadata_uri, protocol=request.param) as client:
        yield client


@pytest.fixture
def v3(face: str, bookies: LocalCluster) -> Iterator[OurClient]:
    with OurClient(bookies.metadata_uri, protocol="v3") as client:
        yield client


def create(client: OurClient, *sizes: int, **options: Any) -> LedgerWriter:
    return wait_for(client.bookkeeper.create_ledger, *sizes, **options)


async def follow(reader: LedgerReader, found: list[bytes]) -> None:
    async for entry in reader.tail(0):
        found.append(entry.payload)


@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 2)])
def test_a_tail_follows_a_writer_to_the_end(client: OurClient, sizes: tuple[int, ...]) -> None:
    writer = create(client, *sizes)
    append(writer, [b"first"])
    reader = client.open_ledger(writer.ledger_id, recovery=False)
    found: list[bytes] = []

    async def write() -> None:
        for number in range(20):
            await writer.append(b"entry %d" % number)
            if number % 5 == 4:
                last = await writer.write_last_add_confirmed()
                assert await reader.wait_last_add_confirmed(last - 1) >= last
        await writer.close()

    async def both() -> None:
        spawn = make_driver().spawn
        await all_of([spawn(follow(reader, found)), spawn(write())])

    wait_for(both)
    assert found == [b"first", *(b"entry %d" % number for number in range(20))]


def test_a_wait_is_over_in_its_time(client: OurClient) -> None:
    writer = create(client, 3, 3, 2)
    append(writer, [b"a", b"b"])
    reader = client.open_ledger(writer.ledger_id, recovery=False)
    known = reader.last_add_confirmed
    assert wait_for(reader.wait_last_add_confirmed, known, 0.3) == known
    assert wait_for(reader.read_last_add_confirmed_and_entry, 7, 0.3) == (known, None)


@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 2)])
def test_batches_that_wait_follow_a_writer_to_the_end(client: OurClient, sizes: tuple[int, ...]) -> None:
    writer = create(client, *sizes)
    append(writer, [b"first"])
    reader = client.open_ledger(writer.ledger_id, recovery=False)
    found: list[bytes] = []

    async def write() -> None:
        for number in range(5):
            await writer.append_many([b"entry %d" % number] * 100)
            await writer.write_last_add_confirmed()
            assert await reader.wait_last_add_confirmed(writer.last_add_confirmed - 1) == writer.last_add_confirmed
        await writer.close()

    async def follow_in_batches() -> None:
        last = reader.last_add_confirmed
        while not reader.closed or last < reader.last_add_confirmed:
            for entry in await reader.read_batch(last + 1, previous_last_add_confirmed=last, timeout_s=30.0):
                last = entry.entry_id
                found.append(entry.payload)

    async def both() -> None:
        spawn = make_driver().spawn
        await all_of([spawn(follow_in_batches()), spawn(write())])

    wait_for(both)
    assert found[-500:] == [b"entry %d" % number for number in range(5) for _ in range(100)]
    assert not wait_for(reader.read_batch, 501, previous_last_add_confirmed=500, allow_fast_fail=True)
    assert len(wait_for(reader.read_batch, 0, allow_fast_fail=True)) >= 1


def test_what_a_writer_publishes_by_itself_is_seen(face: str, bookies: LocalCluster) -> None:
    with OurClient(bookies.metadata_uri, explicit_lac_interval_s=0.1) as client:
        writer = create(client, 3, 3, 2)
        append(writer, [b"a", b"b", b"c"])
        reader = client.open_ledger(writer.ledger_id, recovery=False)
        assert wait_for(reader.wait_last_add_confirmed, 1, 30.0) == 2
        wait_for(writer.close)


def test_deferred_syncs_are_confirmed_by_a_force(v3: OurClient) -> None:
    writer = create(v3, 3, 3, 2, deferred_sync=True)
    append(writer, [b"a", b"b"])
    assert writer.last_add_confirmed == -1
    wait_for(writer.force)
    assert writer.last_add_confirmed == 1
    append_and_close(writer, [b"c"])
    assert read(v3.open_ledger(writer.ledger_id), 0, 2) == [b"a", b"b", b"c"]


def test_v2_forces_but_defers_nothing(face: str, bookies: LocalCluster) -> None:
    with OurClient(bookies.metadata_uri, protocol="v2") as client:
        writer = create(client, 3, 3, 2)
        append(writer, [b"a"])
        wait_for(writer.force)
        with pytest.raises(IllegalOperation):
            create(client, 3, 3, 2, deferred_sync=True)


def test_each_bookie_lists_its_entries(client: OurClient) -> None:
    writer = create(client, 3, 2, 2)
    append_and_close(writer, [b"payload"] * 9)
    for index, bookie_id in enumerate(writer.metadata.last_fragment.ensemble):
        entries = wait_for(client.bookkeeper.entries_of, writer.ledger_id, bookie_id)
        assert list(entries) == [each for each in range(9) if index in (each % 3, (each + 1) % 3)]


def test_batches_are_read_over_v3(v3: OurClient) -> None:
    writer = create(v3, 3, 3, 2)
    payloads = [b"entry %d" % number for number in range(50)]
    append_and_close(writer, payloads)
    reader = v3.open_ledger(writer.ledger_id)
    assert wait_for(reader.read_batch, 0, fallback=False).payloads == payloads
    assert read(reader, 3, 49, batch=True) == payloads[3:]


def test_a_scoped_ledger_is_written_tailed_and_read(v3: OurClient) -> None:
    ledger_id = LedgerId.random()
    writer = create(v3, 3, 3, 2, ledger_id=ledger_id)
    append(writer, [b"first"])
    reader = v3.open_ledger(ledger_id, recovery=False)
    found: list[bytes] = []
    following = wait_for(lambda: [make_driver().spawn(follow(reader, found))])
    append(writer, [b"second", b"third"])
    wait_for(writer.force)
    wait_for(writer.close)
    wait_for(lambda: following[0])
    assert found == [b"first", b"second", b"third"]
    again = v3.open_ledger(ledger_id)
    assert wait_for(again.read_batch, 0, fallback=False).payloads == found
    bookie_id = writer.metadata.last_fragment.ensemble[0]
    assert list(wait_for(v3.bookkeeper.entries_of, ledger_id, bookie_id)) == [0, 1, 2]
    assert ledger_id not in wait_for(v3.bookkeeper.list_ledgers)
