"""Getting into a ZooKeeper that asks for TLS and passwords, by a client in memory.

tests/integration/metadata/test_secured.py has a real one.
"""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kazoo.exceptions import AuthFailedError, SessionClosedRequireSaslError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.security import CREATOR_ALL_ACL

from bookkeeper_tx.errors import InvalidConfig, MetadataAccessDenied, MetadataUnavailable
from bookkeeper_tx.metadata.zookeeper import access
from bookkeeper_tx.metadata.zookeeper.access import Access
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig
from tests.certificates import Authority

LOGIN = MetadataSecurity(login=SaslClient("bk", "secret"), creator_only=True)


class Answer:
    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def ready(self) -> bool:
        return True

    def successful(self) -> bool:
        return self.error is None


class Client:
    """A client of kazoo: each start goes to the next of ``logins``, a server and whether it takes the login."""

    def __init__(self, way: Access, *logins: tuple[str, bool | Exception] | None) -> None:
        self.handler = way.client_arguments()["handler"]
        self.logins = list(logins)
        self.client_state = KeeperState.CLOSED
        self.starts = threading.Semaphore(0)
        self.stopped = False
        self._listeners: list[Callable[[str], Any]] = []

    def add_listener(self, listener: Callable[[str], Any]) -> None:
        self._listeners.append(listener)

    def start_async(self) -> threading.Event:
        connected = threading.Event()
        self.starts.release()
        if self.logins and self.logins[0] is not None:
            self.handler.trying((self.logins[0][0], 1))
            self.tell(KeeperState.CONNECTED, KazooState.CONNECTED)
            connected.set()
        return connected

    def exists_async(self, path: str) -> Answer:
        if self.client_state != KeeperState.CONNECTED:
            return Answer(AuthFailedError())
        login = self.logins.pop(0)
        assert login is not None
        if login[1] is True:
            return Answer(None)
        self.client_state = KeeperState.CLOSED
        if login[1] is False:
            self.tell(KeeperState.AUTH_FAILED, KazooState.LOST)
        else:
            self.handler.spawn(self._raise, login[1])
        return Answer(AuthFailedError())

    def _raise(self, error: Exception) -> None:
        raise error

    def tell(self, client_state: str, state: str) -> None:
        self.client_state = client_state
        for listener in self._listeners:
            listener(state)

    def stop(self) -> None:
        self.stopped = True

    def close(self) -> None:
        assert self.stopped


def way_to(*servers: str, security: MetadataSecurity = LOGIN) -> Access:
    """The way to servers, each with one address."""
    return Access(",".join(f"{each}:1" for each in servers), security, lambda hosts: {(each, 1) for each in servers})


@pytest.fixture(autouse=True)
def sasl_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("puresasl")
    module.__spec__ = access.__spec__
    monkeypatch.setitem(sys.modules, "puresasl", module)


def test_what_the_client_is_made_with() -> None:
    arguments = Access("h:1", LOGIN).client_arguments()
    assert arguments["sasl_options"] == {"mechanism": "DIGEST-MD5", "username": "bk", "password": "secret"}
    assert arguments["default_acl"] == CREATOR_ALL_ACL
    assert set(Access("h:1", None).client_arguments()) == {"hosts", "connection_retry", "handler"}


def test_a_login_that_its_file_may_have_is_looked_up_now(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text('Client { m required username="bk" password="secret"; };')
    login = Access("h:1", MetadataSecurity(login=LoginIfThere(str(file), "Client"))).client_arguments()["sasl_options"]
    assert (login["username"], login["password"]) == ("bk", "secret")
    without = Access("h:1", MetadataSecurity(login=LoginIfThere(str(file), "Other")))
    assert set(without.client_arguments()) == {"hosts", "connection_retry", "handler"}


def test_passwords_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match="pip install"):
        Access("h:1", LOGIN).client_arguments()


@pytest.fixture(autouse=True)
def logins_are_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "FIRST_LOGIN_AGAIN_S", 0)
    monkeypatch.setattr(access, "LOGIN_AGAIN_S", 0)


@pytest.mark.parametrize("refusal", [False, SessionClosedRequireSaslError()])
def test_a_first_login_that_fails_twice_is_the_end(refusal: bool | Exception) -> None:
    way = way_to("h")
    client = Client(way, *[("h", refusal)] * 2)
    with pytest.raises(
        MetadataAccessDenied, match="h:1: it does not accept the user 'bk' with this password"
    ) as caught:
        way.start(client, 600)
    assert "secret" not in str(caught.value)
    way.stop(client)
    assert client.stopped


