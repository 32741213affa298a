"""Asking a bookie how much disk it has (docs/protocol/bookie-info.md)."""

from typing import Any, Protocol, cast

from bookkeeper_tx.client.channel import Done
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieDisk, BookieId


class _InfoChannel(Protocol):
    """The part of a channel that is about the bookie and not about one of its ledgers."""

    def bookie_info(self, done: Done) -> None: ...


def bookie_info(context: ClientContext, bookie_id: BookieId) -> Promise[BookieDisk]:
    """Ask the bookie; an error names the bookie."""
    answer: Promise[BookieDisk] = context.driver.cancellable(lambda _: None)  # a reply after cancel has no effect

    def done(error: BookKeeperError | None, value: Any) -> None:
        if answer.called:
            return
        if error is None:
            answer.callback(BookieDisk(*value))
        else:
            answer.errback(type(error)(f"disk space of bookie {bookie_id}: {error}"))

    cast(_InfoChannel, context.channels.channel(bookie_id)).bookie_info(done)
    return answer
