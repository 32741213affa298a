"""Our client and a bookie over a link that has a bandwidth, and that may forget connections.

The plain run gives each case one face of the client, one after the other; ``--full`` gives all to each.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.errors import RequestTimedOut
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.payloads import patterns
from tests.integration.support.our_client import FACES, OurClient, append, append_and_close, read, wait_for
from tests.integration.support.slow_link import SlowLink, reached_over
from tests.sampling import in_turn, only

RATE = 2e6
TIMEOUT_S = 1.5
ENTRIES = 60
"""6 MB: the link takes twice the time-out for them."""

PAYLOADS = patterns(ENTRIES, 100_000)


@pytest.fixture(scope="module")
def bookies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=1) as cluster:
        yield cluster


@pytest.fixture
def near(face: str, bookies: LocalCluster) -> Iterator[OurClient]:
    """A client beside the bookie."""
    with OurClient(bookies.metadata_uri) as client:
        yield client


@pytest.fixture
def link(bookies: LocalCluster) -> Iterator[SlowLink]:
    with SlowLink(bookies.bookies[0].port, RATE) as link:
        yield link


@contextmanager
def far(bookies: LocalCluster, link: SlowLink, protocol: str = "v2", **settings: float) -> Iterator[OurClient]:
    """A client at the other end of the link."""
    links = dict.fromkeys(bookies.bookie_ids, link)
    with (
        reached_over(links, bookies.metadata_uri),
        OurClient(bookies.metadata_uri, protocol=protocol, **settings) as client,
    ):
        yield client


def confirmed(reader: LedgerReader) -> LedgerReader:
    assert wait_for(reader.read_last_add_confirmed) == ENTRIES - 1
    return reader


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "batch", "closed", "face"),
    in_turn([("v2", True, True), ("v2", False, False), ("v3", True, False), ("v3", False, True)], FACES),
    indirect=["face"],
)
def test_a_range_is_read_though_the_link_takes_longer_than_the_time_out(
    bookies: LocalCluster, near: OurClient, link: SlowLink, protocol: str, batch: bool, closed: bool
) -> None:
    writer = near.create_ledger()
    append(writer, PAYLOADS)
    if closed:
        wait_for(writer.close)
    else:
        append(writer, [b"so that the one before is confirmed"])
    with far(bookies, link, protocol, read_timeout_s=TIMEOUT_S) as client:
        reader = client.open_ledger(writer.ledger_id, recovery=False)
        if not closed:
            confirmed(reader)
        assert read(reader, 0, ENTRIES - 1, batch=batch) == PAYLOADS
    main = max(link.flows, key=lambda flow: flow.replies.count)
    assert main.bytes_in_flight_max <= RATE * TIMEOUT_S, "it all comes well before a time-out"
    asked = sum(flow.requests.count for flow in link.flows)
    assert asked <= ENTRIES + 10, "nothing is asked for twice"


@pytest.mark.slow
@pytest.mark.parametrize("face", only("blocking", FACES), indirect=True)
def test_an_iteration_is_given_what_comes(bookies: LocalCluster, near: OurClient, link: SlowLink) -> None:
    writer = near.create_ledger()
    append_and_close(writer, PAYLOADS)
    found: list[bytes] = []
    with far(bookies, link, read_timeout_s=TIMEOUT_S) as client:
        reader = client.open_ledger(writer.ledger_id)

        async def iterate() -> int:
            pieces = 0
            async for piece in reader.entries():
                found.extend(piece.payloads)
                pieces += 1
            return pieces

        assert wait_for(iterate) > 5
    assert found == PAYLOADS


@pytest.mark.slow
@pytest.mark.parametrize(("many", "face"), in_turn([(False,), (True,)], FACES, first=1), indirect=["face"])
def test_appends_go_on_though_the_link_takes_longer_than_the_time_out(
    bookies: LocalCluster, near: OurClient, link: SlowLink, many: bool
) -> None:
    with far(bookies, link, add_timeout_s=TIMEOUT_S) as client:
        writer = client.create_ledger()
        ids = wait_for(writer.append_many, PAYLOADS) if many else append(writer, PAYLOADS)
        assert list(ids) == list(range(ENTRIES))
        wait_for(writer.close)
    assert read(near.open_ledger(writer.ledger_id), 0, ENTRIES - 1, batch=True) == PAYLOADS


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "face"), in_turn([("v2",), ("v3",)], FACES, first=1), indirect=["face"])
def test_a_connection_that_the_link_has_forgotten_is_made_again(
    bookies: LocalCluster, near: OurClient, link: SlowLink, protocol: str
) -> None:
    writer = near.create_ledger()
    append_and_close(writer, [b"payload"])
    with far(bookies, link, protocol, read_timeout_s=TIMEOUT_S, add_timeout_s=TIMEOUT_S) as client:
        reader = client.open_ledger(writer.ledger_id)
        assert read(reader, 0, 0) == [b"payload"]
        (flow,) = link.flows
        flow.forget()
        with pytest.raises(RequestTimedOut):
            read(reader, 0, 0)
        assert read(reader, 0, 0) == [b"payload"]
        assert len(link.flows) == 2
