"""Ledgers on two bookies of ours and one of Java's: written by either client, read by the other."""

from collections.abc import Iterator

import pytest

from bookkeeper_tx.client.capability import Capability
from compat_tests.targets.lockfile import release_number
from compat_tests.targets.payloads import hash_of, patterns
from tests.integration.support.mixed_cluster import MixedCluster, mixed_cluster
from tests.integration.support.our_client import OurClient, append, append_and_close, read, wait_for

pytestmark = pytest.mark.java

COUNT = 600

#: Ensemble, write quorum, ack quorum: all everywhere; striped with copies; every entry on one bookie only.
quorums = pytest.mark.parametrize("quorum", [(3, 3, 2), (3, 2, 2), (3, 1, 1)], ids="{0[0]}_{0[1]}_{0[2]}".format)


@pytest.fixture(scope="module")
def mixed(java_release, zookeeper, tmp_path_factory) -> Iterator[MixedCluster]:
    with mixed_cluster(zookeeper, java_release, tmp_path_factory.mktemp("mixed")) as made:
        yield made


@pytest.mark.full
@quorums
def test_ours_writes_and_java_reads(mixed, quorum):
    payloads = patterns(COUNT, 100, seed=5)
    writer = mixed.ours.create_ledger(*quorum, password=b"secret")
    append_and_close(writer, payloads)
    assert [set(fragment.ensemble) for fragment in writer.metadata.fragments] == [mixed.bookie_ids]
    reader = mixed.java.open_ledger(writer.ledger_id, password=b"secret")
    assert reader.opened_at == COUNT - 1
    assert reader.read_hash(0, COUNT - 1) == (COUNT, hash_of(payloads))
    metadata = mixed.java.metadata(writer.ledger_id)
    assert (metadata.ensemble, metadata.write, metadata.ack) == quorum


@quorums
def test_java_writes_and_ours_reads(mixed, quorum):
    payloads = patterns(COUNT, 100, seed=6)
    writer = mixed.java.create_ledger(*quorum, password=b"secret")
    writer.append_many(COUNT, 100, seed=6)
    writer.close()
    reader = mixed.ours.open_ledger(writer.ledger_id, password=b"secret")
    assert (reader.last_add_confirmed, reader.length) == (COUNT - 1, COUNT * 100)
    assert [set(fragment.ensemble) for fragment in reader.metadata.fragments] == [mixed.bookie_ids]
    assert read(reader, 0, COUNT - 1) == read(reader, 0, COUNT - 1, batch=True) == payloads


@pytest.mark.releases(since="4.17")
def test_java_reads_in_batches(mixed):
    payloads = patterns(COUNT, 100)
    writer = mixed.ours.create_ledger(3, 3, 3)
    append_and_close(writer, payloads)
    reader = mixed.java.open_ledger(writer.ledger_id)
    for start in range(0, COUNT, 60):  # each from another bookie first
        assert reader.batch_read(start, 50) == payloads[start : start + 50]


@pytest.mark.full
def test_every_bookie_serves_or_lacks_batch_read(java_release, mixed):
    """One ledger a bookie, so that each is asked; reads come out the same."""
    lacks = Capability.LACKS if release_number(java_release) < (4, 17) else Capability.SERVES
    with OurClient(mixed.cluster.uri) as ours:
        while len(_known(ours, mixed)) < 3:
            writer = ours.create_ledger()
            append_and_close(writer, patterns(20, 10))
            assert read(ours.open_ledger(writer.ledger_id), 0, 19, batch=True) == patterns(20, 10)
        assert _known(ours, mixed) == {
            **dict.fromkeys(mixed.our_bookies.bookie_ids, Capability.SERVES),
            mixed.java_bookie.bookie_id: lacks,
        }


def _known(ours, mixed):
    capabilities = ours.bookkeeper._context.capabilities
    found = {bookie_id: capabilities.of(bookie_id, 0) for bookie_id in mixed.bookie_ids}
    return {bookie_id: known for bookie_id, known in found.items() if known is not Capability.UNKNOWN}


def test_ensembles_change_between_the_two_kinds(java_release, zookeeper, tmp_path):
    """Three bookies of ours and one of Java's: one is killed during each write, and the fourth takes its place."""
    with mixed_cluster(zookeeper, java_release, tmp_path, our_count=3) as mixed:
        our_writer, java_writer = mixed.ours.create_ledger(3, 3, 3), mixed.java.create_ledger(3, 3, 3)
        append(our_writer, patterns(100, 50))
        java_writer.append_many(100, 50)
        # One of ours that both ledgers have: of three bookies out of four each, they share two at least.
        used = set(our_writer.metadata.last_fragment.ensemble)
        used &= set(mixed.java.metadata(java_writer.ledger_id).fragments[0])
        victim = next(iter(used & set(mixed.our_bookies.bookie_ids)))
        mixed.our_bookies.kill(mixed.our_bookies.index_of(victim))
        mixed.cluster.unregister(victim)

        append(our_writer, patterns(100, 50, index=100))
        java_writer.append_many(100, 50, index=100)
        wait_for(our_writer.close)
        java_writer.close()
        for ledger_id in (our_writer.ledger_id, java_writer.ledger_id):
            fragments = mixed.ours.metadata(ledger_id).fragments
            assert len(fragments) == 2
            assert set(fragments[1].ensemble) == mixed.bookie_ids - {victim}
            assert read(mixed.ours.open_ledger(ledger_id), 0, 199, batch=True) == patterns(200, 50)
            assert mixed.java.open_ledger(ledger_id).read_hash(0, 199) == (200, hash_of(patterns(200, 50)))


@pytest.mark.full
def test_a_killed_java_bookie_is_replaced_and_read_around(java_release, zookeeper, tmp_path):
    with mixed_cluster(zookeeper, java_release, tmp_path, our_count=3) as mixed:
        writers = []
        while len(writers) < 2:
            writer = mixed.ours.create_ledger(3, 3, 2)
            if mixed.java_bookie.bookie_id in writer.metadata.last_fragment.ensemble:
                writers.append(writer)
        for writer in writers:
            append(writer, patterns(100, 50))
        mixed.java_bookie.kill(expire=True)
        for writer in writers:
            append(writer, patterns(100, 50, index=100))
        wait_for(writers[0].close)
        for writer in writers:  # the second one is recovered with a bookie of its first fragment gone
            reader = mixed.ours.open_ledger(writer.ledger_id)
            assert read(reader, 0, 199, batch=True) == patterns(200, 50)
            assert set(reader.metadata.last_fragment.ensemble) == set(mixed.our_bookies.bookie_ids)
            java = mixed.java.open_ledger(writer.ledger_id)
            assert java.read_hash(0, 199) == (200, hash_of(patterns(200, 50)))
