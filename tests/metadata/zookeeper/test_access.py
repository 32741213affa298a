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
from kazoo.exceptions import AuthFailedError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.security import CREATOR_ALL_ACL

from bookkeeper_tx.errors import InvalidConfig, MetadataAccessDenied, MetadataUnavailable
from bookkeeper_tx.metadata.zookeeper import access
from bookkeeper_tx.metadata.zookeeper.access import Access
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
    """A client of kazoo: each start ends as the next of ``logins`` says."""

    def __init__(self, *logins: bool | None) -> None:
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
        if self.logins[0] is not None:
            self.tell(KeeperState.CONNECTED, KazooState.CONNECTED)
            connected.set()
        return connected

    def exists_async(self, path: str) -> Answer:
        accepted = self.logins.pop(0)
        if not accepted:
            self.tell(KeeperState.AUTH_FAILED, KazooState.LOST)
        return Answer(None if accepted else AuthFailedError())

    def tell(self, client_state: str, state: str) -> None:
        self.client_state = client_state
        for listener in self._listeners:
            listener(state)

    def stop(self) -> None:
        self.stopped = True

    def close(self) -> None:
        assert self.stopped


@pytest.fixture(autouse=True)
def sasl_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("puresasl")
    module.__spec__ = access.__spec__
    monkeypatch.setitem(sys.modules, "puresasl", module)


def test_what_the_client_is_made_with() -> None:
    arguments = Access("h:1", LOGIN).client_arguments()
    assert arguments["sasl_options"] == {"mechanism": "DIGEST-MD5", "username": "bk", "password": "secret"}
    assert arguments["default_acl"] == CREATOR_ALL_ACL
    assert set(Access("h:1", None).client_arguments()) == {"hosts", "connection_retry"}


def test_passwords_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match="pip install"):
        Access("h:1", LOGIN).client_arguments()


def test_the_first_login_that_fails_is_the_end() -> None:
    way, client = Access("h:1", LOGIN), Client(False)
    way.client_arguments()
    with pytest.raises(
        MetadataAccessDenied, match="h:1: it does not accept the user 'bk' with this password"
    ) as caught:
        way.start(client, 600)
    assert "secret" not in str(caught.value)
    assert client.starts.acquire(blocking=False)
    assert not client.starts.acquire(blocking=False)
    way.stop(client)
    assert client.stopped


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(MetadataUnavailable, match="h:1"):
        Access("h:1", LOGIN).start(Client(None), 0)


def test_a_later_login_that_fails_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "LOGIN_AGAIN_S", 0)
    way, client = Access("h:1", LOGIN), Client(True, True)
    way.start(client, 600)
    assert client.starts.acquire(timeout=60)
    client.tell(KeeperState.AUTH_FAILED, KazooState.LOST)
    assert client.starts.acquire(timeout=60)
    way.stop(client)


def test_after_a_stop_nobody_logs_in_again() -> None:
    way, client = Access("h:1", LOGIN), Client(True)
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
    with pytest.raises(MetadataUnavailable, match="secureClientPort"):
        Access("h:1", MetadataSecurity(tls=tls)).start(Client(None), 0)


def test_when_all_servers_have_refused_it_is_the_end(tmp_path: Path) -> None:
    tls = TlsConfig(trust_path=str(Authority(tmp_path).path))
    way, client = Access("h:1,i:1", MetadataSecurity(tls=tls)), Client(None)
    handler = way.client_arguments()["handler"]
    handler._refused("their certificate has expired")
    with pytest.raises(MetadataAccessDenied, match="their certificate has expired"):
        way.start(client, 0)
    handler._refused("their certificate has expired")
    with pytest.raises(MetadataAccessDenied, match="h:1,i:1: no TLS: their certificate has expired"):
        way.start(client, 600)
