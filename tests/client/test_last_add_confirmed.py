"""A reader's request for the last add confirmed."""

import gc
from weakref import ref

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    BookieUnavailable,
    InvalidArgument,
    MetadataUnavailable,
    NoSuchEntry,
)
from bookkeeper_tx.model import Entry
from tests.client.open_ledgers import tailed


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_the_last_add_confirmed_trails_by_what_no_entry_tells_yet(protocol: str) -> None:
    cluster, writer, _ = tailed()
    client = cluster.client(ClientConfig(protocol=protocol))
    reader = cluster.result(client.open_ledger_no_recovery(writer.ledger_id, b"pw"))
    for entry_id in range(5, 8):
        cluster.result(writer.append(b"more"))
        cluster.network.run()
        assert cluster.result(reader.read_last_add_confirmed()) == entry_id - 1
    assert not reader.closed
    with pytest.raises(InvalidArgument, match="entry_id 7"):
        cluster.result(reader.read_entry(7))
    assert cluster.result(reader.read_entry(6)) == Entry(0, 6, b"more", 5, 43)
    assert cluster.result(reader.read_unconfirmed(5, 7)).payloads == [b"more"] * 3
    assert cluster.result(reader.read_batch_unconfirmed(5)).payloads == [b"more"] * 3
    with pytest.raises(NoSuchEntry):
        cluster.result(reader.read_unconfirmed(8, 9))


def test_a_reader_notices_that_the_ledger_was_closed() -> None:
    cluster, writer, reader = tailed()
    cluster.result(writer.append(b"last"))
    cluster.result(writer.close())
    assert cluster.result(reader.read_last_add_confirmed()) == 5
    assert reader.closed
    assert reader.length == writer.length
    with pytest.raises(InvalidArgument):
        cluster.result(reader.read_unconfirmed(5, 6))


@pytest.mark.parametrize("ends", ["reader", "ledger"])
def test_a_reader_watches_its_ledger_until_either_is_closed(ends: str) -> None:
    cluster, writer, reader = tailed()
    assert len(cluster.state.watchers) == 1
    gone = ref(reader)
    if ends == "reader":
        reader.close()
    else:
        cluster.result(writer.close())
        cluster.result(reader.read_last_add_confirmed())
    assert cluster.state.watchers == []
    del reader
    gc.collect()
    assert gone() is None


def test_a_closed_ledger_tells_its_end_without_its_bookies() -> None:
    cluster, writer, reader = tailed()
    cluster.result(writer.close())
    for bookie in cluster.bookies.values():
        bookie.down = True
    assert cluster.result(reader.read_last_add_confirmed()) == 4
    assert reader.closed


def test_a_change_that_could_not_be_read_is_read_the_next_time() -> None:
    cluster, writer, reader = tailed()
    cluster.result(writer.close())
    reading = reader.read_last_add_confirmed()
    cluster.network.lose(cluster.network.find("store read"))
    with pytest.raises(MetadataUnavailable):
        cluster.result(reading)
    assert cluster.result(reader.read_last_add_confirmed()) == 4
    assert reader.closed


def test_all_bookies_are_asked_at_once_and_it_is_known_when_enough_have_answered() -> None:
    cluster, writer, reader = tailed()
    cluster.network.run()
    reading = reader.read_last_add_confirmed()
    ensemble = writer.metadata.last_fragment.ensemble
    assert [each.bookie_id for each in cluster.network.messages] == list(ensemble)
    for bookie in ensemble[1:]:
        assert not reading.called
        cluster.network.deliver(cluster.network.find(f"request {bookie} read"))
        cluster.network.deliver(cluster.network.find(f"reply {bookie} read"))
    assert reading.result == 3
    assert [each.bookie_id for each in cluster.network.messages] == list(ensemble[:1])


@pytest.mark.parametrize("down", [1, 2])
def test_the_last_add_confirmed_needs_a_covering_set(down: int) -> None:
    cluster, writer, reader = tailed()
    for bookie in writer.metadata.last_fragment.ensemble[:down]:
        cluster.bookies[bookie].down = True
    if down == 1:
        assert cluster.result(reader.read_last_add_confirmed()) == 3
    else:
        with pytest.raises(BookieUnavailable, match="too few bookies answered"):
            cluster.result(reader.read_last_add_confirmed())
