"""bookkeeper_tx.metadata.etcd.channel: one server after the other, and gRPC's errors under their true names."""

import sys
from typing import Any

import pytest

from bookkeeper_tx.errors import InvalidConfig, MetadataError, MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost, EtcdChannel, LeaseLost, connect
from protocol_specs.metadata import etcd_pb2 as messages


class RpcError(Exception):
    """As gRPC's."""

    def __init__(self, name: str, details: str) -> None:
        super().__init__(name)
        self._name = name
        self._details = details

    def code(self) -> Any:
        return type("Code", (), {"name": self._name})

    def details(self) -> str:
        return self._details


class Grpc:
    """Channels to servers, each of which fails in its way, or answers."""

    def __init__(self, **errors: RpcError) -> None:
        self.errors = errors
        self.asked: list[tuple[str, float]] = []
        self.closed: list[str] = []

    def connect(self, host: str) -> Any:
        return Channel(self, host)


class Channel:
    def __init__(self, grpc: Grpc, host: str) -> None:
        self._grpc = grpc
        self._host = host

    def unary_unary(self, path: str, request_serializer: Any, response_deserializer: Any) -> Any:
        def send(request: Any, timeout: float) -> Any:
            self._grpc.asked.append((self._host, timeout))
            request_serializer(request)
            if self._host in self._grpc.errors:
                raise self._grpc.errors[self._host]
            return response_deserializer(b"")

        return send

    def close(self) -> None:
        self._grpc.closed.append(self._host)


def ask(channel: EtcdChannel) -> Any:
    return channel.call("Range", messages.RangeRequest(key=b"k"), 9.0)


def test_after_a_failure_the_next_server_is_asked() -> None:
    grpc = Grpc(a=RpcError("UNAVAILABLE", "refused"), b=RpcError("DEADLINE_EXCEEDED", "silent"))
    channel = EtcdChannel(["a", "b", "c"], grpc.connect)
    for _ in range(2):
        with pytest.raises(ConnectionLost):
            ask(channel)
    assert ask(channel) == ask(channel) == messages.RangeResponse()
    assert grpc.asked == [("a", 3.0), ("b", 3.0), ("c", 3.0), ("c", 3.0)]


def test_a_single_server_has_all_the_time_and_keeps_its_channel() -> None:
    grpc = Grpc(a=RpcError("UNAVAILABLE", "refused"))
    channel = EtcdChannel(["a"], grpc.connect)
    for _ in range(2):
        with pytest.raises(ConnectionLost, match="etcd at a: refused"):
            ask(channel)
    assert grpc.asked == [("a", 9.0)] * 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RpcError("UNAVAILABLE", "etcdserver: no leader"), "etcdserver: no leader"),
        (RpcError("DEADLINE_EXCEEDED", "Deadline Exceeded"), ""),
    ],
)
def test_why_a_connection_was_lost_is_kept_unless_nobody_has_said(error: RpcError, reason: str) -> None:
    with pytest.raises(ConnectionLost) as caught:
        ask(EtcdChannel(["a"], Grpc(a=error).connect))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RpcError("NOT_FOUND", "etcdserver: requested lease not found"), LeaseLost),
        (RpcError("RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded"), MetadataError),
        (RpcError("PERMISSION_DENIED", "etcdserver: permission denied"), MetadataError),
    ],
)
def test_what_etcd_refuses_is_named(error: RpcError, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=error.details()) as caught:
        ask(EtcdChannel(["a"], Grpc(a=error).connect))
    assert type(caught.value) is kind


def test_after_close_it_says_so() -> None:
    grpc = Grpc()
    channel = EtcdChannel(["a"], grpc.connect)
    ask(channel)
    channel.close()
    channel.close()
    assert grpc.closed == ["a"]
    with pytest.raises(MetadataUnavailable, match="stopped"):
        ask(channel)


def test_without_grpc_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(InvalidConfig, match=r"pip install 'bookkeeper_tx\[etcd\]'"):
        connect("a")
