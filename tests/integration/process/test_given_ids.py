"""Writers of every face whose application gives the ids of the entries, on real bookies, one of which is killed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import DuplicateEntryId, LedgerClosed
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import OurClient, read, wait_for
from tests.sampling import only

SHUFFLED = [each * 37 % 100 for each in range(100)]
"""The ids 0 … 99."""


def payload(entry_id: int) -> bytes:
    return b"entry %d" % entry_id


@pytest.fixture
def cluster(tmp_path: Any) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path, bookie_count=4) as cluster:
        yield cluster


@pytest.mark.parametrize("protocol", only("v3", ["v2", "v3"]))
def test_ids_in_any_order_while_a_bookie_is_killed(face: str, cluster: LocalCluster, protocol: str) -> None:
    with OurClient(cluster.metadata_uri, protocol=protocol) as ours:
        writer = wait_for(ours.bookkeeper.create_ledger_adv, 3, 3, 3)

        async def begun() -> list[Any]:
            return [writer.append(each, payload(each)) for each in [101, *SHUFFLED] if each]

        async def ended(behind: Any, *others: Any) -> list[int]:
            others += (writer.append(0, payload(0)),)
            await writer.close()
            for gone in (behind, writer.append(100, b"late")):
                with pytest.raises(LedgerClosed):
                    await gone
            return [await each for each in others]

        promises = wait_for(begun)
        with pytest.raises(DuplicateEntryId):
            wait_for(writer.append, 101, b"again")
        killed = writer.metadata.last_fragment.ensemble[0]
        cluster.kill(cluster.index_of(killed))
        assert sorted(wait_for(ended, *promises)) == list(range(100))
        assert killed not in writer.metadata.last_fragment.ensemble
        reader = ours.open_ledger(writer.ledger_id)
        assert (reader.last_add_confirmed, reader.length) == (99, sum(len(payload(each)) for each in SHUFFLED))
        assert read(reader, 0, 99) == [payload(each) for each in range(100)]


@pytest.mark.full
def test_a_payload_may_be_changed_as_soon_as_it_was_taken(cluster: LocalCluster) -> None:
    with BookKeeper(cluster.metadata_uri) as bk:
        with bk.create_ledger_adv(1, 1, 1) as writer:
            changed = bytearray(1)
            for number in range(200):
                changed[:] = bytes([number])
                writer.append_later(number, changed)
        with bk.open_ledger(writer.ledger_id) as reader:
            assert [entry.payload for entry in reader] == [bytes([number]) for number in range(200)]


@pytest.mark.full
def test_threads_give_ids_to_a_writer_whose_calls_wait(cluster: LocalCluster) -> None:
    with BookKeeper(cluster.metadata_uri, ClientConfig(add_timeout_s=30.0)) as bk:
        with bk.create_ledger_adv(3, 3, 2) as writer, ThreadPoolExecutor(100) as threads:
            ids = list(threads.map(lambda each: writer.append(each, payload(each)), SHUFFLED))
            with pytest.raises(DuplicateEntryId):
                writer.append(99, b"again")
            later = writer.append_later(101, b"behind the gap")
        assert ids == SHUFFLED
        with pytest.raises(LedgerClosed, match="entry 100"):
            later.result()
        with bk.open_ledger(writer.ledger_id) as reader:
            assert [entry.payload for entry in reader] == [payload(each) for each in range(100)]
