"""Our client on real Java bookies of every release; the Java client of that release reads what it wrote."""

from collections.abc import Iterator

import pytest
from attrs import frozen

from bookkeeper_tx.client.capability import Capability
from bookkeeper_tx.errors import BatchReadNotSupported, LedgerClosed, LedgerFenced, Unauthorized
from bookkeeper_tx.model import DigestType, LedgerState
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.payloads import hash_of, patterns
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, append, append_and_close, poll, read, wait_for

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")]


@frozen
class Site:
    """One Java bookie, a Java client and the means to have clients of ours, for all tests of one release."""

    java_targets: JavaTargets
    bookie: JavaBookie
    java: JavaClient
    uri: str


@pytest.fixture(scope="module")
def site(java_release, zookeeper, tmp_path_factory) -> Iterator[Site]:
    cluster = new_cluster(zookeeper)
    with JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets:
        yield Site(targets, targets.bookie(java_release), targets.client(java_release, v2=True), cluster.uri)


@pytest.fixture(scope="module")
def ours(site: Site) -> Iterator[OurClient]:
    with OurClient(site.uri) as client:
        yield client


@pytest.mark.releases(main=True)
@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_writes_reads_and_fences(site, protocol):
    payloads = [*patterns(300, 100, seed=3), b"", b"last"]
    with OurClient(site.uri, protocol=protocol) as ours, OurClient(site.uri, protocol=protocol) as other:
        writer = ours.create_ledger(password=b"secret", custom={"k": b"\0v"})
        assert append(writer, payloads) == list(range(302))

        reader = other.open_ledger(writer.ledger_id, password=b"secret")
        assert (reader.closed, reader.last_add_confirmed) == (True, 301)
        assert read(reader, 0, 301) == payloads
        assert wait_for(reader.read_entry, 301).payload == b"last"
        for _ in range(2):
            with pytest.raises(LedgerFenced):
                append(writer, [b"too late"])
        wait_for(writer.close)  # closed already, and where this writer would have closed it
    with pytest.raises(LedgerFenced):
        raw_requests.add(site.bookie.port, writer.ledger_id, 302, [b"by the bookie itself"], password=b"secret")

    java = site.java.open_ledger(writer.ledger_id, password=b"secret")
    assert java.opened_at == 301
    assert java.read_hash(0, 301) == (302, hash_of(payloads))
    metadata = site.java.metadata(writer.ledger_id)
    assert (metadata.state, metadata.last_entry, metadata.length) == ("CLOSED", 301, 30_004)
    assert (metadata.digest, metadata.custom) == ("CRC32C", {"k": b"\0v"})


@pytest.mark.releases(main=True)
def test_ids_given_by_the_application(site, ours):
    writer = wait_for(ours.bookkeeper.create_ledger_adv, 1, 1, 1, ledger_id=4711)
    payloads = patterns(50, 100, seed=4)

    async def appended() -> list[int]:
        behind = writer.append(51, b"behind a gap")
        promises = [writer.append(each, payloads[each]) for each in reversed(range(50))]
        ids = [await each for each in reversed(promises)]
        await writer.close()
        with pytest.raises(LedgerClosed):
            await behind
        return ids

    assert wait_for(appended) == list(range(50))
    java = site.java.open_ledger(4711)
    assert java.opened_at == 49
    assert java.read_hash(0, 49) == (50, hash_of(payloads))
    assert site.java.metadata(4711).length == 5000


@pytest.mark.releases(since="4.17")
@pytest.mark.parametrize("sizes", ["equal", "variable"])
def test_reads_in_batches(site, ours, sizes):
    payloads = [b"x" * (100 if sizes == "equal" else 37 * index % 900) for index in range(1000)]
    writer = ours.create_ledger()
    append_and_close(writer, payloads)
    reader = ours.open_ledger(writer.ledger_id)
    assert read(reader, 0, 999, batch=True) == read(reader, 0, 999) == payloads
    assert ours.bookkeeper._context.capabilities.of(site.bookie.bookie_id, 0) is Capability.SERVES

    entries = wait_for(reader.read_batch, 10, max_count=20, fallback=False)
    assert 1 <= len(entries) <= 20
    assert list(entries.payloads) == payloads[10 : 10 + len(entries)]
    limited = wait_for(reader.read_batch, 0, max_size=5000, fallback=False)
    assert 36 + sum(4 + 36 + len(payload) for payload in limited.payloads) <= 5000
    assert wait_for(reader.read_batch, 999, max_count=50, fallback=False).payloads == payloads[999:]


