"""The real Java client of every release, in both protocol versions, on bookies of ours."""

from collections.abc import Iterator

import pytest
from attrs import frozen

from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.client import JavaClient, JavaError
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.payloads import hash_of, patterns
from tests.integration.support.our_client import poll

pytestmark = pytest.mark.java

FENCED = -101
UNAUTHORIZED = -102


@frozen
class Site:
    """A bookie of ours, and clients of one release: one in each protocol version, started at first use."""

    bookie: LocalBookie
    cluster: Cluster
    java_targets: JavaTargets
    release: str
    clients: dict[str, JavaClient]

    def client(self, protocol: str) -> JavaClient:
        if protocol not in self.clients:
            self.clients[protocol] = self.java_targets.client(self.release, v2=protocol == "v2")
        return self.clients[protocol]


@pytest.fixture(scope="module")
def our_site(zookeeper, tmp_path_factory) -> Iterator[tuple[Cluster, LocalBookie]]:
    cluster = new_cluster(zookeeper)
    with LocalCluster(tmp_path_factory.mktemp("ours"), 1, metadata_uri=cluster.uri) as ours:
        yield cluster, ours.bookies[0]


@pytest.fixture(scope="module")
def site(java_release, our_site, tmp_path_factory) -> Iterator[Site]:
    cluster, bookie = our_site
    with JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets:
        yield Site(bookie, cluster, targets, java_release, {})


@pytest.fixture
def java(site, protocol) -> JavaClient:
    return site.client(protocol)


both_dialects = pytest.mark.parametrize("protocol", ["v2", "v3"])


@both_dialects
@pytest.mark.releases(main=True)
def test_writes_reads_and_fences(java):
    payloads = [*patterns(300, 100, seed=7), b"", b"last"]
    writer = java.create_ledger(password=b"secret", custom={"k": b"\0v"})
    appended = writer.append_many(300, 100, seed=7)
    assert (appended.first, appended.last, appended.acknowledged) == (0, 299, 300)
    assert [writer.append(b""), writer.append(b"last")] == [300, 301]
    assert writer.read(298, 301) == payloads[298:]

    reader = java.open_ledger(writer.ledger_id, password=b"secret")
    assert reader.opened_at == 301
    assert reader.read_hash(0, 301) == (302, hash_of(payloads))
    with pytest.raises(JavaError) as fenced:
        writer.append(b"too late")
    assert fenced.value.code == FENCED
    metadata = java.metadata(writer.ledger_id)
    assert (metadata.state, metadata.last_entry, metadata.length) == ("CLOSED", 301, 30_004)
    assert metadata.custom == {"k": b"\0v"}


@pytest.mark.full
@both_dialects
def test_writer_closes(java):
    writer = java.create_ledger()
    writer.append_many(1000, 1024, outstanding=500)
    writer.close()
    reader = java.open_ledger(writer.ledger_id)
    assert reader.opened_at == 999
    assert reader.read_hash(0, 999) == (1000, hash_of(patterns(1000, 1024)))
    java.delete_ledger(writer.ledger_id)
    with pytest.raises(JavaError):
        java.open_ledger(writer.ledger_id)


@pytest.mark.full
@both_dialects
def test_large_entries(java):
    writer = java.create_ledger()
    writer.append_many(5, 1_000_000, outstanding=5)
    assert writer.append(b"x" * 5_000_000) == 5
    reader = java.open_ledger(writer.ledger_id)
    assert reader.read_hash(0, 4) == (5, hash_of(patterns(5, 1_000_000)))
    assert reader.read_hash(5, 5) == (1, hash_of([b"x" * 5_000_000]))


@both_dialects
@pytest.mark.parametrize("digest", ["CRC32", "CRC32C", "MAC", "DUMMY"])
def test_digests(java, digest):
    writer = java.create_ledger(digest=digest, password=b"secret")
    writer.append_many(50, 33)
    reader = java.open_ledger(writer.ledger_id, digest=digest, password=b"secret")
    assert reader.read(0, 49) == patterns(50, 33)


@pytest.mark.releases(since="4.17")
@pytest.mark.parametrize("protocol", ["v2"])
@pytest.mark.parametrize("size", [100, 4000])
def test_reads_in_batches(java, size):
    writer = java.create_ledger()
    writer.append_many(500, size)
    writer.close()
    bodies = patterns(500, size)
    reader = java.open_ledger(writer.ledger_id)
    assert reader.batch_read(5, 20) == bodies[5:25]
    assert reader.batch_read(0, 500) == bodies
    assert reader.batch_read(490, 100) == bodies[490:]
    limited = reader.batch_read(100, 400, 10 * size)
    assert limited == bodies[100 : 100 + len(limited)]
    assert 36 + len(limited) * (4 + 36 + size) <= 10 * size or len(limited) == 1
    at = 0
    while at < 500:
        at += len(reader.batch_read(at, 64, 20_000))
    assert at == 500


