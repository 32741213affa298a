"""Asking a bookie how much disk it has, without a reactor (docs/protocol/bookie-info.md)."""

from attrs import evolve

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.model import BookieDisk
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.transport.blocking import BlockingChannel


class BookieInfoChannel(BlockingChannel):
    """A connection for a request about the bookie itself: in V3, since V2 has no such request."""

    def __init__(self, host: str, port: int, config: ClientConfig | None = None) -> None:
        super().__init__(host, port, evolve(config or ClientConfig(), protocol=WireProtocol.V3))

    def bookie_info(self) -> BookieDisk:
        """Return the disk space; raises the error that the bookie answers, RequestTimedOut, BookieUnavailable."""
        disk: BookieDisk = self.result(self.start(ReadBookieInfo()))
        return disk
