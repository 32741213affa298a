"""The real Java client, speaking V3, on bookies of ours: the operations besides plain adds and reads."""

from collections.abc import Iterator

import pytest
from attrs import frozen

from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.errors import NoSuchEntry, NoSuchLedger
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.transport.blocking import BlockingChannel
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.client import JavaClient, JavaError
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.payloads import pattern, patterns
from tests.certificates import Authority
from tests.integration.support import raw_requests
from tests.integration.support.our_client import poll

pytestmark = pytest.mark.java

BOOKIES = 3
LONG_MS = 30_000
SECURITY_ERROR = -24
PASSWORD = b"secret"


@frozen
class Site:
    """Bookies of ours, and clients of one release."""

    ours: LocalCluster
    cluster: Cluster
    java_targets: JavaTargets
    release: str
    java: JavaClient

    def client(self, *, v2: bool = False, **settings: object) -> JavaClient:
        """One more client."""
        return self.java_targets.client(self.release, v2=v2, settings=settings)


@pytest.fixture(scope="module")
def our_site(zookeeper, tmp_path_factory) -> Iterator[tuple[Cluster, LocalCluster]]:
    cluster = new_cluster(zookeeper)
    with LocalCluster(tmp_path_factory.mktemp("ours"), BOOKIES, metadata_uri=cluster.uri) as ours:
        yield cluster, ours


@pytest.fixture(scope="module")
def site(java_release, our_site, tmp_path_factory) -> Iterator[Site]:
    cluster, ours = our_site
    with JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets:
        yield Site(ours, cluster, targets, java_release, targets.client(java_release))


def test_deferred_sync_and_force(site):
    """Entries not forced are not confirmed; forced entries are there after a kill."""
    writer = site.java.create_ledger(deferred_sync=True)
    writer.append_many(50, 100)
    assert writer.last_add_confirmed() == -1
    writer.force()
    assert writer.last_add_confirmed() == 49
    (bookie_id,) = _ensemble(site, writer.ledger_id)
    index = site.ours.index_of(bookie_id)
    site.ours.kill(index)
    site.cluster.unregister(bookie_id)
    site.ours.restart(index)
    with BlockingChannel("127.0.0.1", site.ours.bookies[index].port) as channel:
        assert channel.read_entry(writer.ledger_id, 49).endswith(pattern(49, 100))
    assert poll(lambda: _knows_all_bookies(site)), "the client never saw the bookie again"


def _knows_all_bookies(site: Site) -> bool:
    """Whether the Java client would write to every bookie: it learns of one that registers in its own time."""
    try:
        site.java.create_ledger(BOOKIES, BOOKIES, BOOKIES)
    except JavaError:
        return False
    return True


@pytest.mark.full
def test_recovery_adds_what_one_bookie_has(site):
    """An entry that only the first bookie of three got: recovery writes it to the others, past the fence."""
    writer = site.java.create_ledger(3, 3, 1, password=PASSWORD)
    writer.append(b"0")
    bookies = [site.ours.bookies[site.ours.index_of(each)] for each in _ensemble(site, writer.ledger_id)]
    raw_requests.add(bookies[0].port, writer.ledger_id, 1, [b"1"], password=PASSWORD)
    assert site.java.open_ledger(writer.ledger_id, password=PASSWORD).read(0, 1) == [b"0", b"1"]
    for bookie in bookies:
        # One bookie that acknowledged was enough for the recovery.
        assert poll(lambda bookie=bookie: _has(bookie.port, writer.ledger_id, 1))


def _has(port: int, ledger_id: int, entry_id: int) -> bool:
    with BlockingChannel("127.0.0.1", port) as channel:
        try:
            return channel.read_entry(ledger_id, entry_id).endswith(b"1")
        except (NoSuchEntry, NoSuchLedger):
            return False


def _ensemble(site: Site, ledger_id: int) -> list[str]:
    return site.java.metadata(ledger_id).fragments[0]


def test_tails_with_long_polls(site):
    """Each poll waits on the bookies for the entry that is not there yet, and returns it."""
    writer = site.java.create_ledger(2, 2, 2)
    writer.append(pattern(0, 20))
    reader = site.java.open_ledger(writer.ledger_id, recovery=False)
    for index in range(6):
        waiting = site.java.submit("await_entry", handle=reader.handle, entry=index, timeout_ms=LONG_MS)
        writer.append(pattern(index + 1, 20))
        reply = waiting.result(site.java.timeout_s)
        assert (reply["found"], bytes.fromhex(reply["body"])) == ("true", pattern(index, 20))
        assert int(reply["last_add_confirmed"]) >= index


