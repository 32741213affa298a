"""Ledgers that a writer of one kind left open, recovered by a client of the other kind, on bookies of both kinds."""

from collections.abc import Iterator

import pytest

from bookkeeper_tx.errors import LedgerFenced
from bookkeeper_tx.model import DigestType
from compat_tests.targets.java.client import JavaClient, JavaError
from compat_tests.targets.java.ledger import parse_append_result
from compat_tests.targets.payloads import hash_of, pattern, patterns
from tests.integration.support.mixed_cluster import MixedCluster, mixed_cluster
from tests.integration.support.our_client import OurClient, append, poll, read, wait_for

pytestmark = pytest.mark.java

FENCED = -101
NOT_ENOUGH_BOOKIES = -6

#: The errors of a Java writer that is fenced. If a fenced bookie first refuses a lagging add that others acknowledged,
#: the writer looks for another bookie, whatever the reason of the refusal.
TAKEN_OVER = (FENCED, NOT_ENOUGH_BOOKIES)

quorums = pytest.mark.parametrize("quorum", [(3, 3, 2), (3, 2, 2)], ids="{0[0]}_{0[1]}_{0[2]}".format)


@pytest.fixture(scope="module")
def mixed(java_release, zookeeper, tmp_path_factory) -> Iterator[MixedCluster]:
    with mixed_cluster(zookeeper, java_release, tmp_path_factory.mktemp("mixed")) as made:
        yield made


@quorums
def test_ours_takes_over_from_a_java_writer(mixed, quorum):
    writer = mixed.java.create_ledger(*quorum, password=b"secret")
    writer.append_many(200, 50)
    reader = mixed.ours.open_ledger(writer.ledger_id, password=b"secret")
    assert (reader.closed, reader.last_add_confirmed, reader.length) == (True, 199, 200 * 50)
    assert read(reader, 0, 199, batch=True) == patterns(200, 50)
    with pytest.raises(JavaError) as fenced:
        writer.append(b"too late")
    assert fenced.value.code in TAKEN_OVER
    assert mixed.java.open_ledger(writer.ledger_id, password=b"secret").opened_at == 199


@quorums
def test_java_takes_over_from_our_writer(mixed, quorum):
    writer = mixed.ours.create_ledger(*quorum, password=b"secret")
    append(writer, patterns(200, 50))
    reader = mixed.java.open_ledger(writer.ledger_id, password=b"secret")
    assert reader.opened_at == 199
    assert reader.read_hash(0, 199) == (200, hash_of(patterns(200, 50)))
    with pytest.raises(LedgerFenced):
        append(writer, [b"too late"])
    metadata = mixed.ours.metadata(writer.ledger_id)
    assert (metadata.closed, metadata.last_entry_id, metadata.length) == (True, 199, 200 * 50)


@pytest.mark.full
def test_ours_takes_over_while_a_java_writer_writes(mixed):
    """Every entry acknowledged to Java's writer before the fence is in the ledger, and no entry is in two states."""
    writer = mixed.java.create_ledger(3, 3, 2)
    writing = writer.append_many_later(1_000_000, 50, outstanding=200)
    assert poll(lambda: mixed.ours.open_ledger(writer.ledger_id, recovery=False).last_add_confirmed > 500)
    reader = mixed.ours.open_ledger(writer.ledger_id)
    with pytest.raises(JavaError) as fenced:
        writing.result(60)
    assert fenced.value.code in TAKEN_OVER
    last = reader.last_add_confirmed
    assert last + 1 >= parse_append_result(fenced.value.fields).acknowledged > 500
    assert read(reader, 0, last, batch=True) == patterns(last + 1, 50)
    assert mixed.java.open_ledger(writer.ledger_id).opened_at == last


