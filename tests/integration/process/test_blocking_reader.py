"""Reading without a reactor: bookies of ours and of Java, with and without batch read, whole and damaged."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import count

import pyarrow as pa
import pytest
from attrs import evolve, frozen

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, DigestMismatch, EntriesMissing, NoSuchLedger
from bookkeeper_tx.model import DigestType, Fragment, LedgerId, LedgerMetadata
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.bookies.last_add_confirmed import OpenLedger, last_add_confirmed, last_adds_confirmed
from bookkeeper_tx.spark.bookies.list_entries import EntryListChannel
from bookkeeper_tx.spark.entries.arrow_entries import record_batches
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.transport.blocking import BlockingChannel
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.lockfile import release_number
from compat_tests.targets.payloads import patterns
from tests.integration.support.adding_channel import AddingChannel
from tests.integration.support.our_client import OurClient, append, append_and_close, poll, wait_for
from tests.sampling import only

SCHEMA = pa.schema([("ledger_id", pa.int64()), ("entry_id", pa.int64()), ("payload", pa.binary())])
PASSWORD = b"secret"
COUNT = 3000
PAYLOADS = [*patterns(COUNT // 2, 100), *(b"%d" % each * (each % 90) for each in range(COUNT // 2))]
DIGEST = EntryDigest(DigestType.CRC32C, PASSWORD)

Addresses = dict[str, tuple[str, int]]

quorums = pytest.mark.parametrize("quorum", [(1, 1, 1), (3, 3, 2), (3, 2, 2)], ids="{0[0]}_{0[1]}_{0[2]}".format)
either = pytest.mark.parametrize("batch", [True, False], ids=["batch", "singles"])


def range_of(ledger_id: int, metadata: LedgerMetadata, first: int = 0, last: int = COUNT - 1) -> LedgerRange:
    return LedgerRange.of_metadata(ledger_id, metadata, first, last)


def rows(addresses: Addresses, ledger: LedgerRange, **options: object) -> list[tuple[int, bytes]]:
    """Read the range as Arrow batches; give id and payload of each entry."""
    with BookieChannels(addresses) as channels:
        reader = LedgerReader(channels, ledger, PASSWORD, **options)  # type: ignore[arg-type]
        table = pa.Table.from_batches(record_batches(reader.runs(), SCHEMA), SCHEMA)
        assert reader.missing.count == 0
    return list(zip(table["entry_id"].to_pylist(), table["payload"].to_pylist(), strict=True))


def expected(first: int = 0, last: int = COUNT - 1, payloads: Sequence[bytes] = PAYLOADS) -> list[tuple[int, bytes]]:
    return [(entry_id, payloads[entry_id]) for entry_id in range(first, last + 1)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("ours"), 3) as ours:
        yield ours


@pytest.fixture(scope="module")
def client(cluster) -> Iterator[OurClient]:
    with OurClient(cluster.metadata_uri) as made:
        yield made


def addresses_of(cluster: LocalCluster) -> Addresses:
    return {bookie.bookie_id: ("127.0.0.1", bookie.port) for bookie in cluster.bookies}


@quorums
@either
def test_of_ours(cluster, client, quorum, batch):
    writer = client.create_ledger(*quorum, password=PASSWORD)
    append_and_close(writer, PAYLOADS)
    metadata = client.metadata(writer.ledger_id)
    for first, last in [(0, COUNT - 1), (17, 1800), (COUNT - 1, COUNT - 1)]:
        ledger = range_of(writer.ledger_id, metadata, first, last)
        assert rows(addresses_of(cluster), ledger, batch=batch) == expected(first, last)


@quorums
def test_of_a_scope(cluster, quorum):
    ledger_id = LedgerId.random()
    with OurClient(cluster.metadata_uri, protocol="v3") as client:
        create = client.bookkeeper.create_ledger
        writer = wait_for(create, *quorum, DigestType.CRC32C, PASSWORD, ledger_id=ledger_id)
        append_and_close(writer, PAYLOADS[:600])
        ledger = range_of(ledger_id, client.metadata(ledger_id), 5, 595)
    for in_v3 in ([], cluster.bookie_ids):
        with BookieChannels(addresses_of(cluster), batch_read_v3=in_v3) as channels:
            runs = list(LedgerReader(channels, ledger, PASSWORD).runs())
        assert [payload for run in runs for payload in run.payloads()] == PAYLOADS[5:596]


@quorums
def test_the_end_of_an_open_ledger(cluster, client, quorum):
    writer = client.create_ledger(*quorum, password=PASSWORD)
    metadata = client.metadata(writer.ledger_id)
    with BookieChannels(addresses_of(cluster)) as channels:
        assert last_add_confirmed(channels, writer.ledger_id, metadata, DIGEST) == -1
        append(writer, PAYLOADS[:20])
        append(writer, [b"the last one carries the id of the one before"])
        found = last_add_confirmed(channels, writer.ledger_id, metadata, DIGEST)
        assert found == 19
        append(writer, [b"nothing was fenced"])
        ledger = range_of(writer.ledger_id, metadata, 0, found)
        runs = list(LedgerReader(channels, ledger, PASSWORD).runs())
        assert [payload for run in runs for payload in run.payloads()] == PAYLOADS[:20]
    wait_for(writer.close)


def test_the_ends_of_many_open_ledgers_over_one_connection_to_each_bookie(cluster, client):
    writers = [client.create_ledger(3, 2, 2, password=PASSWORD) for _ in range(40)]
    for length, writer in enumerate(writers):
        append(writer, PAYLOADS[: length + 1])
        append(writer, [b"the last one carries the id of the one before"])
    made = []

    def connect(host, port, config):
        made.append(port)
        return BlockingChannel(host, port, config)

    asked = [OpenLedger(each.ledger_id, client.metadata(each.ledger_id), DIGEST) for each in writers]
    unknown = evolve(asked[0], ledger_id=10**9)
    with BookieChannels(addresses_of(cluster), connect=connect) as channels:
        found = list(last_adds_confirmed(channels, [*asked, unknown]))
    assert [each.entry_id for each in found] == [*range(40), -1]
    assert len(made) == 3
    for writer in writers:
        wait_for(writer.close)


def test_what_a_bookie_lists(cluster, client):
    writer = client.create_ledger(3, 3, 3, password=PASSWORD)
    append_and_close(writer, PAYLOADS[:20])
    with closing(EntryListChannel("127.0.0.1", cluster.bookies[0].port)) as channel:
        ids = [*range(10**9, 10**9 + 100), writer.ledger_id]
        found = list(channel.list_entries(ids))
    assert [ledger_id for ledger_id, _ in found] == ids
    assert {type(answer) for _, answer in found[:-1]} == {NoSuchLedger}
    assert list(found[-1][1]) == list(range(20))


@pytest.mark.parametrize(
    "quorum", [(3, 3, 2), pytest.param((3, 2, 2), marks=pytest.mark.full)], ids="{0[0]}_{0[1]}_{0[2]}".format
)
@pytest.mark.parametrize("batch", only(True, [True, False]), ids=["batch", "singles"])
def test_over_a_change_of_the_ensemble_and_without_one_replica(tmp_path, quorum, batch):
    with LocalCluster(tmp_path, 4) as cluster, OurClient(cluster.metadata_uri) as client:
        writer = client.create_ledger(*quorum, password=PASSWORD)
        append(writer, PAYLOADS[:1000])
        lost = cluster.index_of(writer.metadata.fragments[0].ensemble[1])
        cluster.kill(lost)
        append(writer, PAYLOADS[1000:1001])
        assert poll(lambda: len(writer.metadata.fragments) == 2)
        append_and_close(writer, PAYLOADS[1001:])
        metadata = client.metadata(writer.ledger_id)
        assert len(metadata.fragments) == 2
        ledger = range_of(writer.ledger_id, metadata)
        assert rows(addresses_of(cluster), ledger, batch=batch) == expected()
        cluster.restart(lost)
        assert rows(addresses_of(cluster), ledger, batch=batch) == expected()
        with BookieChannels(addresses_of(cluster)) as channels:
            runs = LedgerReader(channels, ledger, PASSWORD, batch=batch, window=50, batch_size_max=5000).runs()
            found = []
            for number, run in enumerate(runs):
                found += list(enumerate(run.payloads(), run.first))
                if number == 5:
                    cluster.kill(cluster.index_of(run.bookies[0]))
        assert found == expected()


# Damage: entries are given to each bookie by itself -------------------------------------------------------------------

LEDGER_IDS = count(900_000_000)


def stretches(ids: Iterable[int]) -> list[list[int]]:
    """Return ascending ids as lists of consecutive ones."""
    found: list[list[int]] = []
    for each in ids:
        if found and found[-1][-1] == each - 1:
            found[-1].append(each)
        else:
            found.append([each])
    return found


class Planted:
    """A ledger whose entries the test gives to each bookie by itself."""

    def __init__(self, addresses: Addresses, write: int | None = None) -> None:
        self.addresses = addresses
        self.bookies = sorted(addresses)
        self.ledger_id = next(LEDGER_IDS)
        size = len(self.bookies)
        self.write = write or size
        self.stored: dict[str, dict[int, bytes]] = {bookie: {} for bookie in self.bookies}
        for entry_id in range(400):
            entry = DIGEST.seal(self.ledger_id, entry_id, entry_id - 1, entry_id, PAYLOADS[entry_id])
            for step in range(self.write):
                self.stored[self.bookies[(entry_id + step) % size]][entry_id] = entry

    def lose(self, entry_id: int, *bookies: int) -> None:
        for bookie in bookies:
            self.stored[self.bookies[bookie]].pop(entry_id, None)

    def corrupt(self, entry_id: int, *bookies: int) -> None:
        for bookie in bookies:
            entry = self.stored[self.bookies[bookie]][entry_id]
            self.stored[self.bookies[bookie]][entry_id] = entry[:-1] + bytes([entry[-1] ^ 1])

    def store(self) -> LedgerRange:
        for bookie, entries in self.stored.items():
            with AddingChannel(*self.addresses[bookie], ClientConfig(add_timeout_s=30)) as channel:
                for stretch in stretches(sorted(entries)):
                    together = [entries[entry_id] for entry_id in stretch]
                    channel.add_entries(self.ledger_id, stretch[0], together, DIGEST.master_key)
        fragments = (Fragment(0, self.bookies),)
        size = len(self.bookies)
        return LedgerRange(self.ledger_id, 0, 399, fragments, size, self.write, self.write, DigestType.CRC32C)


def check_damage(addresses: Addresses, write: int) -> None:
    """After damage of one replica the reader uses another; damage of all is an error that names the entry."""
    planted = Planted(addresses, write)
    planted.corrupt(30, 0)
    planted.lose(100, 1)
    planted.lose(101, 1)
    ledger = planted.store()
    for batch in (True, False):
        assert rows(addresses, ledger, batch=batch) == expected(0, 399)
    holed = Planted(addresses, write)
    for entry_id in (60, 61, 200):
        holed.lose(entry_id, *range(len(addresses)))
    ledger = holed.store()
    for batch in (True, False):
        with pytest.raises(EntriesMissing, match=f"entry 60 of ledger {holed.ledger_id}"):
            rows(addresses, ledger, batch=batch)
        with BookieChannels(addresses) as channels:
            reader = LedgerReader(channels, ledger, PASSWORD, batch=batch, fail_on_data_loss=False)
            found = [each for run in reader.runs() for each in range(run.first, run.last + 1)]
        assert found == [each for each in range(400) if each not in (60, 61, 200)]
        assert (reader.missing.count, reader.missing.ranges) == (3, [(60, 61), (200, 200)])


@pytest.mark.parametrize("write", [3, 2])
def test_damage_on_ours(cluster, write):
    check_damage(addresses_of(cluster), write)


def test_what_is_corrupt_everywhere_and_what_cannot_be_reached(cluster):
    addresses = addresses_of(cluster)
    planted = Planted(addresses)
    planted.corrupt(7, 0, 1, 2)
    ledger = planted.store()
    with pytest.raises(DigestMismatch, match=f"entry 7 of ledger {planted.ledger_id} is corrupt on all"):
        rows(addresses, ledger)
    nowhere = dict.fromkeys(addresses, ("127.0.0.1", 1))
    with pytest.raises(BookieUnavailable, match=r"entry 0 of ledger .* could not be read"):
        rows(nowhere, ledger, retry_interval_s=0)


# Java ----------------------------------------------------------------------------------------------------------------


@frozen
class JavaSite:
    """Three bookies of one release, and nothing else in their cluster."""

    uri: str
    addresses: Addresses
    java_targets: JavaTargets


@pytest.fixture(scope="module")
def java_site(java_release, zookeeper, tmp_path_factory) -> Iterator[JavaSite]:
    cluster = new_cluster(zookeeper)
    with JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets:
        bookies = [targets.bookie(java_release) for _ in range(3)]
        yield JavaSite(cluster.uri, {bookie.bookie_id: ("127.0.0.1", bookie.port) for bookie in bookies}, targets)


@pytest.mark.full
@quorums
def test_of_java(java_site, java_release, quorum):
    with OurClient(java_site.uri) as client:
        writer = client.create_ledger(*quorum, password=PASSWORD)
        append_and_close(writer, PAYLOADS)
        ledger = range_of(writer.ledger_id, client.metadata(writer.ledger_id))
    assert rows(java_site.addresses, ledger) == expected()
    with BookieChannels(java_site.addresses) as channels:
        assert sum(run.count for run in LedgerReader(channels, ledger, PASSWORD).runs()) == COUNT
        if quorum[0] == quorum[1]:
            serves = release_number(java_release) >= (4, 17)
            assert set(channels.batch_support._serves.values()) == {serves}


@pytest.mark.full
@pytest.mark.parametrize("write", [3, 2])
def test_damage_on_java(java_site, write):
    check_damage(java_site.addresses, write)
