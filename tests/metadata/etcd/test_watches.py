"""bookkeeper_tx.metadata.etcd.watches: what is told of a change, of a broken stream, and to whom."""

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import EtcdChannel
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.etcd.watches import EtcdWatches
from protocol_specs.metadata import etcd_pb2 as messages

TIMEOUT_S = 60


class Broken(Exception):
    """As gRPC's error for a stream that has ended."""

    name = "CANCELLED"

    def code(self) -> Any:
        return self

    def details(self) -> str:
        return "broken"


class Stream:
    """A stream of watches whose answers come from the test.

    Creates are answered when there are ``creates_at_once`` of them, unless it is ``silent``.
    """

    def __init__(self, requests: Iterator[Any], silent: bool, creates_at_once: int) -> None:
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self.asked: SimpleQueue[Any] = SimpleQueue()
        self._silent = silent
        self._creates_at_once = creates_at_once
        threading.Thread(target=self._pump, args=(requests,), daemon=True).start()

    def _pump(self, requests: Iterator[Any]) -> None:
        created: list[int] = []
        for request in requests:
            self.asked.put(request)
            if request.HasField("create_request") and not self._silent:
                created.append(request.create_request.watch_id)
            if len(created) == self._creates_at_once:
                for watch_id in created:
                    self.answers.put(messages.WatchResponse(watch_id=watch_id, created=True))
                created.clear()

    def change(self, watch_id: int) -> None:
        self.answers.put(messages.WatchResponse(watch_id=watch_id, events=[messages.Event()]))

    def cancel(self) -> None:
        self.answers.put(Broken())

    def __iter__(self) -> Iterator[Any]:
        while True:
            answer = self.answers.get()
            if isinstance(answer, Broken):
                raise answer
            yield answer


class Grpc:
    """gRPC's channel to ``host``."""

    def __init__(self, world: "World", host: str) -> None:
        self._world = world
        self._host = host

    def stream_stream(self, path: str, request_serializer: Any, response_deserializer: Any) -> Any:
        def begin(requests: Iterator[Any], metadata: Any = ()) -> Stream:
            self._world.asked_hosts.append(self._host)
            self._world.metadata.append(metadata)
            self._world.streams.append(Stream(requests, self._host in self._world.silent, self._world.creates_at_once))
            return self._world.streams[-1]

        return begin


class World:
    def __init__(self, *hosts: str, timeout_s: float = TIMEOUT_S) -> None:
        self.asked_hosts: list[str] = []
        self.metadata: list[Any] = []
        self.streams: list[Stream] = []
        self.silent: set[str] = set()
        self.creates_at_once = 1
        self.told: SimpleQueue[Any] = SimpleQueue()
        channel = EtcdChannel(hosts or ["fake:2379"], lambda host: Grpc(self, host))
        self.watches = EtcdWatches(EtcdClient(channel, timeout_s, sleep=lambda delay_s: None), self.told.put)

    def next_asked(self) -> Any:
        return self.streams[-1].asked.get(timeout=TIMEOUT_S)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.watches.close()
    assert "etcd-watches" not in [thread.name for thread in threading.enumerate()]


def test_a_change_is_told_once_and_after_a_new_watch_again(world: World) -> None:
    world.watches.watch({1: ("/l/1", "")})
    world.watches.watch({2: ("/l/2", "")})
    world.watches.watch({1: ("/l/1", "")})
    first, second = world.next_asked().create_request, world.next_asked().create_request
    assert (first.key, first.range_end, second.key) == (b"/l/1", b"", b"/l/2")
    (stream,) = world.streams
    stream.change(first.watch_id)
    assert world.told.get(timeout=TIMEOUT_S) == 1
    assert world.next_asked().cancel_request.watch_id == first.watch_id
    stream.change(first.watch_id)  # was on its way
    world.watches.watch({1: ("/l/1", "")})
    again = world.next_asked().create_request
    assert again.watch_id not in (first.watch_id, second.watch_id)
    stream.change(again.watch_id)
    stream.change(second.watch_id)
    assert [world.told.get(timeout=TIMEOUT_S) for _ in range(2)] == [1, 2]


def test_many_are_asked_for_at_once(world: World) -> None:
    world.creates_at_once = 3
    world.watches.watch({number: (f"/l/{number}", "") for number in range(3)})
    assert [world.next_asked().create_request.key for _ in range(3)] == [b"/l/0", b"/l/1", b"/l/2"]


def test_a_range_of_keys_is_watched_as_one(world: World) -> None:
    world.watches.watch({"bookies": ("/l/bookies/", "/l/bookies0")})
    create = world.next_asked().create_request
    assert (create.key, create.range_end) == (b"/l/bookies/", b"/l/bookies0")


def test_when_the_stream_ends_anything_may_have_changed(world: World) -> None:
    world.watches.watch({1: ("/l/1", "")})
    world.streams[0].cancel()
    assert world.told.get(timeout=TIMEOUT_S) is None
    world.watches.watch({1: ("/l/1", "")})
    assert len(world.streams) == 2


def test_the_stream_after_one_that_ended_goes_to_the_next_server() -> None:
    world = World("a", "b")
    world.watches.watch({1: ("/l/1", "")})
    world.streams[0].cancel()
    assert world.told.get(timeout=TIMEOUT_S) is None
    world.watches.watch({1: ("/l/1", "")})
    assert world.asked_hosts == ["a", "b"]
    world.watches.close()


def test_a_server_that_is_cut_off_from_the_others_is_asked_to_end_the_stream(world: World) -> None:
    world.watches.watch({1: ("/l/1", "")})
    assert world.metadata == [(("hasleader", "true"),)]


def test_after_a_server_that_takes_no_watch_the_next_one_is_asked() -> None:
    world = World("a", "b", timeout_s=1.0)
    world.silent = {"a"}
    world.watches.watch({1: ("/l/1", "")})
    assert world.asked_hosts == ["a", "b"]
    world.watches.close()
    assert world.told.empty()  # nobody has relied on the stream that was given up


def test_when_no_server_takes_a_watch_they_are_unavailable() -> None:
    world = World("a", "b", timeout_s=0.01)
    world.silent = {"a", "b"}
    with pytest.raises(MetadataUnavailable, match="a,b did not answer"):
        world.watches.watch({1: ("/l/1", "")})
    world.watches.close()


def test_nothing_is_watched_after_close(world: World) -> None:
    world.watches.watch({1: ("/l/1", "")})
    world.watches.close()
    with pytest.raises(MetadataUnavailable, match="stopped"):
        world.watches.watch({1: ("/l/1", "")})


def test_what_nobody_watches_any_more_is_not_watched_in_etcd(world: World) -> None:
    world.watches.watch({1: ("/l/1", ""), 2: ("/l/2", "")})
    first = world.next_asked().create_request
    world.next_asked()
    world.watches.unwatch(1)
    world.watches.unwatch(1)
    world.watches.unwatch(3)
    assert world.next_asked().cancel_request.watch_id == first.watch_id
    (stream,) = world.streams
    stream.change(first.watch_id)  # was on its way
    stream.change(first.watch_id + 1)
    assert world.told.get(timeout=TIMEOUT_S) == 2


def test_after_close_nothing_is_told(world: World) -> None:
    world.watches.watch({1: ("/l/1", "")})
    world.watches.close()
    assert world.told.empty()
