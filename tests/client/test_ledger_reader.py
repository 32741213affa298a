"""Reading a ledger that is still being written."""

from typing import Any

import pytest

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    InvalidArgument,
    MetadataUnavailable,
    NoSuchEntry,
    RequestTimedOut,
    Unauthorized,
)
from bookkeeper_tx.model import Entry
from tests.client.puppets import Cluster


def tailed(sizes: tuple[int, int, int] = (3, 3, 2), entries: int = 5) -> tuple[Cluster, LedgerWriter, LedgerReader]:
    """Return a cluster, a writer that has appended ``entries``, and a reader opened without recovery."""
    cluster = Cluster()
    writer = cluster.result(cluster.client().create_ledger(*sizes, password=b"pw"))
    for index in range(entries):
        cluster.result(writer.append(b"entry %d" % index))
    cluster.network.run()
    reader = cluster.result(cluster.client().open_ledger_no_recovery(writer.ledger_id, b"pw"))
    return cluster, writer, reader


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


@pytest.mark.parametrize("batch", [True, False])
def test_a_reader_finds_entries_that_were_written_to_other_bookies_since(batch: bool) -> None:
    cluster, writer, reader = tailed((2, 2, 2))
    cluster.result(reader.read_last_add_confirmed())
    for bookie in writer.metadata.last_fragment.ensemble:
        cluster.bookies[bookie].down = True
    cluster.result(writer.append_many([b"y"] * 5))
    reader._last_add_confirmed = 9
    for bookie in cluster.bookies.values():
        bookie.down = False
    assert cluster.result(reader.read(0, 9, batch=batch)).payloads[5:] == [b"y"] * 5
    assert len(reader.metadata.fragments) == 2


def test_a_single_read_finds_them_too() -> None:
    cluster, writer, reader = tailed((2, 2, 2))
    for bookie in writer.metadata.last_fragment.ensemble:
        cluster.bookies[bookie].down = True
    cluster.result(writer.append_many([b"y"] * 5))
    reader._last_add_confirmed = 9
    assert cluster.result(reader.read_entry(7)).payload == b"y"


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


@pytest.mark.parametrize("error", [BookieUnavailable(), RequestTimedOut()])
def test_a_bookie_that_failed_is_asked_last_for_a_while(error: BookKeeperError) -> None:
    cluster, writer, _ = tailed()
    cluster.result(writer.append(b"x"))
    cluster.result(writer.close())
    client = cluster.client()
    reader = cluster.result(client.open_ledger(writer.ledger_id, b"pw"))
    first = reader.metadata.last_fragment.ensemble[0]
    cluster.bookies[first].fails = error
    for _ in range(3):
        assert cluster.result(reader.read_entry(0)).payload == b"entry 0"
    asked = [each for each in cluster.bookies[first].requests if "read 0/0" in each]
    assert len(asked) == 1
    cluster.clock.advance(31)
    cluster.result(reader.read_entry(0))
    asked = [each for each in cluster.bookies[first].requests if "read 0/0" in each]
    assert len(asked) == 2


def test_striped_ledgers_read_the_same() -> None:
    cluster, writer, _ = tailed((4, 2, 2), 50)
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    expected = [b"entry %d" % index for index in range(50)]
    assert cluster.result(reader.read(0, 49)).payloads == expected
    assert cluster.result(reader.read_batch(3, 10)).payloads == expected[3:13]
    assert [each.entry_id for each in cluster.result(reader.read(5, 8))[1:3]] == [6, 7]


@pytest.mark.parametrize("value", ["1", 1.0, None])
def test_entry_ids_are_integers(value: Any) -> None:
    cluster, _, reader = tailed()
    for reading in (
        lambda: reader.read_entry(value),
        lambda: reader.read(value, 2),
        lambda: reader.read(0, value),
        lambda: reader.read_unconfirmed(0, value),
    ):
        with pytest.raises(InvalidArgument, match="must be an integer"):
            cluster.result(reading())


def test_wrong_password() -> None:
    cluster, writer, _ = tailed()
    with pytest.raises(Unauthorized, match="wrong password"):
        cluster.result(cluster.client().open_ledger_no_recovery(writer.ledger_id, b"other"))


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("error", [RequestTimedOut(), NoSuchEntry(), BookieUnavailable()])
def test_an_error_of_a_read_says_what_was_read_and_where(batch: bool, error: BookKeeperError) -> None:
    cluster, _, reader = tailed()
    for bookie in cluster.bookies.values():
        bookie.fails = error
    for read in (lambda: reader.read_entry(2), lambda: reader.read(2, 3, batch)):
        with pytest.raises(type(error), match=r"entry 2 of ledger 0 on bookie b\d: "):
            cluster.result(read())
