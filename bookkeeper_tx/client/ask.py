"""One request to one bookie, as a promise of its value."""

from typing import Any

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.driver import Driver, Promise
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.requests.request import Request


def ask(driver: Driver, channel: Channel, request: Request, what: str) -> "Promise[Any]":
    """Send ``request``; return a promise of its value, whose cancellation gives up.  An error begins with ``what``."""

    def done(error: BookKeeperError | None, value: Any) -> None:
        if error is None:
            answer.callback(value)
        else:
            answer.errback(type(error)(f"{what}: {error}"))

    answer: Promise[Any] = driver.cancellable(lambda _: give_up())
    give_up = channel.send(request, done)
    return answer
