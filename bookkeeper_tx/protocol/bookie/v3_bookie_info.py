"""The V3 request for a bookie's disk space, and its reply (docs/protocol/bookie-info.md)."""

from typing import Any

from bookkeeper_tx.protocol.bookie.v3_request import V3Request
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status


class BookieInfoRequest(V3Request):
    """Report the disk space of the bookie: bit 0 of ``requested`` asks for the total, bit 1 for the free space."""

    __slots__ = ("requested",)

    operation = V3Operation.GET_BOOKIE_INFO

    def take(self, part: Any) -> None:
        self.requested = part.requested

    def reply(self, status: Status, total_bytes: int, free_bytes: int) -> bytes:
        requested = self.requested if status is statuses.EOK else 0
        return self.answer(
            status,
            total_disk_capacity=total_bytes if requested & v3.BookieInfo.TOTAL_DISK_CAPACITY else None,
            free_disk_space=free_bytes if requested & v3.BookieInfo.FREE_DISK_SPACE else None,
        )