def test_java_takes_over_while_our_writer_writes(mixed):
    writer = mixed.ours.create_ledger(3, 3, 2)
    acknowledged = []

    def keep_writing(index: int) -> None:
        appended = writer.append(pattern(index, 50))
        appended.addCallbacks(lambda entry: (acknowledged.append(entry), keep_writing(entry + 200)), ended.append)

    ended: list[object] = []
    wait_for(lambda: [keep_writing(index) for index in range(200)])
    assert poll(lambda: len(acknowledged) > 500)
    reader = mixed.java.open_ledger(writer.ledger_id)
    assert poll(lambda: len(ended) == 200)
    assert {failure.type for failure in ended} == {LedgerFenced}
    last = reader.opened_at
    assert acknowledged == list(range(len(acknowledged)))
    assert last + 1 >= len(acknowledged)
    assert reader.read_hash(0, last) == (last + 1, hash_of(patterns(last + 1, 50)))
    assert mixed.ours.open_ledger(writer.ledger_id).last_add_confirmed == last


@pytest.mark.full
@pytest.mark.parametrize("digest", ["CRC32", "MAC", "DUMMY"])
def test_digests(mixed, digest):
    by_java = mixed.java.create_ledger(3, 3, 2, digest=digest, password=b"secret")
    by_java.append_many(20, 50)
    by_us = mixed.ours.create_ledger(3, 3, 2, digest=DigestType[digest], password=b"secret")
    append(by_us, patterns(20, 50))
    reader = mixed.ours.open_ledger(by_java.ledger_id, password=b"secret")
    assert read(reader, 0, reader.last_add_confirmed) == patterns(20, 50)
    java = mixed.java.open_ledger(by_us.ledger_id, digest=digest, password=b"secret")
    assert java.read(0, java.opened_at) == patterns(20, 50)


@pytest.mark.full
def test_empty_ledgers(mixed):
    by_java, by_us = mixed.java.create_ledger(3, 3, 2), mixed.ours.create_ledger(3, 3, 2)
    assert mixed.ours.open_ledger(by_java.ledger_id).last_add_confirmed == -1
    assert mixed.java.open_ledger(by_us.ledger_id).opened_at == -1
    with pytest.raises(JavaError) as fenced:
        by_java.append(b"too late")
    assert fenced.value.code == FENCED
    with pytest.raises(LedgerFenced):
        append(by_us, [b"too late"])


@pytest.mark.full
@pytest.mark.parametrize("gone", ["ours", "java"])
def test_with_a_bookie_gone(java_release, zookeeper, tmp_path, gone):
    """A bookie is lost together with both writers; the fourth takes its place when the last entry is written back."""
    with mixed_cluster(zookeeper, java_release, tmp_path, our_count=3) as mixed:
        victim = mixed.java_bookie.bookie_id if gone == "java" else mixed.our_bookies.bookie_ids[0]
        with JavaClient(java_release, mixed.cluster, tmp_path, v2=True) as killed, OurClient(mixed.cluster.uri) as left:
            by_java = killed.create_ledger(3, 3, 2)
            while victim not in mixed.ours.metadata(by_java.ledger_id).last_fragment.ensemble:
                by_java = killed.create_ledger(3, 3, 2)
            by_us = left.create_ledger(3, 3, 2)
            while victim not in by_us.metadata.last_fragment.ensemble:
                by_us = left.create_ledger(3, 3, 2)
            by_java.append_many(100, 50)
            append(by_us, patterns(100, 50))
            killed.kill()
        if gone == "java":
            mixed.java_bookie.kill()
        else:
            mixed.our_bookies.kill(0)
        mixed.cluster.unregister(victim)

        reader = mixed.ours.open_ledger(by_java.ledger_id)
        assert reader.last_add_confirmed == 99
        assert read(reader, 0, 99, batch=True) == patterns(100, 50)
        java = mixed.java.open_ledger(by_us.ledger_id)
        assert java.opened_at == 99
        assert java.read_hash(0, 99) == (100, hash_of(patterns(100, 50)))
