"""A channel goes through the table of the reference, row by row."""

from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.transport.channel import Channel, ChannelState
from bookkeeper_tx.transport.pace import Pace
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from protocol_specs.states import CHANNEL, Transition
from tests.transport.puppet import CONFIG, Puppet


class Bench(Puppet):
    """A channel whose requests are only counted: made on a connection, or failed."""

    def __init__(self) -> None:
        super().__init__()
        self.bare = Channel(
            TwistedDriver(self.reactor),
            self.resolve,
            lambda: V2ClientConnection(CONFIG.frame_size_max),
            CONFIG,
            Pace(longest_s=0),
        )
        self.made: list[Any] = []
        self.failed: list[Any] = []

    @property
    def state(self) -> ChannelState:
        return self.bare._state

    def request(self) -> None:
        self.bare.send(lambda link, _: self.made.append(link), lambda error, _: self.failed.append(error))
        self.reactor.advance(0)

    def close(self) -> None:
        self.bare.close()
        self.reactor.advance(0)


EVENTS: dict[str, Callable[[Bench], None]] = {
    "a request": Bench.request,
    "connected, secured, authenticated": Bench.accept,
    "the connection is lost": Bench.lose,
    "cannot connect": Bench.refuse,
    "the reconnect delay is over": lambda bench: bench.reactor.advance(CONFIG.reconnect_delay_s),
    "close": Bench.close,
}

WAYS: dict[str, tuple[Callable[[Bench], None], ...]] = {
    "IDLE": (),
    "CONNECTING": (Bench.request,),
    "CONNECTED": (Bench.request, Bench.accept),
    "RESTING": (Bench.request, Bench.refuse),
    "CLOSED": (Bench.close,),
}
"""How each state is reached."""


@pytest.mark.parametrize("row", CHANNEL.transitions, ids=lambda row: f"{row.state}: {row.event}")
def test_each_row(row: Transition) -> None:
    bench = Bench()
    for step in WAYS[row.state]:
        step(bench)
    assert bench.state.name == row.state
    made, failed, attempts = len(bench.made), len(bench.failed), bench.attempts
    EVENTS[row.event](bench)
    assert bench.state.name == row.next
    assert (len(bench.made) > made) == (row.action in ("send it", "send the queue"))
    assert (len(bench.failed) > failed) == (row.action in ("fail it", "fail the queue"))
    assert (bench.attempts > attempts) == row.action.endswith("connect")
