"""Writing without a reactor to bookies that want TLS and credentials."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import AuthenticationFailed, BookKeeperError, TlsFailed
from bookkeeper_tx.model import BookieId, DigestType
from bookkeeper_tx.protocol.client.v2_add_runs import add_requests
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.security.sasl import SaslBookie, SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.spark.writing.add_channel import AddChannel
from bookkeeper_tx.spark.writing.ledger_sequence import LedgerPlan, LedgerSequence
from bookkeeper_tx.transport import blocking_connect
from compat_tests.wire.tls import bookie_context
from tests.certificates import Authority
from tests.spark.writing.memory_store import MemoryStore
from tests.spark.writing.puppet_bookies import PuppetCluster
from tests.transport.memory_bookie import MemoryBookie

USERS = {"bookkeeper-a": "right"}


@pytest.fixture
def bookie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryBookie:
    """The bookie at the other end of every connection, whatever its address."""
    identity = Authority(tmp_path).issue("bookie")
    context = bookie_context(identity.certificate_path, identity.key_path)
    bookie = MemoryBookie(context, SaslBookie(USERS), like_java=True)
    monkeypatch.setattr(blocking_connect.socket, "create_connection", lambda *_, **__: bookie)
    return bookie


def config(tmp_path: Path, **settings: Any) -> ClientConfig:
    return ClientConfig(tls=TlsConfig(trust_path=str(tmp_path / "test-authority.pem")), **settings)


def test_adds_inside_tls_through_a_narrow_socket(bookie: MemoryBookie, tmp_path: Path) -> None:
    secured = config(tmp_path, auth=SaslClient("bookkeeper-a", "right"))
    channel = AddChannel("b0", ("localhost", 3181), secured)
    digest = EntryDigest(DigestType.CRC32C, b"")
    entries = [digest.seal(7, entry_id, -1, 100, b"x" * 100) for entry_id in range(2000)]
    channel.queue(add_requests(digest.master_key, entries[:1000]))
    channel.queue(add_requests(digest.master_key, entries[1000:]))
    before = len(bookie.wire)
    while channel.unsent:
        bookie.room = 1001
        channel.send()
    assert bookie.wire[before:].count(b"x" * 10) == 0
    answered: list[int] = []
    while len(answered) < 2000:
        for replies in channel.receive():
            assert (replies.status, replies.ledger_id) == (0, 7)
            answered += replies.entry_ids
    assert answered == list(range(2000))
    assert channel.receive() == []
    channel.close()
    assert channel.closed


def test_a_bookie_that_wants_credentials_and_we_have_none(bookie: MemoryBookie, tmp_path: Path) -> None:
    channel = AddChannel("b0", ("localhost", 3181), config(tmp_path))
    with pytest.raises(AuthenticationFailed, match="bookie b0 at localhost:3181: it wants authentication"):
        channel.receive()


def sequence(cluster: PuppetCluster, failures: dict[BookieId, BookKeeperError]) -> LedgerSequence:
    def connect(bookie_id: BookieId) -> Any:
        if bookie_id in failures:
            raise failures[bookie_id]
        return cluster.connect(bookie_id)

    return LedgerSequence(
        MemoryStore(sorted(cluster.bookies)),  # type: ignore[arg-type]  # as much of a store as is asked
        LedgerPlan(quorum=Quorum(2, 2, 2)),
        ClientConfig(),
        connect=connect,
        random=Random(1),
        clock=cluster.clock,
        make_selector=cluster.make_selector,
    )


def test_a_bookie_whose_tls_fails_is_left_for_another() -> None:
    cluster = PuppetCluster("a", "b", "c")
    with sequence(cluster, {"b": TlsFailed("its certificate has expired")}) as writing:
        writing.append_many([b"x"] * 10)
        (written,) = writing.close()
    assert (written.last_entry_id, written.lacking) == (9, ())
    assert [bool(cluster[each].entries) for each in "abc"] == [True, False, True]


def test_if_that_is_so_of_too_many_it_is_said_why() -> None:
    failed = TlsFailed("its certificate has expired")
    with (
        sequence(PuppetCluster("a", "b", "c"), {"b": failed, "c": failed}) as writing,
        pytest.raises(BookKeeperError, match="b: its certificate has expired"),
    ):
        writing.append_many([b"x"])


def test_credentials_that_are_refused_end_the_writing() -> None:
    refused = AuthenticationFailed("they may be wrong")
    with (
        sequence(PuppetCluster("a", "b", "c"), dict.fromkeys("abc", refused)) as writing,
        pytest.raises(AuthenticationFailed, match="they may be wrong"),
    ):
        writing.append_many([b"x"])
