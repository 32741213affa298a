from typing import Any

from bookkeeper_tx.bookie.operations.room import Room
from tests.bookie.seams import Client


class Requests:
    """Requests that take room, by name, and those that have it."""

    def __init__(self, bytes_max: int) -> None:
        self.room = Room(bytes_max)
        self.having: list[str] = []

    def take(self, name: str, size: int) -> Any:
        client: Any = Client()
        self.room.take(size, client).addCallback(lambda _: self.having.append(name))
        return client


def test_who_finds_no_room_waits_for_its_turn() -> None:
    requests = Requests(10)
    for name, size in (("a", 6), ("b", 4), ("c", 5), ("d", 1)):
        requests.take(name, size)
    assert (requests.having, requests.room.bytes) == (["a", "b"], 10)
    requests.room.give_back(4)
    assert (requests.having, requests.room.bytes) == (["a", "b"], 6)
    requests.room.give_back(6)
    assert (requests.having, requests.room.bytes) == (["a", "b", "c", "d"], 6)


def test_what_is_larger_than_all_room_has_it_alone() -> None:
    requests = Requests(10)
    requests.take("small", 1)
    requests.take("large", 100)
    assert requests.having == ["small"]
    requests.room.give_back(1)
    requests.take("other", 1)
    assert requests.having == ["small", "large"]
    requests.room.give_back(100)
    assert (requests.having, requests.room.bytes) == (["small", "large", "other"], 1)


def test_clients_that_have_gone_take_no_room_and_do_not_gather() -> None:
    requests = Requests(10)
    requests.take("a", 10)
    for _ in range(1000):
        requests.take("gone", 10).lose()
    assert len(requests.room._waiting) == 1
    requests.take("b", 10)
    requests.room.give_back(10)
    assert (requests.having, requests.room.bytes) == (["a", "b"], 10)


def test_many_that_give_back_at_once_do_not_fill_the_stack() -> None:
    room, client = Room(10), Client()
    assert room.take(10, client).called
    for _ in range(10_000):
        room.take(10, client).addCallback(lambda _: room.give_back(10))
    room.give_back(10)
    assert room.bytes == 0
