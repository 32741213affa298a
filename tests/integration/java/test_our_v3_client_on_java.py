"""Our client, speaking V3, on real Java bookies: the operations besides plain adds and reads."""

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.client.ask import ask
from bookkeeper_tx.client.capability import Capability
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.errors import BatchReadNotSupported, BookieUnavailable, LedgerFenced, NoSuchLedger, Unauthorized
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.request import Request
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.payloads import pattern, patterns
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, append, append_and_close, make_driver, poll, read, wait_for

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")]

WAIT_S = 30
NOT_LONG_S = 0.5


@frozen
class Site:
    """One Java bookie, a Java client that publishes its last add confirmed, and a V3 client of ours."""

    cluster: Cluster
    bookie: JavaBookie
    java: JavaClient
    ours: OurClient

    @property
    def channel(self) -> Any:
        """Our connections to the bookie."""
        return self.ours.bookkeeper._context.channels.channel(self.bookie.bookie_id)


@pytest.fixture(scope="module")
def site(java_release, zookeeper, tmp_path_factory) -> Iterator[Site]:
    cluster = new_cluster(zookeeper)
    with JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets:
        bookie = targets.bookie(java_release)
        java = targets.client(java_release, settings={"explicitLacInterval": 50})
        with OurClient(cluster.uri, protocol="v3") as ours:
            yield Site(cluster, bookie, java, ours)


def asked(site: Site, request: Request) -> Any:
    """The value that the bookie's answer has; raises its error."""
    return wait_for(lambda: ask(make_driver(), site.channel, request, f"bookie {site.bookie.bookie_id}"))


def create(site: Site, **options: Any) -> LedgerWriter:
    return wait_for(site.ours.bookkeeper.create_ledger, 1, 1, 1, **options)


def test_deferred_sync_and_force(site):
    """Entries not forced are not confirmed, for our reader and for a Java reader."""
    writer = create(site, deferred_sync=True)
    append(writer, patterns(50, 100))
    assert writer.last_add_confirmed == -1
    append(writer, [b"tells what was confirmed before"])
    reader = site.java.open_ledger(writer.ledger_id, recovery=False)
    assert reader.read_last_add_confirmed("quorum") == -1
    wait_for(writer.force)
    assert writer.last_add_confirmed == 50
    append(writer, [b"tells that it was confirmed"])
    assert reader.read_last_add_confirmed("quorum") == 50
    assert reader.read(0, 49) == patterns(50, 100)
    wait_for(writer.close)
    assert site.java.open_ledger(writer.ledger_id).opened_at == 51


def test_waits_for_what_a_java_writer_confirms(site):
    """Each wait is answered by the bookie when the next entry comes, and has the confirmed one with it."""
    ledger = site.java.create_ledger()
    ledger.append(pattern(0, 20))
    reader = site.ours.open_ledger(ledger.ledger_id, recovery=False)
    for index in range(5):
        answer = wait_for(lambda entry_id=index: [reader.read_last_add_confirmed_and_entry(entry_id, WAIT_S)])[0]
        ledger.append(pattern(index + 1, 20))
        last_add_confirmed, entry = wait_for(lambda answer=answer: answer)
        assert last_add_confirmed >= index
        assert (entry.entry_id, entry.payload) == (index, pattern(index, 20))
    ledger.close()


@pytest.mark.full
def test_wait_expires(site):
    writer = create(site)
    append(writer, [b"0", b"1"])
    reader = site.ours.open_ledger(writer.ledger_id, recovery=False)
    known = reader.last_add_confirmed
    assert wait_for(reader.wait_last_add_confirmed, known, NOT_LONG_S) == known
    assert wait_for(reader.read_last_add_confirmed_and_entry, known + 1, NOT_LONG_S) == (known, None)
    wait_for(writer.close)


def test_tails_a_java_writer_to_the_end(site):
    ledger = site.java.create_ledger()
    ledger.append_many(50, 30)
    reader = site.ours.open_ledger(ledger.ledger_id, recovery=False)
    found: list[bytes] = []

    async def follow() -> None:
        async for entry in reader.tail(0):
            found.append(entry.payload)

    following = wait_for(lambda: [make_driver().spawn(follow())])[0]
    assert poll(lambda: len(found) >= 49)
    ledger.append_many(50, 30, index=50)
    assert poll(lambda: len(found) >= 99)
    ledger.close()
    wait_for(lambda: following)
    assert found == patterns(100, 30)


