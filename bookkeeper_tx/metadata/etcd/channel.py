"""Requests to etcd over gRPC: blocking, from any thread, each within a time that its caller sets.

gRPC keeps the connections.  What it leaves to its callers is here:

- a connection goes to one server; after a failure the next request goes to the next one;
- while a server cannot be reached requests fail at once, so the caller pauses before it repeats one;
- a server that takes requests and does not answer is noticed by the time limit only, so with several servers an attempt
  gets a part of the time that its operation has;
- a request whose connection breaks has an unknown outcome: :class:`ConnectionLost`.

A process must not fork once it has made a channel: gRPC's threads are missing in the child.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from bookkeeper_tx.errors import InvalidConfig, MetadataError, MetadataUnavailable
from protocol_specs.metadata import etcd_pb2 as messages

_SERVICE = "/etcdserverpb."

OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A watch waits in silence, and would not notice that its server is gone.  Servers forbid less than 5 s.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # For the answer to that; without it, gRPC waits for a minute.
    ("grpc.http2.ping_timeout_ms", 5_000),
    # A page of names, or the largest record, is far below; the default of 4 MiB is meant for other services.
    ("grpc.max_receive_message_length", 64 * 2**20),
    # A proxy that the environment names for the web.
    ("grpc.enable_http_proxy", 0),
)

NEEDS_LEADER: Final = (("hasleader", "true"),)
"""Has a server end a stream when it is cut off from the others; without it, it keeps the stream, and tells nothing."""

ATTEMPTS_IN_TIME: Final = 3
"""How many servers that do not answer may be waited for, one after the other, in the time of an operation."""

_ANSWERS: Final[dict[str, tuple[str, Any, Any]]] = {
    "Range": ("KV/Range", messages.RangeRequest, messages.RangeResponse),
    "Txn": ("KV/Txn", messages.TxnRequest, messages.TxnResponse),
    "LeaseGrant": ("Lease/LeaseGrant", messages.LeaseGrantRequest, messages.LeaseGrantResponse),
    "LeaseRevoke": ("Lease/LeaseRevoke", messages.LeaseRevokeRequest, messages.LeaseRevokeResponse),
    # A stream that is closed after one request brings one answer, which is how one call is sent.
    "LeaseKeepAlive": ("Lease/LeaseKeepAlive", messages.LeaseKeepAliveRequest, messages.LeaseKeepAliveResponse),
}


class ConnectionLost(MetadataUnavailable):
    """The connection to etcd was lost; whether the request was carried out is unknown."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason
        """Why, as gRPC or etcd says it; "" if there was no answer in time."""


class LeaseLost(MetadataUnavailable):
    """The lease has ended, and all keys that had it are gone."""


def connect(host: str) -> Any:
    """Return gRPC's channel to ``host``; raises InvalidConfig if gRPC is not installed."""
    try:
        import grpc
    except ImportError as error:
        raise InvalidConfig(
            f"the metadata store in etcd needs gRPC ({error}): pip install 'bookkeeper_tx[etcd]'"
        ) from error
    return grpc.insecure_channel(host, OPTIONS)


class EtcdChannel:
    """The servers of one etcd."""

    def __init__(self, hosts: Sequence[str], connect: Callable[[str], Any] = connect) -> None:
        self.hosts = ",".join(hosts)
        self._hosts = hosts
        self._connect = connect
        self._lock = threading.Lock()
        self._current = 0
        self._channel: Any = None
        self._closed = False

    def call(self, name: str, request: Any, timeout_s: float) -> Any:
        """Make one request and return its answer.

        Raises ConnectionLost when its outcome is unknown, LeaseLost for a key with a lease that has ended,
        MetadataError when etcd refuses.
        """
        channel = self._opened()
        path, kind, answer = _ANSWERS[name]
        send = channel.unary_unary(
            _SERVICE + path, request_serializer=kind.SerializeToString, response_deserializer=answer.FromString
        )
        try:
            return send(request, timeout=self.attempt_s(timeout_s))
        except Exception as error:
            raise self._translated(error, channel) from error

    def watch(self, requests: Iterator[Any]) -> tuple[Any, Callable[[Exception | None], Exception]]:
        """Begin a stream of watches.

        Return gRPC's call, which is iterated for the answers, and can be cancelled; and what has to be called with its
        error when it has ended, None if it has none.  That leaves its server, which may be gone, and returns the error
        as :meth:`call` would raise it.
        """
        channel = self._opened()
        stream = channel.stream_stream(
            _SERVICE + "Watch/Watch",
            request_serializer=messages.WatchRequest.SerializeToString,
            response_deserializer=messages.WatchResponse.FromString,
        )
        return stream(requests, metadata=NEEDS_LEADER), partial(self._ended, channel)

    def attempt_s(self, timeout_s: float) -> float:
        """Return how long to wait for one server in the time that an operation has."""
        return timeout_s / min(len(self._hosts), ATTEMPTS_IN_TIME)

    def close(self) -> None:
        """Fail all requests, and those to come."""
        with self._lock:
            self._closed = True
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _opened(self) -> Any:
        with self._lock:
            if self._closed:
                raise MetadataUnavailable("the metadata store was stopped")
            if self._channel is None:
                self._channel = self._connect(self._hosts[self._current])
            return self._channel

    def _next_host(self, failed: Any) -> None:
        """Leave the channel that has failed, unless another thread has done so."""
        if len(self._hosts) == 1:
            return  # gRPC connects again
        with self._lock:
            if self._channel is failed:
                self._channel = None
                self._current = (self._current + 1) % len(self._hosts)
        # Not closed: other requests wait on it; it goes with the last of them.

    def _ended(self, channel: Any, error: Exception | None) -> Exception:
        if error is not None:
            return self._translated(error, channel)
        self._next_host(channel)
        return ConnectionLost(f"etcd at {self.hosts} has ended the stream of watches")

    def _translated(self, error: Exception, channel: Any) -> Exception:
        if self._closed:
            return MetadataUnavailable("the metadata store was stopped")
        code = getattr(error, "code", None)
        if code is None:
            return error
        name, details = error.code().name, error.details()  # type: ignore[attr-defined]
        if name in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "UNKNOWN", "INTERNAL", "ABORTED"):
            self._next_host(channel)
            reason = "" if name in ("DEADLINE_EXCEEDED", "CANCELLED") else details
            return ConnectionLost(f"etcd at {self.hosts}: {details}", reason)
        if name == "NOT_FOUND" and "lease" in details:
            return LeaseLost(f"etcd at {self.hosts}: {details}")
        return MetadataError(f"etcd at {self.hosts} refused: {details} ({name})")
