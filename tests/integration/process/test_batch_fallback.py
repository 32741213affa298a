"""A batch read to a bookie without it breaks no add, though hundreds are on their way when the bookie closes."""

from collections.abc import Iterator

import pytest
from twisted.internet import reactor, task
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.capability import Capability
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BatchReadNotSupported, BookieUnavailable
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.transport.blocking import BlockingChannel
from compat_tests.targets.payloads import pattern, patterns
from tests.integration.support.append_stream import AppendStream
from tests.integration.support.our_client import OurClient, append_and_close, poll, read, wait_for

OUTSTANDING_MIN = 200
WINDOW = 400


async def _probe(ours: OurClient, stream: AppendStream, ledger_id: int) -> list[bytes]:
    """Read by batch amid the appends; everything happens on the reactor thread, so nothing slips in between."""
    reader = await ours.bookkeeper.open_ledger(ledger_id)
    stream.start()
    while len(stream.acknowledged) < WINDOW:
        await task.deferLater(reactor, 0.01)
    stream.outstanding_min = WINDOW
    with pytest.raises(BatchReadNotSupported):
        await reader.read_batch(0, fallback=False)
    entries = await reader.read_batch(0)
    outstanding_min = stream.outstanding_min
    assert outstanding_min >= OUTSTANDING_MIN
    return list(entries.payloads)


def _falls_back_amid_appends(uri: str, bookie_id: str) -> None:
    with OurClient(uri) as ours:
        closed = ours.create_ledger()
        append_and_close(closed, patterns(50, 20))

        stream = AppendStream(ours.create_ledger(), lambda index: pattern(index, 100), WINDOW)
        found = wait_for(lambda: Deferred.fromCoroutine(_probe(ours, stream, closed.ledger_id)))
        assert found == patterns(50, 20)[: len(found)]
        assert ours.bookkeeper._context.capabilities.of(bookie_id, 0) is Capability.LACKS

        wait_for(stream.stop)
        assert stream.error is None
        assert stream.acknowledged == list(range(stream.sent))
        assert len(stream.writer.metadata.fragments) == 1
        wait_for(stream.writer.close)
        metadata = ours.metadata(stream.writer.ledger_id)
        assert (len(metadata.fragments), metadata.last_entry_id) == (1, stream.sent - 1)
        reader = ours.open_ledger(stream.writer.ledger_id)
        assert read(reader, 0, stream.sent - 1, batch=True) == patterns(stream.sent, 100)


def _closes_the_connection(port: int) -> None:
    """The reason for the fallback: such a bookie closes the connection, and every other request on it is lost."""
    with BlockingChannel("127.0.0.1", port, ClientConfig()) as channel, pytest.raises(BookieUnavailable):
        channel.batch_read(1, 0, 1, 1000)


@pytest.mark.releases(until="4.16")
def test_on_java(java_release, java_bookie, cluster):
    bookie = java_bookie(java_release)
    _closes_the_connection(bookie.port)
    _falls_back_amid_appends(cluster.uri, bookie.bookie_id)


@pytest.fixture(scope="module")
def imitation(tmp_path_factory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("ours"), 0) as ours:
        ours.add_bookie(wire_compat="4.16")
        yield ours


def test_on_ours_that_imitates_4_16(imitation):
    _closes_the_connection(imitation.bookies[0].port)
    _falls_back_amid_appends(imitation.metadata_uri, imitation.bookie_ids[0])


def test_upgraded_bookie_is_found_again(tmp_path):
    """The same bookie, started with batch read: the client notices when its knowledge expires."""
    with LocalCluster(tmp_path, 0) as ours:
        ours.add_bookie(wire_compat="4.16")
        with OurClient(ours.metadata_uri, batch_read_capability_expiry_s=1) as client:
            writer = client.create_ledger()
            append_and_close(writer, patterns(50, 20))
            reader = client.open_ledger(writer.ledger_id)
            with pytest.raises(BatchReadNotSupported):
                wait_for(reader.read_batch, 0, fallback=False)
            ours.restart(0)
            assert poll(lambda: _serves(reader))


def _serves(reader) -> bool:
    try:
        return wait_for(reader.read_batch, 0, fallback=False).payloads == patterns(50, 20)
    except (BatchReadNotSupported, BookieUnavailable):
        return False
