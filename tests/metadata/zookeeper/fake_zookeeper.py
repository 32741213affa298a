"""A ZooKeeper in memory, and sessions on it with the interface of KazooSession.

Every request is answered at once, so that a test needs no reactor.  ``session.lose(name, carried_out)`` makes the next
request of that name fail with ConnectionLost, carried out or not; ``session.expire()`` ends the session as a server
does when its time is over.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from attrs import define, field, frozen
from kazoo import exceptions
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent
from twisted.internet.defer import Deferred, fail, maybeDeferred, succeed

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost


@frozen
class Stat:
    czxid: int
    mzxid: int
    version: int
    cversion: int
    ephemeralOwner: int


@define
class Node:
    data: bytes
    czxid: int
    mzxid: int
    owner: int = 0
    version: int = 0
    cversion: int = 0
    sequence: int = 0

    def stat(self) -> Stat:
        return Stat(self.czxid, self.mzxid, self.version, self.cversion, self.owner)


@define
class FakeZooKeeper:
    """The server."""

    nodes: dict[str, Node] = field(factory=lambda: {"": Node(b"", 0, 0)})
    zxid: int = 0
    sessions: int = 100
    watches: list[tuple[str, Callable[[Any], None]]] = field(factory=list)
    requests: list[tuple[str, str]] = field(factory=list)
    """Name and path of each request that was carried out."""
    forbidden: set[str] = field(factory=set)
    """The nodes below which nobody may make others."""

    def paths(self) -> list[str]:
        return sorted(self.nodes)[1:]

    def children(self, path: str) -> list[str]:
        start = path + "/"
        return [each[len(start) :] for each in self.nodes if each.startswith(start) and "/" not in each[len(start) :]]

    def fire(self, path: str) -> None:
        due = [watch for watch in self.watches if watch[0] == path]
        self.watches = [watch for watch in self.watches if watch[0] != path]
        for watch in dict.fromkeys(due):
            watch[1](WatchedEvent(EventType.CHANGED, KeeperState.CONNECTED, path))

    def lose_watches(self) -> None:
        """Fire all watches, as kazoo does when the connection breaks: the event names no node."""
        watches, self.watches = self.watches, []
        for _, watch in watches:
            watch(WatchedEvent(EventType.NONE, KeeperState.CONNECTING, None))

    def node(self, path: str) -> Node:
        if path not in self.nodes:
            raise exceptions.NoNodeError
        return self.nodes[path]

    def create(self, path: str, data: bytes, owner: int = 0, sequence: bool = False) -> str:
        parent = path.rpartition("/")[0]
        above = self.node(parent)
        if above.owner:
            raise exceptions.NoChildrenForEphemeralsError
        if parent in self.forbidden:
            raise exceptions.NoAuthError
        if sequence:
            path += f"{above.sequence:010d}"
        if path in self.nodes:
            raise exceptions.NodeExistsError
        self.zxid += 1
        above.cversion += 1
        above.sequence += 1
        self.nodes[path] = Node(data, self.zxid, self.zxid, owner)
        self.fire(path)
        self.fire(parent)
        return path

    def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        node = self.node(path)
        if version not in (-1, node.version):
            raise exceptions.BadVersionError
        self.zxid += 1
        node.data, node.mzxid, node.version = data, self.zxid, node.version + 1
        self.fire(path)
        return node.stat()

    def delete(self, path: str, version: int = -1) -> None:
        node = self.node(path)
        if version not in (-1, node.version):
            raise exceptions.BadVersionError
        if self.children(path):
            raise exceptions.NotEmptyError
        del self.nodes[path]
        parent = path.rpartition("/")[0]
        self.zxid += 1
        self.nodes[parent].cversion += 1
        self.fire(path)
        self.fire(parent)

    def delete_all(self, path: str) -> None:
        """Delete a node, and the nodes above it that this leaves empty."""
        self.delete(path)
        while not self.children(path := path.rpartition("/")[0]):
            self.delete(path)

    def end_session(self, session_id: int) -> None:
        for path in [path for path, node in self.nodes.items() if node.owner == session_id]:
            self.delete(path)

    def carry_out(self, session_id: int, name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        """Carry out one request of a session; raises the errors of kazoo."""
        self.requests.append((name, path))
        if name == "create":
            owner = session_id if kwargs.get("ephemeral") else 0
            return self.create(path, *args, owner=owner, sequence=kwargs.get("sequence", False))
        if name == "set":
            return self.set(path, *args)
        if name == "delete":
            return self.delete(path, *args)
        if name == "get":
            return self.node(path).data, self.node(path).stat()
        if name == "exists":
            self._set_watch(path, kwargs)
            return self.nodes[path].stat() if path in self.nodes else None
        if name == "get_children":
            node = self.node(path)
            self._set_watch(path, kwargs)
            children = self.children(path)
            return (children, node.stat()) if kwargs.get("include_data") else children
        assert name == "sync"
        return path

    def commit(self, creates: Iterable[tuple[str, bytes]]) -> list[Any]:
        """As the server: the first failure is reported, the requests before it are undone, the others are not tried."""
        made: list[str] = []
        creates = list(creates)
        for path, data in creates:
            self.requests.append(("commit", path))
            try:
                made.append(self.create(path, data))
            except exceptions.KazooException as error:
                for each in reversed(made):
                    self.delete(each)
                rolled_back = [exceptions.RolledBackError() for _ in made]
                rest = [exceptions.RuntimeInconsistency() for _ in creates[len(made) + 1 :]]
                return [*rolled_back, error, *rest]
        return made

    def _set_watch(self, path: str, kwargs: dict[str, Any]) -> None:
        if kwargs.get("watch"):
            self.watches.append((path, kwargs["watch"]))


class FakeSession:
    """A client's session."""

    def __init__(self, server: FakeZooKeeper) -> None:
        self.server = server
        self.hosts = "fake:2181"
        self.connected_again: Callable[[], None] = lambda: None
        self.session_id = self._new_id()
        self.stopped = False
        self.down = False
        self._losses: list[tuple[str, bool]] = []
        self.waiting: list[Deferred[None]] = []

    def _new_id(self) -> int:
        self.server.sessions += 1
        return self.server.sessions

    def lose(self, name: str, carried_out: bool) -> None:
        self._losses.append((name, carried_out))

    def expire(self) -> None:
        self.server.end_session(self.session_id)
        self.session_id = self._new_id()
        self.connected_again()

    def reconnect(self) -> None:
        """Have another connection in the same session."""
        self.down = False
        self.connected_again()

    def start(self) -> Deferred[None]:
        return succeed(None)

    def stop(self) -> Deferred[None]:
        self.stopped = True
        self.server.end_session(self.session_id)
        return succeed(None)

    def why_not(self, within_s: float) -> str:
        return ""

    def submit(self, name: str, path: str, *args: Any, **kwargs: Any) -> Deferred[Any]:
        if self.stopped:
            return fail(MetadataUnavailable("the metadata store was stopped"))
        if self.down:
            waiting: Deferred[Any] = Deferred(self.waiting.remove)
            self.waiting.append(waiting)
            return waiting
        request = partial(self.server.carry_out, self.session_id, name, path, *args, **kwargs)
        for loss in self._losses:
            if loss[0] == name:
                self._losses.remove(loss)
                if loss[1]:
                    maybeDeferred(request).addErrback(lambda _: None)
                return fail(ConnectionLost())
        return maybeDeferred(request)

    def commit(self, creates: Iterable[tuple[str, bytes]]) -> Deferred[list[Any]]:
        creates = list(creates)
        if self.stopped:
            return fail(MetadataUnavailable("the metadata store was stopped"))
        if self.down:
            waiting: Deferred[Any] = Deferred(self.waiting.remove)
            self.waiting.append(waiting)
            return waiting

        for loss in self._losses:
            if loss[0] == "commit":
                self._losses.remove(loss)
                if loss[1]:
                    self.server.commit(creates)
                return fail(ConnectionLost())
        return maybeDeferred(self.server.commit, creates)

    def watcher(self, fired: Callable[..., None], *args: Any) -> Any:
        return _Watcher(fired, args)


@frozen
class _Watcher:
    fired: Callable[..., None]
    args: tuple[Any, ...]

    def __call__(self, event: Any) -> None:
        self.fired(*self.args)
