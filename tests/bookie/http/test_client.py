"""bookkeeper_tx.bookie.http.client: a client is made when it is needed, and only once."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.http.client import ClientOnDemand
from bookkeeper_tx.errors import MetadataUnavailable
from tests.conftest import failure_of, result_of


class Client:
    """Starts when the test says so."""

    def __init__(self) -> None:
        self.starting: Deferred[None] = Deferred()
        self.closed = 0

    def start(self) -> Deferred[None]:
        return self.starting

    async def close(self) -> None:
        self.closed += 1


def test_requests_that_come_together_share_one() -> None:
    made: list[Any] = []

    def make() -> Any:
        made.append(Client())
        return made[-1]

    on_demand = ClientOnDemand(make)
    result_of(on_demand.stop())
    asked = [Deferred.fromCoroutine(on_demand.started()) for _ in range(2)]
    made[0].starting.callback(None)
    assert [result_of(each) for each in asked] == made * 2
    result_of(on_demand.stop())
    assert made[0].closed == 1


def test_one_that_cannot_start_is_closed_and_made_again() -> None:
    made = [Client(), Client()]
    waiting: Any = iter(made)
    on_demand = ClientOnDemand(lambda: next(waiting))
    failing = Deferred.fromCoroutine(on_demand.started())
    made[0].starting.errback(MetadataUnavailable())
    failure_of(failing, MetadataUnavailable)
    again: Any = Deferred.fromCoroutine(on_demand.started())
    made[1].starting.callback(None)
    assert result_of(again) is made[1]
    assert (made[0].closed, made[1].closed) == (1, 0)
