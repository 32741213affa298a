"""Reading a ledger that is still being written."""

from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.client.read_striped import StripedPrefixRead
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    InvalidArgument,
    NoSuchEntry,
    RequestTimedOut,
    Unauthorized,
)
from bookkeeper_tx.model import Fragment
from tests.client.open_ledgers import tailed


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


@pytest.mark.parametrize("batch", [True, False])
def test_the_reader_of_a_closed_ledger_finds_the_copies_on_other_bookies(batch: bool) -> None:
    """As autorecovery makes them."""
    cluster, writer, _ = tailed((2, 2, 2))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    ensemble = writer.metadata.last_fragment.ensemble
    others = sorted(set(cluster.bookies) - set(ensemble))[:2]
    for bookie_id, other in zip(ensemble, others, strict=True):
        cluster.bookies[other].ledgers[writer.ledger_id] = cluster.bookies[bookie_id].ledgers[writer.ledger_id]
        cluster.bookies[bookie_id].down = True
    versioned = cluster.state.ledgers[writer.ledger_id]
    moved = evolve(versioned.metadata, fragments=(Fragment(0, tuple(others)),))
    cluster.state.ledgers[writer.ledger_id] = evolve(versioned, metadata=moved, version=versioned.version + 1)
    expected = [b"entry %d" % index for index in range(5)]
    assert cluster.result(reader.read(0, 4, batch=batch)).payloads == expected
    assert cluster.result(reader.read_entry(2)).payload == expected[2]


def test_reads_that_fail_together_read_the_metadata_once() -> None:
    cluster, writer, _ = tailed((2, 2, 2))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    for bookie in cluster.bookies.values():
        bookie.down = True
    failures: list[Any] = []
    for entry_id in range(5):
        reader.read_entry(entry_id).addErrback(failures.append)
    asked = 0
    while cluster.network.messages:
        asked += cluster.network.messages[0].text == "request store read"
        cluster.network.deliver()
    assert ([failure.type for failure in failures], asked) == ([BookieUnavailable] * 5, 1)


def test_striped_ledgers_read_the_same() -> None:
    cluster, writer, _ = tailed((4, 2, 2), 50)
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    expected = [b"entry %d" % index for index in range(50)]
    assert cluster.result(reader.read(0, 49)).payloads == expected
    assert cluster.result(reader.read_batch(3, 10)).payloads == expected[3:13]
    assert [each.entry_id for each in cluster.result(reader.read(5, 8))[1:3]] == [6, 7]


def test_of_a_striped_ledger_the_last_entries_are_dropped_if_they_become_larger() -> None:
    cluster, writer, _ = tailed((4, 2, 2), 50)
    cluster.result(writer.append_many([b"x" * 10_000] * 50))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    reader.window.entry_size = 50.0
    sizes = [len(cluster.result(reader.read_batch(40, 60, size)).payloads) for size in (5_000, 25_000, 10**6)]
    assert sizes == [10, 12, 60]
    reader.window.entry_size = 50.0
    read = StripedPrefixRead(reader, 40, 99, 25_000, lambda *_: None)
    read.start()
    while cluster.network.messages:
        cluster.network.deliver()
        assert sum(map(len, read._entries)) <= 25_000


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


def test_the_length_of_a_ledger_that_is_being_written_is_that_of_its_confirmed_entries() -> None:
    cluster, writer, reader = tailed((3, 3, 2), 3)
    confirmed = [b"entry 0", b"entry 1"]  # the third one confirms the second
    assert reader.length == 0
    assert cluster.result(reader.read_length()) == sum(map(len, confirmed))
    assert reader.last_add_confirmed == 1
    cluster.result(writer.close())
    assert cluster.result(reader.read_length()) == reader.length == writer.length == 21


def test_the_length_of_a_ledger_without_confirmed_entries_is_nothing() -> None:
    cluster, _, reader = tailed((3, 3, 2), 0)
    assert cluster.result(reader.read_length()) == 0
