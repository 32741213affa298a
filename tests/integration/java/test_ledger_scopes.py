"""Ledgers of scopes other than 0 (BP-34) through our client, our bookies and both kinds of metadata store.

Beside each stands a ledger of scope 0 with the same lower half and other entries, so that mixing them up shows.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.errors import (
    IllegalOperation,
    LedgerFenced,
    LedgerScopeNotSupported,
    NoSuchLedger,
    NotEnoughBookies,
)
from bookkeeper_tx.model import DigestType, Fragment, LedgerId, LedgerMetadata
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.cluster import Cluster
from tests.integration.support.mixed_cluster import MixedCluster, mixed_cluster
from tests.integration.support.our_client import TIMEOUT_S, OurClient, append, read, wait_for
from tests.reactor_thread import run_in_reactor

COUNT = 200
SCOPE_ID = -(2**40)
SCOPED = [b"scoped %d " % each + bytes(each) for each in range(COUNT)]
PLAIN = [b"plain %d" % each for each in range(COUNT)]


@frozen
class Two:
    """A cluster, and a ledger of each kind, written and open."""

    bookies: LocalCluster
    scoped: LedgerWriter
    plain: LedgerWriter

    @property
    def ledger_id(self) -> LedgerId:
        assert isinstance(self.scoped.ledger_id, LedgerId)
        return self.scoped.ledger_id


@pytest.fixture(params=["sqlite", pytest.param("zookeeper", marks=[pytest.mark.java, pytest.mark.full])])
def metadata_uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/metadata.db"
    return Cluster(request.getfixturevalue("zookeeper").hosts, f"/{uuid.uuid4()}/ledgers").uri


@pytest.fixture
def client(two: Two) -> Iterator[OurClient]:
    with OurClient(two.bookies.metadata_uri, protocol="v3") as opened:
        yield opened


@pytest.fixture
def two(metadata_uri: str, tmp_path: Path) -> Iterator[Two]:
    with (
        LocalCluster(tmp_path / "bookies", 3, metadata_uri=metadata_uri) as bookies,
        OurClient(metadata_uri, protocol="v3") as writing,
    ):
        made = [
            wait_for(writing.bookkeeper.create_ledger, 3, 3, 3, digest, password=b"pw", ledger_id=7, scope_id=scope_id)
            for scope_id, digest in ((SCOPE_ID, DigestType.CRC32C), (0, DigestType.MAC))
        ]
        for writer, payloads in zip(made, (SCOPED, PLAIN), strict=True):
            append(writer, payloads)
        yield Two(bookies, *made)


def restart_all(bookies: LocalCluster, kill: bool) -> None:
    for index in range(len(bookies.bookies)):
        if kill:
            bookies.kill(index)
        bookies.restart(index)


def everything(reader: LedgerReader) -> list[list[bytes]]:
    """All payloads, read in each style."""
    end = reader.last_add_confirmed
    by_batch = wait_for(reader.read_batch, 0, 10, fallback=False)
    assert list(by_batch.payloads) == read(reader, 0, len(by_batch.payloads) - 1)
    return [read(reader, 0, end), read(reader, 0, end, batch=True)]


def test_a_scoped_ledger_outlives_its_bookies_and_is_taken_over(two: Two, client: OurClient) -> None:
    # In ZooKeeper a killed bookie stays registered for ten seconds.
    restart_all(two.bookies, kill="sqlite" in two.bookies.metadata_uri)
    reader = client.open_ledger(two.ledger_id, password=b"pw")
    assert everything(reader) == [SCOPED] * 2
    with pytest.raises(LedgerFenced):
        append(two.scoped, [b"too late"])
    append(two.plain, [b"more"])  # the fence is of the one ledger only
    wait_for(two.plain.close)
    restart_all(two.bookies, kill=False)
    assert everything(client.open_ledger(two.ledger_id, password=b"pw")) == [SCOPED] * 2
    assert everything(client.open_ledger(7, password=b"pw")) == [[*PLAIN, b"more"]] * 2


@pytest.mark.full
def test_a_scoped_ledger_is_tailed(two: Two, client: OurClient) -> None:
    reader = client.open_ledger(two.ledger_id, password=b"pw", recovery=False)
    tail = reader.tail(COUNT - 3)

    async def next_payload() -> bytes:
        return (await anext(tail)).payload

    async def the_rest() -> list[bytes]:
        return [entry.payload async for entry in tail]

    append(two.scoped, [b"new"])
    for expected in SCOPED[-3:]:
        assert run_in_reactor(next_payload, TIMEOUT_S) == expected
    wait_for(two.scoped.close)
    assert run_in_reactor(the_rest, TIMEOUT_S) == [b"new"]


@pytest.mark.full
def test_scoped_ledgers_are_listed_and_deleted(two: Two, client: OurClient) -> None:
    bookkeeper = client.bookkeeper
    random_id = wait_for(bookkeeper.create_ledger, ledger_id=LedgerId.random()).ledger_id
    assert wait_for(bookkeeper.list_ledgers) == [7]
    assert wait_for(bookkeeper.list_ledgers, SCOPE_ID) == [two.ledger_id]
    assert wait_for(bookkeeper.list_ledgers, random_id.scope_id) == [random_id]
    assert wait_for(bookkeeper.list_ledgers, None) == [7, *sorted([two.ledger_id, random_id])]
    for bookie_id in two.bookies.bookie_ids:
        assert list(wait_for(bookkeeper.entries_of, two.ledger_id, bookie_id)) == list(range(COUNT))
    wait_for(bookkeeper.delete_ledger, 7, scope_id=SCOPE_ID)
    with pytest.raises(NoSuchLedger, match=two.ledger_id.qualified_name):
        client.open_ledger(two.ledger_id, password=b"pw")
    assert everything(client.open_ledger(7, password=b"pw")) == [PLAIN] * 2


@pytest.mark.full
def test_a_v2_client_is_told_to_speak_v3(two: Two) -> None:
    with OurClient(two.bookies.metadata_uri, protocol="v2") as client:
        for operation in (
            lambda: client.open_ledger(two.ledger_id, password=b"pw"),
            lambda: client.open_ledger(two.ledger_id, password=b"pw", recovery=False),
            lambda: wait_for(client.bookkeeper.create_ledger, scope_id=SCOPE_ID),
            lambda: wait_for(client.bookkeeper.entries_of, two.ledger_id, two.bookies.bookie_ids[0]),
        ):
            with pytest.raises(IllegalOperation, match="V3"):
                operation()
        assert len(wait_for(client.bookkeeper.list_ledgers, None)) == 2
    append(two.scoped, [b"nobody has fenced it"])


# With a Java bookie --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed(java_release: str, zookeeper: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    with mixed_cluster(zookeeper, java_release, tmp_path_factory.mktemp("mixed")) as made:
        yield made


@pytest.mark.java
def test_nothing_of_a_scoped_ledger_is_sent_to_a_java_bookie(mixed: MixedCluster) -> None:
    with OurClient(mixed.cluster.uri, protocol="v3") as client:
        writer = of_scope_0(client, mixed)
        whole = LedgerId(writer.ledger_id, SCOPE_ID)
        metadata = LedgerMetadata(
            1, 1, 1, [Fragment(0, (mixed.java_bookie.bookie_id,))], DigestType.CRC32C, writer.metadata.password
        )
        wait_for(client.bookkeeper.metadata.create_ledger, whole, metadata)
        for recovery in (False, True):
            with pytest.raises(LedgerScopeNotSupported, match=mixed.java_bookie.bookie_id):
                client.open_ledger(whole, recovery=recovery)
        with pytest.raises(LedgerScopeNotSupported):
            wait_for(client.bookkeeper.create_ledger, 3, 3, 2, scope_id=SCOPE_ID)
        append(writer, [b"not fenced"])


@pytest.mark.full
@pytest.mark.java
@pytest.mark.releases(since="4.14.7")  # older ones list no entries
def test_a_java_bookie_is_no_replacement_in_a_scoped_ledger(mixed: MixedCluster) -> None:
    with OurClient(mixed.cluster.uri, protocol="v3") as client:
        plain = of_scope_0(client, mixed)
        writer = wait_for(client.bookkeeper.create_ledger, 2, 2, 2, ledger_id=plain.ledger_id, scope_id=SCOPE_ID)
        assert set(writer.metadata.last_fragment.ensemble) == set(mixed.our_bookies.bookie_ids)
        append(writer, SCOPED)
        mixed.our_bookies.stop_bookie(0)
        with pytest.raises(NotEnoughBookies, match=f"{mixed.java_bookie.bookie_id} know no ledger scopes"):
            append(writer, [b"nobody takes this"])
        mixed.our_bookies.restart(0)
        assert len(list(wait_for(client.bookkeeper.entries_of, plain.ledger_id, mixed.java_bookie.bookie_id))) == 1


def of_scope_0(client: OurClient, mixed: MixedCluster) -> LedgerWriter:
    """A ledger of scope 0 with one entry on each bookie."""
    writer = client.create_ledger(3, 3, 3)
    assert set(writer.metadata.last_fragment.ensemble) == mixed.bookie_ids
    append(writer, [b"one"])
    return writer