@pytest.mark.full
@pytest.mark.releases(since="4.17")
def test_batch_read_ends_where_the_ledger_was_closed(site, ours):
    """A Java bookie serves stray entries past the end, which were never acknowledged."""
    writer = ours.create_ledger()
    append(writer, [b"0", b"1", b"2"])
    raw_requests.add(site.bookie.port, writer.ledger_id, 3, [b"stray"] * 3)
    wait_for(writer.close)
    reader = ours.open_ledger(writer.ledger_id)
    assert wait_for(reader.read_batch, 0, fallback=False).payloads == [b"0", b"1", b"2"]
    assert wait_for(reader.read_batch, 2, max_count=10, fallback=False).payloads == [b"2"]


@pytest.mark.releases(until="4.16")
def test_reads_singly_where_batch_read_is_lacking(site, ours):
    payloads = patterns(500, 100)
    writer = ours.create_ledger()
    append_and_close(writer, payloads)
    reader = ours.open_ledger(writer.ledger_id)
    assert read(reader, 0, 499, batch=True) == payloads
    assert ours.bookkeeper._context.capabilities.of(site.bookie.bookie_id, 0) is Capability.LACKS
    assert wait_for(reader.read_batch, 490, max_count=5).payloads == payloads[490:495]
    with pytest.raises(BatchReadNotSupported):
        wait_for(reader.read_batch, 0, fallback=False)


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_recovers_what_a_writer_left_open(site, protocol):
    payloads = patterns(200, 50)
    with OurClient(site.uri, protocol=protocol) as writing:
        writer = writing.create_ledger()
        append(writer, payloads)
    with OurClient(site.uri, protocol=protocol) as ours:
        following = ours.open_ledger(writer.ledger_id, recovery=False)
        assert not following.closed
        # The last entry carries the last add confirmed of the time when it was sent.
        assert following.last_add_confirmed < 199
        reader = ours.open_ledger(writer.ledger_id)
        assert (reader.metadata.state, reader.last_add_confirmed) == (LedgerState.CLOSED, 199)
        assert reader.length == 200 * 50
        assert read(reader, 0, 199, batch=True) == payloads


@pytest.mark.full
def test_recovers_an_empty_ledger(ours):
    writer = ours.create_ledger()
    reader = ours.open_ledger(writer.ledger_id)
    assert (reader.closed, reader.last_add_confirmed, reader.length) == (True, -1, 0)
    with pytest.raises(LedgerFenced):
        append(writer, [b"too late"])


@pytest.mark.parametrize("digest", ["CRC32", "CRC32C", "MAC", "DUMMY"])
def test_digests(site, ours, digest):
    payloads = patterns(50, 33)
    writer = ours.create_ledger(digest=DigestType[digest], password=b"secret")
    append(writer, payloads)
    reader = ours.open_ledger(writer.ledger_id, password=b"secret")
    assert read(reader, 0, 49) == read(reader, 0, 49, batch=True) == payloads
    java = site.java.open_ledger(writer.ledger_id, password=b"secret", digest=digest)
    assert java.read(0, 49) == payloads


@pytest.mark.full
def test_wrong_password(site, ours):
    writer = ours.create_ledger(password=b"secret")
    append(writer, [b"0"])
    with pytest.raises(Unauthorized):
        ours.open_ledger(writer.ledger_id, password=b"wrong")
    with pytest.raises(Unauthorized):
        raw_requests.add(site.bookie.port, writer.ledger_id, 1, [b"1"], password=b"wrong")
    assert isinstance(raw_requests.fence(site.bookie.port, writer.ledger_id, password=b"wrong"), Unauthorized)
    assert append(writer, [b"1"]) == [1]


def test_follows_a_java_writer(site, ours):
    """Our reader learns the last add confirmed from a Java writer's entries, and reads up to it."""
    ledger = site.java.create_ledger()
    ledger.append_many(100, 20)
    reader = ours.open_ledger(ledger.ledger_id, recovery=False)
    ledger.append(b"100")
    assert wait_for(reader.read_last_add_confirmed) == 99
    assert read(reader, 0, 99) == patterns(100, 20)
    assert wait_for(reader.read_unconfirmed, 100, 100).payloads == [b"100"]
    ledger.close()
    assert wait_for(reader.read_last_add_confirmed) in (99, 100)
    assert ours.open_ledger(ledger.ledger_id).last_add_confirmed == 100


@pytest.mark.full
@pytest.mark.releases(since="4.14")
def test_sees_an_explicit_last_add_confirmed(java_release, site, ours, tmp_path):
    """A Java writer publishes its last add confirmed between appends; our reader asks for it over V3."""
    settings = {"explicitLacInterval": 50}
    with JavaClient(java_release, site.java.cluster, tmp_path, settings=settings) as java:
        ledger = java.create_ledger()
        ledger.append_many(10, 20)
        reader = ours.open_ledger(ledger.ledger_id, recovery=False)

        assert poll(lambda: wait_for(reader.read_last_add_confirmed, explicit=True) == 9)
        assert read(reader, 0, 9) == patterns(10, 20)