def test_a_server_that_goes_away_in_the_first_login_has_not_refused_it() -> None:
    way = way_to("h")
    client = Client(way, ("h", False), ("h", True))
    way.start(client, 600)
    way.stop(client)


def test_each_server_has_to_refuse_the_first_logins() -> None:
    way = way_to("h", "i")
    client = Client(way, *[("h", False)] * 5, ("i", False), ("i", True))
    way.start(client, 600)
    way.stop(client)
    way = way_to("h", "i")
    client = Client(way, *[("h", False)] * 5, *[("i", False)] * 2)
    with pytest.raises(MetadataAccessDenied, match="h:1,i:1: it does not accept"):
        way.start(client, 600)
    way.stop(client)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    way = way_to("h")
    with pytest.raises(MetadataUnavailable, match="h:1"):
        way.start(Client(way, None), 0)


@pytest.mark.parametrize("refusal", [False, SessionClosedRequireSaslError(), ValueError("what is that")])
def test_a_later_login_that_fails_is_repeated_and_said_once(
    refusal: bool | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    way = way_to("h")
    client = Client(way, ("h", True))
    way.start(client, 600)
    assert way.why_not(600) == ""
    for _ in range(3):
        assert client.starts.acquire(timeout=60)
        client.logins = [("h", refusal), ("h", True)]
        client.exists_async("/")
    assert client.starts.acquire(timeout=60)
    way.stop(client)
    (record,) = caplog.records
    said = "what is that" if isinstance(refusal, ValueError) else "it does not accept the user 'bk'"
    assert "ZooKeeper at h:1 turns us away" in record.getMessage()
    assert said in record.getMessage()
    assert said in way.why_not(600)
    assert "secret" not in record.getMessage()


def test_after_a_stop_nobody_logs_in_again() -> None:
    way = way_to("h")
    client = Client(way, ("h", True))
    way.start(client, 600)
    way.stop(client)
    client.starts.acquire()
    threads = threading.active_count()
    client.tell(KeeperState.AUTH_FAILED, KazooState.LOST)
    while threading.active_count() > threads:
        pass
    assert not client.starts.acquire(blocking=False)


def test_with_tls_a_server_that_does_not_answer_may_have_another_port(tmp_path: Path) -> None:
    tls = TlsConfig(trust_path=str(Authority(tmp_path).path))
    way = way_to("h", security=MetadataSecurity(tls=tls))
    with pytest.raises(MetadataUnavailable, match="secureClientPort"):
        way.start(Client(way, None), 0)


def test_advice_names_the_keys_of_zookeeper(tmp_path: Path) -> None:
    trusted = str(Authority(tmp_path).path)
    way = way_to("h", security=MetadataSecurity(tls=TlsConfig(trust_path=trusted)))
    client = Client(way, None)
    handler: Any = client.handler
    handler.trying(("h", 1))
    handler._refused("they want a certificate: tlsCertificatePath, with tlsClientAuthentication")
    with pytest.raises(MetadataAccessDenied, match=r"they want a certificate: zookeeper\.ssl\.keyStore\.location$"):
        way.start(client, 600)


def test_when_all_servers_have_refused_it_is_the_end(tmp_path: Path) -> None:
    tls = TlsConfig(trust_path=str(Authority(tmp_path).path))
    way = way_to("h", "i", security=MetadataSecurity(tls=tls))
    client = Client(way, None)
    handler: Any = client.handler
    for _ in range(3):  # one of two servers, again and again
        handler.trying(("h", 1))
        handler._refused("their certificate has expired")
    with pytest.raises(MetadataAccessDenied, match="their certificate has expired"):
        way.start(client, 0)
    handler.trying(("i", 1))
    handler._refused("their certificate has expired")
    with pytest.raises(MetadataAccessDenied, match="h:1,i:1: no TLS: their certificate has expired"):
        way.start(client, 600)


def test_the_addresses_are_those_that_kazoo_tries() -> None:
    found = access.resolve("127.0.0.1:1,[::1]:2,no host.invalid:3")
    assert found == {("127.0.0.1", 1), ("::1", 2)}
