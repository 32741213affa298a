"""bookkeeper_tx.metadata.etcd.watches: what is told of a change, of a broken stream, and to whom."""

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import WatchStream
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.etcd.watches import EtcdWatches
from protocol_specs.metadata import etcd_pb2 as messages

TIMEOUT_S = 60


class Broken(Exception):
    """As gRPC's error for a stream that has ended."""

    def code(self) -> None: ...


class Stream:
    """A stream of watches whose answers come from the test; creates are answered at once unless it is ``silent``."""

    def __init__(self, requests: Iterator[Any], silent: bool, answers_after: int) -> None:
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self.asked: SimpleQueue[Any] = SimpleQueue()
        self._silent = silent
        self._answers_after = answers_after
        threading.Thread(target=self._pump, args=(requests,), daemon=True).start()

    def _pump(self, requests: Iterator[Any]) -> None:
        created: list[Any] = []
        for request in requests:
            self.asked.put(request)
            if request.HasField("create_request") and not self._silent:
                created.append(messages.WatchResponse(watch_id=request.create_request.watch_id, created=True))
            while created and self.asked.qsize() >= self._answers_after:
                self.answers.put(created.pop(0))

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


class Channel:
    hosts = "fake:2379"

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.left: list[Stream] = []
        self.silent = False
        self.answers_after = 0

    def watch(self, requests: Iterator[Any]) -> WatchStream:
        stream = Stream(requests, self.silent, self.answers_after)
        self.streams.append(stream)
        return WatchStream(stream, lambda: self.left.append(stream))


class World:
    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self.channel: Any = Channel()
        self.told: SimpleQueue[Any] = SimpleQueue()
        self.watches = EtcdWatches(EtcdClient(self.channel, timeout_s), self.told.put)

    def next_asked(self) -> Any:
        return self.channel.streams[-1].asked.get(timeout=TIMEOUT_S)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.watches.close()
    assert "etcd-watches" not in [thread.name for thread in threading.enumerate()]


def test_a_change_is_told_once_and_after_a_new_watch_again(world: World) -> None:
    world.watches.watch({1: "/l/1"})
    world.watches.watch({2: "/l/2"})
    world.watches.watch({1: "/l/1"})
    first, second = world.next_asked().create_request, world.next_asked().create_request
    assert (first.key, first.range_end, second.key) == (b"/l/1", b"", b"/l/2")
    (stream,) = world.channel.streams
    stream.change(first.watch_id)
    assert world.told.get(timeout=TIMEOUT_S) == 1
    assert world.next_asked().cancel_request.watch_id == first.watch_id
    stream.change(first.watch_id)  # was on its way
    world.watches.watch({1: "/l/1"})
    again = world.next_asked().create_request
    assert again.watch_id not in (first.watch_id, second.watch_id)
    stream.change(again.watch_id)
    stream.change(second.watch_id)
    assert [world.told.get(timeout=TIMEOUT_S) for _ in range(2)] == [1, 2]


def test_all_that_is_below_a_key_is_watched_with_it(world: World) -> None:
    world.watches.watch({"bookies": "/l/bookies/"})
    create = world.next_asked().create_request
    assert (create.key, create.range_end) == (b"/l/bookies/", b"/l/bookies0")


def test_when_the_stream_ends_anything_may_have_changed(world: World) -> None:
    world.watches.watch({1: "/l/1"})
    world.channel.streams[0].cancel()
    assert world.told.get(timeout=TIMEOUT_S) is None
    assert world.channel.left == world.channel.streams  # before it is told, so that the next watch goes elsewhere
    world.watches.watch({1: "/l/1"})
    assert len(world.channel.streams) == 2


def test_a_server_that_takes_no_watch_is_unavailable_and_the_next_watch_begins_anew() -> None:
    world = World(timeout_s=0.01)
    world.channel.silent = True
    with pytest.raises(MetadataUnavailable, match="fake:2379"):
        world.watches.watch({1: "/l/1"})
    world.watches.close()
    assert world.told.empty()  # nobody has missed anything
    world = World()
    world.watches.watch({1: "/l/1"})
    world.watches.close()
    assert not world.channel.left
    with pytest.raises(MetadataUnavailable, match="stopped"):
        world.watches.watch({1: "/l/1"})


def test_many_are_asked_for_at_once(world: World) -> None:
    world.channel.answers_after = 100  # none is answered before that many are asked for
    world.watches.watch({number: f"/l/{number}" for number in range(100)})
    assert len(world.channel.streams) == 1


def test_what_nobody_watches_any_more_is_not_watched_in_etcd(world: World) -> None:
    world.watches.watch({1: "/l/1", 2: "/l/2"})
    first = world.next_asked().create_request
    world.next_asked()
    world.watches.unwatch(1)
    world.watches.unwatch(1)
    world.watches.unwatch(3)
    assert world.next_asked().cancel_request.watch_id == first.watch_id
    (stream,) = world.channel.streams
    stream.change(first.watch_id)  # was on its way
    stream.change(first.watch_id + 1)
    assert world.told.get(timeout=TIMEOUT_S) == 2


def test_after_close_nothing_is_told(world: World) -> None:
    world.watches.watch({1: "/l/1"})
    world.watches.close()
    assert world.told.empty()
