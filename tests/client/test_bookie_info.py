"""Asking a bookie for its disk space."""

from typing import Any

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.errors import RequestTimedOut
from bookkeeper_tx.model import BookieDisk
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from tests.client.puppets import Cluster
from tests.conftest import failure_of, result_of


class Channels:
    """The channels of bookies that answer when the test does."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.given_up: list[str] = []

    def channel(self, bookie_id: str) -> Any:
        channels = self

        class Channel:
            def send(self, request: Any, done: Any) -> Any:
                assert isinstance(request, ReadBookieInfo)
                channels.asked.append((bookie_id, done))
                return lambda: channels.given_up.append(bookie_id)

        return Channel()


@pytest.fixture
def channels() -> Channels:
    return Channels()


@pytest.fixture
def client(channels: Channels) -> BookKeeper:
    return BookKeeper(Cluster().client().metadata, None, Clock(), channels=channels)  # type: ignore[arg-type]


@pytest.mark.parametrize("space", [(100, 40), (None, None)])
def test_a_bookie_says_what_it_has(client: BookKeeper, channels: Channels, space: tuple[Any, Any]) -> None:
    asking = client.bookie_info("b:1")
    ((bookie_id, done),) = channels.asked
    done(None, BookieDisk(*space))
    assert (bookie_id, result_of(asking)) == ("b:1", BookieDisk(*space))


def test_an_error_names_the_bookie(client: BookKeeper, channels: Channels) -> None:
    asking = client.bookie_info("b:1")
    channels.asked[0][1](RequestTimedOut("no answer in 5 s"), None)
    assert str(failure_of(asking, RequestTimedOut)) == "disk space of bookie b:1: no answer in 5 s"


def test_a_question_can_be_given_up(client: BookKeeper, channels: Channels) -> None:
    asking = client.bookie_info("b:1")
    asking.cancel()
    failure_of(asking, CancelledError)
    assert channels.given_up == ["b:1"]
