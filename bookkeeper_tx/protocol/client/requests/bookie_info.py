"""The question how much disk a bookie has (docs/protocol/bookie-info.md), in V3."""

from typing import Any

from attrs import frozen
from google.protobuf.message import Message

from bookkeeper_tx.model import BookieDisk
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.v3_answers import present
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import V3Operation


@frozen
class ReadBookieInfo(Request):
    """Ask for the disk space of the bookie; its value is a BookieDisk."""

    operation = V3Operation.GET_BOOKIE_INFO

    requested: int = v3.BookieInfo.TOTAL_DISK_CAPACITY | v3.BookieInfo.FREE_DISK_SPACE

    def part(self) -> Message:
        return v3_pb2.GetBookieInfoRequest(requested=self.requested)

    def read(self, part: Any) -> BookieDisk:
        return BookieDisk(present(part, "total_disk_capacity"), present(part, "free_disk_space"))
