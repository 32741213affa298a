"""Reading one entry: the bookies that are asked, and their order."""

import pytest

from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    ClientClosed,
    NoSuchEntry,
    ProtocolViolation,
    RequestTimedOut,
    StorageFailed,
    TlsFailed,
    TooManyRequests,
)
from tests.client.open_ledgers import tailed


def test_a_single_read_finds_them_too() -> None:
    cluster, writer, reader = tailed((2, 2, 2))
    for bookie in writer.metadata.last_fragment.ensemble:
        cluster.bookies[bookie].down = True
    cluster.result(writer.append_many([b"y"] * 5))
    reader._last_add_confirmed = 9
    assert cluster.result(reader.read_entry(7)).payload == b"y"


@pytest.mark.parametrize(
    "error", [BookieUnavailable(), RequestTimedOut(), ProtocolViolation(), TlsFailed(), TooManyRequests()]
)
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


@pytest.mark.parametrize("how", ["entry", "batch", "singles"])
def test_no_other_bookie_is_asked_by_a_client_that_is_closed(how: str) -> None:
    """Nor at the end of an event loop, which has cancelled the connection: another one would be left behind."""
    cluster, writer, _ = tailed()
    cluster.result(writer.append(b"x"))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    for bookie in cluster.bookies.values():
        bookie.requests.clear()
        bookie.fails = ClientClosed()
    with pytest.raises(ClientClosed):
        cluster.result(reader.read_entry(0) if how == "entry" else reader.read(0, 0, batch=how == "batch"))
    assert sum(len(bookie.requests) for bookie in cluster.bookies.values()) == 1


@pytest.mark.parametrize("telling", [0, 1, 2])
@pytest.mark.parametrize(
    ("most", "others"),
    [
        (StorageFailed, [BookieUnavailable, NoSuchEntry]),
        (RequestTimedOut, [NoSuchEntry, NoSuchEntry]),
        (StorageFailed, [NoSuchEntry, NoSuchEntry]),
    ],
)
def test_when_all_bookies_have_failed_the_most_telling_error_is_raised(
    most: type[BookKeeperError], others: list[type[BookKeeperError]], telling: int
) -> None:
    """Whichever bookie has given it: that an entry is nowhere is said only if every bookie says so."""
    cluster, writer, _ = tailed()
    cluster.result(writer.append(b"x"))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    errors = list(others)
    errors.insert(telling, most)
    for bookie_id, error in zip(reader.metadata.last_fragment.ensemble, errors, strict=True):
        cluster.bookies[bookie_id].fails = error()
    with pytest.raises(most):
        cluster.result(reader.read_entry(0))
