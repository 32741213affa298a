"""Asking a bookie how much disk it has (docs/protocol/bookie-info.md)."""

from bookkeeper_tx.client.ask import ask
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.model import BookieDisk, BookieId
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo


def bookie_info(context: ClientContext, bookie_id: BookieId) -> Promise[BookieDisk]:
    """Ask the bookie; an error names the bookie."""
    channel = context.channels.channel(bookie_id)
    return ask(context.driver, channel, ReadBookieInfo(), f"disk space of bookie {bookie_id}")
