"""Our client, speaking V3, on two bookies of ours and one of Java's: each is asked only for operations that it has."""

from collections.abc import Iterator

import pytest

from bookkeeper_tx.client.capability import Capability
from compat_tests.targets.payloads import pattern, patterns
from tests.integration.support.mixed_cluster import MixedCluster, mixed_cluster
from tests.integration.support.our_client import OurClient, append, append_and_close, poll, read, wait_for

pytestmark = [pytest.mark.java, pytest.mark.full]

COUNT = 600


@pytest.fixture(scope="module")
def mixed(java_release, zookeeper, tmp_path_factory) -> Iterator[MixedCluster]:
    with mixed_cluster(zookeeper, java_release, tmp_path_factory.mktemp("mixed")) as made:
        yield made


@pytest.fixture(scope="module")
def ours(mixed) -> Iterator[OurClient]:
    with OurClient(mixed.cluster.uri, protocol="v3") as client:
        yield client


def test_batch_read_goes_to_those_that_serve_it(mixed, ours):
    """Every bookie has every entry: ours, which say so in their registration, serve batches; Java's is asked once."""
    payloads = patterns(COUNT, 100)
    writer = ours.create_ledger(3, 3, 2)
    append_and_close(writer, payloads)
    reader = ours.open_ledger(writer.ledger_id)
    # Sixty starts: whichever bookie is first for an entry.
    for start in range(0, COUNT, 10):
        found = wait_for(reader.read_batch, start, max_count=10).payloads
        assert found == payloads[start : start + len(found)]
        assert found
    assert read(reader, 0, COUNT - 1, batch=True) == payloads
    capabilities = ours.bookkeeper._context.capabilities
    assert {capabilities.of(bookie_id, 0) for bookie_id in mixed.our_bookies.bookie_ids} == {Capability.SERVES}
    assert capabilities.of(mixed.java_bookie.bookie_id, 0) in (Capability.LACKS, Capability.UNKNOWN)
    assert len(writer.metadata.fragments) == 1


@pytest.mark.parametrize("quorum", [(3, 3, 2), (3, 2, 2)], ids="{0[0]}_{0[1]}_{0[2]}".format)
def test_deferred_sync(mixed, ours, quorum):
    """Forced on the bookies of both kinds before it is confirmed."""
    writer = wait_for(ours.bookkeeper.create_ledger, *quorum, deferred_sync=True)
    append(writer, patterns(60, 50))
    assert writer.last_add_confirmed == -1
    wait_for(writer.force)
    assert writer.last_add_confirmed == 59
    wait_for(writer.close)
    reader = mixed.java.open_ledger(writer.ledger_id)
    assert reader.read(0, 59) == patterns(60, 50)


def test_java_writes_with_deferred_sync(mixed, ours):
    java = mixed.java_targets.client(mixed.java.release)
    writer = java.create_ledger(3, 2, 2, deferred_sync=True)
    writer.append_many(60, 50)
    writer.force()
    assert writer.last_add_confirmed() == 59
    writer.append(b"60")
    reader = ours.open_ledger(writer.ledger_id, recovery=False)
    assert wait_for(reader.read_last_add_confirmed) == 59
    assert read(reader, 0, 59) == patterns(60, 50)


def test_tails_a_striped_ledger(mixed, ours):
    """The next entry is on some of the bookies, of either kind: the reader waits at all of them."""
    writer = mixed.java.create_ledger(3, 2, 2)
    writer.append(pattern(0, 30))
    reader = ours.open_ledger(writer.ledger_id, recovery=False)
    for index in range(12):
        answer = wait_for(lambda entry_id=index: [reader.read_last_add_confirmed_and_entry(entry_id, 30.0)])[0]
        writer.append(pattern(index + 1, 30))
        last_add_confirmed, entry = wait_for(lambda answer=answer: answer)
        assert last_add_confirmed >= index
        assert entry.payload == pattern(index, 30)
    writer.close()


def test_recovers_a_striped_ledger(mixed, ours):
    writer = mixed.java.create_ledger(3, 2, 2, password=b"secret")
    writer.append_many(200, 40)
    reader = ours.open_ledger(writer.ledger_id, password=b"secret")
    assert (reader.closed, reader.last_add_confirmed) == (True, 199)
    assert read(reader, 0, 199) == patterns(200, 40)


def test_publishes_its_last_add_confirmed_to_both(mixed, ours):
    writer = ours.create_ledger(3, 2, 2)
    append(writer, patterns(20, 40))
    assert wait_for(writer.write_last_add_confirmed) == 19
    java = mixed.java_targets.client(mixed.java.release)
    reader = java.open_ledger(writer.ledger_id, recovery=False)
    assert poll(lambda: reader.read_last_add_confirmed("explicit") == 19)
    assert reader.read(0, 19) == patterns(20, 40)
    wait_for(writer.close)