@pytest.mark.full
def test_long_poll_expires(site):
    writer = site.java.create_ledger()
    writer.append_many(3, 20, outstanding=1)
    reader = site.java.open_ledger(writer.ledger_id, recovery=False)
    assert reader.await_entry(2, 500) == (1, None)
    assert reader.await_entry(1, 500) == (1, pattern(1, 20))


@pytest.mark.releases(since="4.14")
def test_explicit_last_add_confirmed_survives_a_restart(site):
    publishing = site.client(explicitLacInterval=50)
    writer = publishing.create_ledger()
    writer.append_many(10, 20)
    reader = site.java.open_ledger(writer.ledger_id, recovery=False)
    assert poll(lambda: reader.read_last_add_confirmed("explicit") == 9)
    index = site.ours.index_of(_ensemble(site, writer.ledger_id)[0])
    site.ours.restart(index)
    # Java's own client takes a moment to notice that its connection is gone.
    assert poll(lambda: _opened_at(site, writer.ledger_id) == 9, timeout_s=30)


def _opened_at(site: Site, ledger_id: int) -> int:
    try:
        reader = site.java.open_ledger(ledger_id, recovery=False)
        return max(reader.opened_at, reader.read_last_add_confirmed("explicit"))
    except JavaError:
        return -1


@pytest.mark.full
def test_last_add_confirmed_by_quorum(site):
    writer = site.java.create_ledger(3, 2, 2)
    writer.append_many(20, 20, outstanding=1)
    reader = site.java.open_ledger(writer.ledger_id, recovery=False)
    assert (reader.read_last_add_confirmed("quorum"), reader.read_last_add_confirmed("any")) == (18, 18)


@pytest.mark.releases(since="4.14")
@pytest.mark.parametrize("write", [1, 2, 3])
def test_lists_entries(site, write):
    """As in Java's check of replicas; the bookies are healthy, so none of their entries is missing."""
    writer = site.java.create_ledger(3, write, 1)
    writer.append_many(300, 10)
    writer.close()
    quorum = Quorum(3, write, 1)
    for index, bookie_id in enumerate(_ensemble(site, writer.ledger_id)):
        held = [entry_id for entry_id in range(300) if index in quorum.write_set(entry_id)]
        listed = EntryList.decode(site.java.list_entries(bookie_id, writer.ledger_id))
        assert list(listed) == held
        assert listed.missing(held) == []
        assert len(listed.groups) <= 5


@pytest.mark.full
@pytest.mark.releases(since="4.14")
def test_list_of_an_unknown_ledger(site):
    with pytest.raises(JavaError) as unknown:
        site.java.list_entries(site.ours.bookie_ids[0], 999_999)
    assert unknown.value.code == -7


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_client_authenticates_where_that_is_disabled(site, protocol):
    """Its token is answered with the name of no plugin, upon which it goes on."""
    settings = {"clientAuthProviderFactoryClass": "driver.PlainToken", "driver.token": "open sesame"}
    writer = site.client(v2=protocol == "v2", **settings).create_ledger()
    writer.append_many(10, 20)
    assert writer.read(0, 9) == patterns(10, 20)


@pytest.mark.full
@pytest.mark.releases(since="4.14")
def test_tls_is_refused_where_there_is_none(site, tmp_path):
    """Java's client gives the connection up; other clients' connections stay."""
    writer = site.java.create_ledger()
    writer.append(b"0")
    (bookie_id,) = _ensemble(site, writer.ledger_id)
    settings = {
        "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
        "tlsProvider": "JDK",
        "tlsTrustStoreType": "PEM",
        "tlsTrustStore": Authority(tmp_path).path,
    }
    with pytest.raises(JavaError) as refused:
        site.client(**settings).list_entries(bookie_id, writer.ledger_id)
    assert refused.value.code == SECURITY_ERROR
    assert writer.append(b"1") == 1


@pytest.mark.full
@pytest.mark.releases(since="4.14")
def test_request_context_is_taken(site):
    java = site.client(preserveMdcForTaskExecution="true")
    writer = java.create_ledger()
    context = {"mdc.trace": "trace-17", "mdc.user": "somebody"}
    reply = java.driver.submit_values("append", {"handle": writer.handle, "body": b"0", **context}).result(60)
    assert reply["entry"] == "0"
    read = {"handle": writer.handle, "first": 0, "last": 0, **context}
    assert java.driver.submit_values("read", read).result(60)["bodies"] == b"0".hex()


@pytest.mark.full
def test_priorities_and_closing(site):
    """Recovery reads and adds come with a high priority, and are answered all the same."""
    writer = site.java.create_ledger(3, 3, 2)
    writer.append_many(200, 50)
    reader = site.java.open_ledger(writer.ledger_id)
    assert reader.opened_at == 199
    assert site.java.metadata(writer.ledger_id).state == "CLOSED"
