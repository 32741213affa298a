"""Asking a bookie for its disk space."""

from typing import Any

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.errors import RequestTimedOut
from bookkeeper_tx.model import BookieDisk
from tests.client.puppets import Cluster
from tests.conftest import failure_of, result_of


class Channels:
    """The channels of bookies that answer when the test does."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def channel(self, bookie_id: str) -> Any:
        channels = self

        class Channel:
            def bookie_info(self, done: Any) -> None:
                channels.asked.append((bookie_id, done))

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
    done(None, space)
    assert (bookie_id, result_of(asking)) == ("b:1", BookieDisk(*space))


def test_an_error_names_the_bookie(client: BookKeeper, channels: Channels) -> None:
    asking = client.bookie_info("b:1")
    channels.asked[0][1](RequestTimedOut("no answer in 5 s"), None)
    assert str(failure_of(asking, RequestTimedOut)) == "disk space of bookie b:1: no answer in 5 s"


def test_an_answer_that_nobody_waits_for_any_more(client: BookKeeper, channels: Channels) -> None:
    asking = client.bookie_info("b:1")
    asking.cancel()
    failure_of(asking, CancelledError)
    channels.asked[0][1](None, (100, 40))
