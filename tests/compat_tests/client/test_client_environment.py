"""The client role leaves nothing in a ZooKeeper that it did not start, or reports what is left."""

import threading
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss, NoNodeError

from compat_tests.client import client_environment
from compat_tests.client.client_environment import ClientEnvironment
from compat_tests.client.client_target import of_command
from compat_tests.judge.verdict import Interrupted
from compat_tests.targets.lifetime import CleanupFailed


class FakeSession:
    """Makes and deletes nothing; the deletion may fail."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.calls: list[str] = []

    def start(self, timeout: float) -> None:
        self.calls.append("start")

    def create(self, path: str) -> None:
        self.calls.append("create")

    def delete(self, path: str, recursive: bool) -> None:
        self.calls.append("delete")
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        self.calls.append("close")

    @property
    def handler(self) -> Any:
        class Handler:
            timeout_exception = TimeoutError

        return Handler


def judge_nothing() -> None:
    stopped = threading.Event()
    stopped.set()
    client = ClientEnvironment(of_command(["./driver"]), "zk+hierarchical://zk:2181/any")
    with client, pytest.raises(Interrupted):
        client.probe(1, stopped)


def test_what_names_no_zookeeper_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="'zk:2181' is not of the form zk"):
        ClientEnvironment(of_command(["./driver"]), "zk:2181")


@pytest.mark.parametrize("error", [None, NoNodeError()])
def test_what_the_cases_have_made_is_removed(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> None:
    session = FakeSession(error)
    monkeypatch.setattr(client_environment, "new_session", lambda hosts: session)
    judge_nothing()
    assert session.calls == ["start", "create", "delete", "stop", "close"]


def test_what_cannot_be_removed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    session = FakeSession(ConnectionLoss())
    monkeypatch.setattr(client_environment, "new_session", lambda hosts: session)
    with pytest.raises(CleanupFailed, match=r"/bookkeeper-conformance-\w+ in the ZooKeeper at zk:2181: ConnectionLoss"):
        judge_nothing()
    assert session.calls[-2:] == ["stop", "close"]