@pytest.mark.full
@pytest.mark.releases(since="4.14")
def test_publishes_its_last_add_confirmed(site):
    """Before 4.14 a Java client asks for the last entry only."""
    writer = create(site)
    append(writer, patterns(10, 20))
    reader = site.java.open_ledger(writer.ledger_id, recovery=False)
    assert wait_for(writer.write_last_add_confirmed) == 9
    assert reader.read_last_add_confirmed("explicit") == 9
    assert reader.read_last_add_confirmed("quorum") == 9
    assert reader.read(0, 9) == patterns(10, 20)
    ours = site.ours.open_ledger(writer.ledger_id, recovery=False)
    assert ours.last_add_confirmed == 9
    wait_for(writer.close)


@pytest.mark.full
@pytest.mark.releases(since="4.14")
def test_wait_is_ended_by_an_explicit_last_add_confirmed(site):
    """A Java writer that falls silent publishes its last entry."""
    ledger = site.java.create_ledger()
    reader = site.ours.open_ledger(ledger.ledger_id, recovery=False)
    answer = wait_for(lambda: [reader.read_last_add_confirmed_and_entry(9, WAIT_S)])[0]
    ledger.append_many(10, 20)
    last_add_confirmed, entry = wait_for(lambda: answer)
    assert (last_add_confirmed, entry.payload) == (9, pattern(9, 20))


@pytest.mark.parametrize("password", [b"", b"secret"])
def test_takes_over_from_a_java_writer(site, password):
    """Fencing reads, recovery reads and, of the last entries, recovery adds, all of V3."""
    ledger = site.java.create_ledger(password=password)
    ledger.append_many(100, 40)
    with pytest.raises(Unauthorized):
        site.ours.open_ledger(ledger.ledger_id, password=b"wrong")
    reader = site.ours.open_ledger(ledger.ledger_id, password=password)
    assert (reader.closed, reader.last_add_confirmed, reader.length) == (True, 99, 4000)
    assert read(reader, 0, 99) == patterns(100, 40)
    with pytest.raises(LedgerFenced):
        raw_requests.add(site.bookie.port, ledger.ledger_id, 100, [b"too late"], password=password)


@pytest.mark.releases(since="4.14")
@pytest.mark.parametrize("entry_ids", [[], [0], [0, 1, 2], [1, 2, 4, 5, 7, 8, 10, 11], list(range(0, 3000, 7))])
def test_asks_for_the_list_of_entries(site, entry_ids):
    ledger_id = create(site).ledger_id
    raw_requests.fence(site.bookie.port, ledger_id)
    for entry_id in entry_ids:
        raw_requests.add_recovered(site.bookie.port, ledger_id, entry_id, b"x")
    found = asked(site, ListEntries(ledger_id))
    assert list(found) == entry_ids
    assert found.missing(range(3000)) == sorted(set(range(3000)) - set(entry_ids))


@pytest.mark.full
@pytest.mark.releases(since="4.14")
def test_list_of_an_unknown_ledger(site):
    with pytest.raises(NoSuchLedger):
        asked(site, ListEntries(999_999))


@pytest.mark.full
@pytest.mark.releases(until="4.9")
def test_list_harms_nothing_where_it_is_unknown(site):
    """The bookie closes the connection, which is the request's own: appends under way do not notice."""
    writer = create(site)
    answers = wait_for(lambda: [[writer.append(payload) for payload in patterns(200, 100)]])[0]
    with pytest.raises(BookieUnavailable):
        asked(site, ListEntries(writer.ledger_id))
    assert [wait_for(lambda each=each: each) for each in answers] == list(range(200))
    assert len(writer.metadata.fragments) == 1


@pytest.mark.full
def test_asks_for_disk_space(site):
    space = asked(site, ReadBookieInfo())
    assert 0 < space.free_bytes <= space.total_bytes


@pytest.mark.full
def test_forces_what_is_unknown(site):
    """As Java answers: every entry is durable already."""
    assert asked(site, ForceLedger(999_998)) is None


def test_batch_read_is_found_lacking_and_harms_nothing(site):
    """Over V3 no Java bookie has it: those before 4.17 close the connection, later ones answer a bad request."""
    writer = create(site)
    answers = wait_for(lambda: [[writer.append(payload) for payload in patterns(300, 100)]])[0]
    closed = create(site)
    append_and_close(closed, patterns(100, 100))
    reader = site.ours.open_ledger(closed.ledger_id)
    with pytest.raises(BatchReadNotSupported):
        wait_for(reader.read_batch, 0, fallback=False)
    assert site.ours.bookkeeper._context.capabilities.of(site.bookie.bookie_id, 0) is Capability.LACKS
    found = wait_for(reader.read_batch, 10, max_count=20).payloads
    assert found == patterns(100, 100)[10 : 10 + len(found)]
    assert read(reader, 0, 99, batch=True) == patterns(100, 100)
    assert [wait_for(lambda each=each: each) for each in answers] == list(range(300))
    assert len(writer.metadata.fragments) == 1