@pytest.mark.releases(since="4.17")
@pytest.mark.parametrize("protocol", ["v2"])
def test_falls_back_on_a_bookie_without_batch_read(java_release, zookeeper, tmp_path, protocol):
    """``--wire-compat 4.16`` closes the connection, and Java's client takes that for "not supported"."""
    cluster = new_cluster(zookeeper)
    with LocalCluster(tmp_path / "ours", 0, metadata_uri=cluster.uri) as ours:
        ours.add_bookie(wire_compat="4.16")
        with JavaClient(java_release, cluster, tmp_path / "java", v2=True) as java:
            writer = java.create_ledger()
            writer.append_many(100, 100)
            writer.close()
            assert java.open_ledger(writer.ledger_id).batch_read(10, 50) == patterns(100, 100)[10:60]


@both_dialects
def test_recovers_what_a_killed_writer_left_open(java_release, site, java, protocol, tmp_path):
    with JavaClient(java_release, site.cluster, tmp_path, v2=protocol == "v2") as killed:
        writer = killed.create_ledger()
        writer.append_many(200, 50)
        pending = writer.append_many_later(100_000, 50, index=200)
        assert poll(lambda: java.open_ledger(writer.ledger_id, recovery=False).opened_at > 199)
        killed.kill()
    del pending
    reader = java.open_ledger(writer.ledger_id)
    last = reader.opened_at
    assert last >= 199
    assert reader.read_hash(0, last) == (last + 1, hash_of(patterns(last + 1, 50)))
    assert java.metadata(writer.ledger_id).state == "CLOSED"


@pytest.mark.full
@both_dialects
def test_recovers_an_empty_ledger(java):
    writer = java.create_ledger()
    assert java.open_ledger(writer.ledger_id).opened_at == -1
    with pytest.raises(JavaError) as fenced:
        writer.append(b"too late")
    assert fenced.value.code == FENCED


@pytest.mark.full
@both_dialects
def test_wrong_password(java):
    writer = java.create_ledger(password=b"secret")
    writer.append(b"0")
    with pytest.raises(JavaError) as refused:
        java.open_ledger(writer.ledger_id, password=b"wrong")
    assert refused.value.code == UNAUTHORIZED
    assert writer.append(b"1") == 1


@pytest.mark.full
@both_dialects
def test_last_add_confirmed(java):
    writer = java.create_ledger()
    writer.append_many(10, 20)
    writer.append(b"10")
    reader = java.open_ledger(writer.ledger_id, recovery=False)
    assert reader.opened_at == 9
    assert (reader.read_last_add_confirmed("quorum"), reader.read_last_add_confirmed("any")) == (9, 9)
    assert reader.read(10, 10, unconfirmed=True) == [b"10"]
    writer.append(b"11")
    assert reader.read_last_add_confirmed("quorum") == 10
    writer.close()
    # Java's reader learns of the close by a watch, some time later.
    assert poll(lambda: reader.read_last_add_confirmed("quorum") == 11)


@pytest.mark.full
@both_dialects
@pytest.mark.releases(since="4.14")
def test_explicit_last_add_confirmed(java_release, site, java, protocol, tmp_path):
    """Clients of both protocol versions send it as V3: a V2 client opens a second connection for it."""
    settings = {"explicitLacInterval": 50}
    with JavaClient(java_release, site.cluster, tmp_path, v2=protocol == "v2", settings=settings) as publishing:
        writer = publishing.create_ledger()
        writer.append_many(10, 20)
        reader = java.open_ledger(writer.ledger_id, recovery=False)
        assert poll(lambda: reader.read_last_add_confirmed("explicit") == 9)
        assert reader.read(0, 9) == patterns(10, 20)


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["v3"])
def test_asks_for_free_space(site, java):
    free, total = java.bookies()[site.bookie.bookie_id]
    assert 0 < free <= total


@pytest.mark.releases(since="4.14")
@pytest.mark.parametrize("protocol", ["v2"])
def test_asks_for_free_space_over_a_second_connection(site, java):
    """4.9.2 does not: it sends this V3 request over its V2 connection, where it cannot be answered."""
    free, total = java.bookies()[site.bookie.bookie_id]
    assert 0 < free <= total
