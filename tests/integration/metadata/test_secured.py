"""The metadata stores on a ZooKeeper with TLS, passwords and access lists: what they make, and who is turned away."""

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from kazoo.protocol.states import KeeperState
from kazoo.security import ACL, Permissions, make_acl
from twisted.internet import reactor

from bookkeeper_tx.errors import InvalidConfig, MetadataAccessDenied, NoSuchLedger
from bookkeeper_tx.metadata.aio_store import AioMetadataStore
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig
from tests.certificates import Authority
from tests.integration.support.our_client import poll
from tests.integration.support.secured_zookeeper import PASSWORD, USER, SecuredZooKeeper, secured_zookeeper
from tests.metadata.contract import INFO, METADATA
from tests.reactor_thread import run_in_reactor

pytestmark = pytest.mark.java

LONG_S = 600.0
"""Longer than a test may take: what fails in it has failed at once."""


@pytest.fixture
def root() -> str:
    return f"/operators/{uuid.uuid4()}/ledgers"


def on_twisted(uri: str, security: MetadataSecurity | None, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    async def run() -> Any:
        store = open_metadata_store(uri, reactor, LONG_S, security)
        await store.start()
        try:
            return await work(store)
        finally:
            await store.stop()

    return run_in_reactor(run, timeout_s=60)


async def everything(store: Any) -> None:
    """Make a node of each kind."""
    await store.initialize()
    await store.register_bookie("a:1", INFO)
    await store.write_cookie("a:1", b"5\nx", None)
    await store.write_record(("log", "one"), b"x", None)
    for ledger_id in (await store.new_ledger_id(), 2**40, LedgerId(1, 1)):
        await store.create_ledger(ledger_id, METADATA)


def test_all_that_is_made_is_for_its_creator_alone(secured: SecuredZooKeeper, root: str) -> None:
    made: dict[str, list[ACL]] = {}

    async def make(store: Any) -> None:
        await everything(store)
        made.update(secured.acls(root))

    on_twisted(secured.uri(root), secured.security(), make)
    assert len(made) > 20
    assert f"{root}/available/a:1" in made
    own = [make_acl("sasl", USER, all=True)]
    assert {path: acl for path, acl in made.items() if acl != own} == {}


def test_without_access_lists_all_is_open(secured: SecuredZooKeeper, root: str) -> None:
    on_twisted(secured.uri(root), secured.security(creator_only=False), everything)
    found = secured.acls(root)
    assert {(acl.perms, acl.id.scheme) for each in found.values() for acl in each} == {(Permissions.ALL, "world")}


def test_the_stores_without_twisted_work_on_it(secured: SecuredZooKeeper, root: str) -> None:
    on_twisted(secured.uri(root), secured.security(), everything)
    with open_blocking_store(secured.uri(root), LONG_S, secured.security()) as blocking:
        blocking.create_ledger(77, METADATA)
        assert blocking.list_ledgers() == [0, 77, 2**40]
        assert blocking.cookie_bookies() == {"a:1"}
        assert [each for each, _ in blocking.read_ledgers([77] * 3000)] == [77] * 3000

        async def main() -> None:
            store = AioMetadataStore(secured.uri(root), LONG_S, asyncio.get_running_loop(), secured.security())
            await store.start()
            changed = asyncio.Event()
            store.watch_ledger(77, changed.set)
            stored = await store.read_ledger(77)
            blocking.write_ledger(77, METADATA, stored.version)
            await changed.wait()
            await store.delete_ledger(77)
            await store.stop()

        asyncio.run(main())
        with pytest.raises(NoSuchLedger):
            blocking.read_ledger(77)
    assert {acl.id.scheme for each in secured.acls(root).values() for acl in each} == {"sasl"}


def test_who_is_not_known_is_told_so(secured: SecuredZooKeeper, root: str) -> None:
    on_twisted(secured.uri(root), secured.security(), everything)
    tls = secured.security().tls
    for security in (None, MetadataSecurity(tls=tls), MetadataSecurity(tls=tls, login=SaslClient("other", "other"))):
        hosts = secured.server.hosts if security is None else secured.hosts
        with pytest.raises(MetadataAccessDenied, match="the access list of "):
            open_blocking_store(f"zk://{hosts}{root}", LONG_S, security)
        with pytest.raises(MetadataAccessDenied, match="the access list of "):
            on_twisted(f"zk://{hosts}{root}", security, everything)


def refusals(secured: SecuredZooKeeper, tmp_path: Path) -> dict[str, tuple[MetadataSecurity, str]]:
    """Return what ZooKeeper or we refuse, and what is said."""
    stranger = Authority(tmp_path, "stranger")
    own, strange = secured.authority.issue("own"), stranger.issue("strange")
    right = secured.security()
    assert right.tls is not None
    shown = {"client_authentication": True, "certificate_path": str(strange.certificate_path)}
    strange_shown = evolve(right.tls, **shown, key_path=str(strange.key_path))
    own_shown = evolve(
        right.tls, **{**shown, "certificate_path": str(own.certificate_path)}, key_path=str(own.key_path)
    )
    return {
        "right": (evolve(right, tls=own_shown), ""),
        "password": (secured.security("wrong"), f"does not accept the user '{USER}'"),
        "authority": (evolve(right, tls=evolve(right.tls, trust_path=str(stranger.path))), "not in the trust store"),
        "certificate": (evolve(right, tls=strange_shown), "certificate"),
    }


@pytest.mark.parametrize("what", ["right", "password", "authority", "certificate"])
def test_a_wrong_password_or_certificate_is_told_at_once(
    secured: SecuredZooKeeper, root: str, tmp_path: Path, what: str
) -> None:
    security, said = refusals(secured, tmp_path)[what]
    if what == "right":
        on_twisted(secured.uri(root), security, everything)
        return
    for attempt in (
        lambda: on_twisted(secured.uri(root), security, everything),
        lambda: open_blocking_store(secured.uri(root), LONG_S, security),
    ):
        with pytest.raises(MetadataAccessDenied, match=said) as caught:
            attempt()
        assert secured.hosts in str(caught.value)
        assert "wrong" not in str(caught.value)


def test_the_host_must_be_in_the_certificate(secured: SecuredZooKeeper, root: str) -> None:
    tls = secured.security().tls
    assert tls is not None
    uri = secured.uri(root).replace("localhost", "127.0.0.1")
    with pytest.raises(MetadataAccessDenied, match="certificate"):
        open_blocking_store(uri, LONG_S, MetadataSecurity(tls=tls))
    on_twisted(uri, secured.security(hostname_verification=False), everything)


def test_a_cluster_is_made_below_nodes_that_are_not_ours(secured: SecuredZooKeeper) -> None:
    with secured.session() as client:
        client.create("/closed", acl=[make_acl("sasl", USER, all=True)])
        client.create("/closed/chroot", acl=[make_acl("sasl", USER, all=True)])
        client.set_acls("/closed", [make_acl("world", "anyone", read=True)])
    on_twisted(secured.uri("/closed/chroot/ledgers"), secured.security(), everything)


def test_a_file_that_is_missing_is_named(secured: SecuredZooKeeper, root: str, tmp_path: Path) -> None:
    security = MetadataSecurity(tls=TlsConfig(trust_path=str(tmp_path / "none.pem")))
    with pytest.raises(InvalidConfig, match="cannot be used: No such file"):
        open_blocking_store(secured.uri(root), LONG_S, security)
    with pytest.raises(InvalidConfig, match="cannot be used: No such file"):
        on_twisted(secured.uri(root), security, everything)


def test_it_logs_in_again_after_the_server_was_away(tmp_path: Path) -> None:
    with secured_zookeeper(tmp_path) as secured:
        uri, security = secured.uri("/ledgers"), secured.security()
        on_twisted(uri, security, lambda store: store.initialize())
        with open_blocking_store(uri, 60.0, security) as store:
            for ledger_id in range(3):
                secured.server.stop()
                secured.server.start()
                store.create_ledger(ledger_id, METADATA)
            assert store.list_ledgers() == [0, 1, 2]


@pytest.mark.full
def test_a_server_that_forgets_a_password_for_a_while_is_not_the_end(tmp_path: Path) -> None:
    with secured_zookeeper(tmp_path) as secured:
        uri, security = secured.uri("/ledgers"), secured.security()
        bookies = open_metadata_store(uri, reactor, 10.0, security)

        async def register() -> None:
            await bookies.start()
            await bookies.initialize()
            await bookies.register_bookie("a:1", INFO)

        run_in_reactor(register, timeout_s=60)
        with open_blocking_store(uri, 60.0, security) as store:
            states: list[str] = []
            for client in (store._session.client, bookies._session._client):  # type: ignore[attr-defined]
                client.add_listener(lambda _, client=client: states.append(client.client_state))
            server_file = tmp_path / "server.conf"
            right = server_file.read_text()
            server_file.write_text(right.replace(PASSWORD, "another"))
            secured.server.stop()
            secured.server.start()
            assert poll(lambda: states.count(KeeperState.AUTH_FAILED) >= 3)
            server_file.write_text(right)
            secured.server.stop()
            secured.server.start()
            store.create_ledger(3, METADATA)
            # The node of the session before lives on for a while.
            assert poll(lambda: owner(secured, "/ledgers/available/a:1") == bookies._session.session_id)  # type: ignore[attr-defined]

            async def stop() -> None:
                await bookies.stop()

            run_in_reactor(stop, timeout_s=60)
            assert poll(lambda: store.writable_bookies() == frozenset())


def owner(secured: SecuredZooKeeper, path: str) -> int | None:
    """Return the session of a node, None if there is none."""
    with secured.session() as client:
        stat = client.exists(path)
        return None if stat is None else int(stat.ephemeralOwner)
