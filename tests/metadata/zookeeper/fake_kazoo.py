"""A KazooClient on the ZooKeeper in memory, and a clock that moves in each wait.

A request is answered only when the client waits for the answer, as if the server were just slow enough.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import define, field
from kazoo import exceptions
from kazoo.handlers.threading import KazooTimeoutError

from bookkeeper_tx.metadata.blocking.session import BlockingSession
from bookkeeper_tx.metadata.blocking.zookeeper import BlockingZooKeeperStore
from tests.metadata.zookeeper.fake_zookeeper import FakeZooKeeper
from tests.metadata.zookeeper.zookeeper_world import World


@define
class FakeTime:
    now: float = 1000.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@define(eq=False)
class FakeResult:
    """kazoo's result of one request."""

    client: "FakeKazoo"
    carry_out: Callable[[], Any]
    name: str
    value: Any = None
    exception: Exception | None = None
    done: bool = False

    def ready(self) -> bool:
        return self.done

    def successful(self) -> bool:
        return self.done and self.exception is None

    def wait(self, timeout: float) -> bool:
        self.client.answer_all()
        if not self.done:
            self.client.time.sleep(timeout)
        return self.done

    def settle(self, lost: bool, carried_out: bool) -> None:
        self.done = True
        try:
            if carried_out:
                self.value = self.carry_out()
        except exceptions.KazooException as error:
            self.exception = error
        if lost:
            self.exception = exceptions.ConnectionLoss()


@define(eq=False)
class FakeKazoo:
    """One session."""

    server: FakeZooKeeper
    time: FakeTime
    session_id: int = 0
    reachable: bool = True
    silent: bool = False
    """The server does not answer, and the connection stays."""
    answers_left: int | None = None
    """The connection breaks after so many answers."""
    stopped: bool = False
    in_flight_max: int = 0
    down_s: float = 1.0
    """How long a lost connection stays down."""
    _down_until: float = 0.0
    _losses: list[tuple[str, bool]] = field(factory=list)
    _sent: list[FakeResult] = field(factory=list)

    @property
    def connected(self) -> bool:
        return self.reachable and self.time.now >= self._down_until

    @property
    def client_id(self) -> tuple[int, bytes]:
        return self.session_id, b""

    def start(self, timeout: float) -> None:
        if not self.reachable:
            self.time.sleep(timeout)
            raise KazooTimeoutError("no connection")
        self.server.sessions += 1
        self.session_id = self.server.sessions

    def stop(self) -> None:
        self.stopped = True
        if self.session_id:
            self.server.end_session(self.session_id)

    def close(self) -> None:
        assert self.stopped

    def lose(self, name: str, carried_out: bool) -> None:
        """Break the connection at the next request of that name."""
        self._losses.append((name, carried_out))

    def __getattr__(self, name: str) -> Any:
        if not name.endswith("_async"):
            raise AttributeError(name)
        return partial(self._send, name.removesuffix("_async"))

    def transaction(self) -> "FakeTransaction":
        return FakeTransaction(self)

    def _send(self, name: str, path: str, *args: Any, **kwargs: Any) -> FakeResult:
        return self.send(name, partial(self.server.carry_out, self.session_id, name, path, *args, **kwargs))

    def send(self, name: str, carry_out: Callable[[], Any]) -> FakeResult:
        assert self.connected, "kazoo would keep it until the connection is up, however long that takes"
        result = FakeResult(self, carry_out, name)
        self._sent.append(result)
        self.in_flight_max = max(self.in_flight_max, len(self._sent))
        return result

    def answer_all(self) -> None:
        if self.silent:
            return
        sent, self._sent = self._sent, []
        lost = False
        for result in sent:
            loss = next((loss for loss in self._losses if loss[0] == result.name), None)
            if self.answers_left == 0:
                lost, self.answers_left = True, None
            if loss:
                self._losses.remove(loss)
                lost = True
            result.settle(lost, carried_out=loss[1] if loss else not lost)
            if lost:
                self._down_until = self.time.now + self.down_s
            elif self.answers_left is not None:
                self.answers_left -= 1


@define(eq=False)
class FakeTransaction:
    client: FakeKazoo
    creates: list[tuple[str, bytes]] = field(factory=list)

    def create(self, path: str, data: bytes) -> None:
        self.creates.append((path, data))

    def commit_async(self) -> FakeResult:
        return self.client.send("commit", lambda: self.client.server.commit(self.creates))


class BlockingWorld(World):
    """A World with blocking stores in it too."""

    def __init__(self, layout: str | None = "hierarchical") -> None:
        super().__init__(layout)
        self.time = FakeTime()
        self.tokens = iter(range(5001, 6000))

    def unopened(self) -> tuple[BlockingZooKeeperStore, FakeKazoo]:
        client = FakeKazoo(self.server, self.time)

        def make_session(hosts: Any, timeout_s: float, security: Any) -> BlockingSession:
            make_client = lambda **kwargs: client  # noqa: E731
            return BlockingSession(
                hosts, timeout_s, make_client=make_client, clock=self.time.clock, sleep=self.time.sleep
            )

        draw_token = lambda bits: next(self.tokens)  # noqa: E731
        return BlockingZooKeeperStore(self.uri, 10.0, make_session=make_session, draw_token=draw_token), client

    def open_blocking(self) -> tuple[BlockingZooKeeperStore, FakeKazoo]:
        """Return an open store, made in a cluster of its own if there is none yet."""
        if self.uri.root not in self.server.nodes:
            self.open()
        store, client = self.unopened()
        store.open()
        return store, client
