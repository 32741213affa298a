"""The nodes that a bookie writes to its cluster's ZooKeeper, for the cases that check them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import frozen
from construct import ConstructError
from google.protobuf.message import DecodeError
from kazoo.exceptions import (
    ConnectionLoss,
    NodeExistsError,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError

from compat_tests.bookie.talk import Talk
from compat_tests.judge.verdict import Mismatch, Unsupported
from compat_tests.targets.cluster import new_session
from compat_tests.targets.unavailable import Unavailable
from protocol_specs.metadata import bookie as names
from protocol_specs.metadata import layout
from protocol_specs.metadata.formats_pb2 import BookieServiceInfo

_NO_ANSWER = (KazooTimeoutError, ConnectionLoss, OperationTimeoutError, SessionExpiredError)


@frozen
class Node:
    """A node of ZooKeeper, as it was when it was read."""

    path: str
    data: bytes
    ephemeral: bool
    """Whether it goes with its maker's session."""
    version: int


class Tree:
    """The nodes below the root of a bookie's cluster."""

    def __init__(self, talk: Talk, client: Any, root: str) -> None:
        self._talk = talk
        self._client = client
        self._root = root

    def find(self, *names: str) -> Node | None:
        """The node at ``names`` below the root, None if there is none; it goes into the record."""
        path = "/".join([self._root, *names])
        try:
            data, stat = self._client.get(path)
        except NoNodeError:
            self._talk.recording.note("", f"ZooKeeper: there is no {path}")
            return None
        node = Node(path, data, stat.ephemeralOwner != 0, stat.version)
        kind = "ephemeral" if node.ephemeral else "persistent"
        self._talk.recording.note("", f"ZooKeeper: {path}: {kind}, version {node.version}, data {data!r}")
        return node

    def get(self, *names: str) -> Node:
        """The node at ``names`` below the root.  Raises Mismatch if there is none."""
        node = self.find(*names)
        if node is None:
            raise _missing("/".join([self._root, *names]))
        return node

    def children(self, *names: str) -> list[str]:
        """The names below a node; none if there is no such node."""
        try:
            return sorted(self._client.get_children("/".join([self._root, *names])))
        except NoNodeError:
            return []

    def put(self, data: bytes, *names: str) -> None:
        """Write a node that exists.  Raises Mismatch if it does not."""
        path = "/".join([self._root, *names])
        try:
            self._client.set(path, data)
        except NoNodeError:
            raise _missing(path) from None
        self._talk.recording.note("", f"ZooKeeper: {path} set to {data!r}")

    def make(self, data: bytes, *names: str) -> None:
        """Make a node.  Raises Mismatch if there is one."""
        path = "/".join([self._root, *names])
        try:
            self._client.create(path, data)
        except NodeExistsError:
            raise Mismatch(path, "no such node", "a node") from None
        self._talk.recording.note("", f"ZooKeeper: {path} made: {data!r}")

    def delete(self, *names: str) -> None:
        """Delete a node.  Raises Mismatch if there is none."""
        path = "/".join([self._root, *names])
        try:
            self._client.delete(path)
        except NoNodeError:
            raise _missing(path) from None
        self._talk.recording.note("", f"ZooKeeper: {path} deleted")

    # Of the bookie that is talked to ---------------------------------------------------------------------------------

    def registered_id(self) -> str:
        """The id under which the bookie of this talk is registered: its address, or the id that publishes it.

        Raises Mismatch if it is not registered.
        """
        address = f"{self._talk.site.host}:{self._talk.site.port}"
        found = [*self.children(layout.AVAILABLE), *self.children(layout.AVAILABLE, layout.READ_ONLY)]
        if address in found:
            return address
        for folder in ((layout.AVAILABLE,), (layout.AVAILABLE, layout.READ_ONLY)):
            for name in set(self.children(*folder)) - {layout.READ_ONLY}:
                node = self.find(*folder, name)
                if node is not None and address in _addresses(node.data):
                    return name
        raise Mismatch("the registrations", f"one of the bookie at {address}", ", ".join(sorted(found)) or "none")

    def service_info(self) -> BookieServiceInfo:
        """The message that the bookie publishes.  Raises Mismatch if it is malformed, Unsupported if there is none."""
        data = self.registration().data
        if not data:
            raise Unsupported("the bookie publishes nothing: clients take its address from its id")
        return parse_service_info(data)

    def registration(self) -> Node:
        """The node of its registration, writable or not."""
        name = self.registered_id()
        found = self.find(layout.AVAILABLE, name)
        return found or self.get(layout.AVAILABLE, layout.READ_ONLY, name)

    def cookie(self) -> Node:
        """Its cookie."""
        return self.get(layout.COOKIES, self.registered_id())


def _missing(path: str) -> Mismatch:
    return Mismatch(path, "a node", "no such node")


def parse_service_info(data: bytes) -> BookieServiceInfo:
    """The message in a registration.  Raises Mismatch if it is malformed."""
    message = BookieServiceInfo()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise Mismatch("the registration", "a BookieServiceInfo", f"{data.hex()}: {error}") from None
    if not message.IsInitialized():
        missing = ", ".join(message.FindInitializationErrors())
        raise Mismatch("the registration", "a BookieServiceInfo with all required fields", f"one without {missing}")
    return message


def layout_class(data: bytes) -> bytes:
    """The class that LAYOUT names.  Raises Mismatch if it is no such record."""
    try:
        return bytes(layout.LAYOUT_RECORD.parse(data).factory_class)
    except ConstructError as error:
        raise Mismatch("LAYOUT", "a format version, a class and its version", f"{data.hex()}: {error}") from None


def endpoint_of(message: BookieServiceInfo) -> BookieServiceInfo.Endpoint:
    """The endpoint that clients connect to: there must be one."""
    found = [endpoint for endpoint in message.endpoints if endpoint.protocol == names.BOOKIE_RPC]
    if len(found) != 1:
        seen = ", ".join(endpoint.protocol for endpoint in message.endpoints) or "no endpoint"
        raise Mismatch("the endpoints", f"one of protocol {names.BOOKIE_RPC}", seen)
    return found[0]


@contextmanager
def tree_of(talk: Talk) -> Iterator[Tree]:
    """The tree of the cluster of the bookie that is talked to.  Raises Unsupported if that is not known."""
    cluster = talk.site.cluster
    if cluster is None:
        raise Unsupported("where this bookie keeps its metadata is not known")
    client = new_session(cluster.zookeeper)
    try:
        client.start(timeout=talk.left_s())
        yield Tree(talk, client, cluster.root)
    except _NO_ANSWER as error:
        text = f"{type(error).__name__}: {error}"
        raise Unavailable(f"the ZooKeeper at {cluster.zookeeper} does not answer: {text}") from error
    finally:
        client.stop()
        client.close()


def _addresses(data: bytes) -> list[str]:
    try:
        return [f"{endpoint.host}:{endpoint.port}" for endpoint in parse_service_info(data).endpoints]
    except Mismatch:
        return []
