"""The V3 request for a bookie's disk space, and its reply (docs/protocol/bookie-info.md)."""

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status


class BookieInfoRequest:
    """A request for the bookie's disk space."""

    __slots__ = ("_txn_id", "requested")

    def __init__(self, message: Decoded) -> None:
        self._txn_id = message.header.txn_id
        self.requested = message.get_bookie_info_request.requested

    def reply(self, status: Status, total_bytes: int, free_bytes: int) -> bytes:
        requested = self.requested if status is statuses.EOK else 0
        return v3_replies.reply(
            V3Operation.GET_BOOKIE_INFO,
            self._txn_id,
            status,
            total_disk_capacity=total_bytes if requested & v3.BookieInfo.TOTAL_DISK_CAPACITY else None,
            free_disk_space=free_bytes if requested & v3.BookieInfo.FREE_DISK_SPACE else None,
        )


def read(message: Decoded) -> BookieInfoRequest | Answered:
    """Return the request in ``message``, or an error reply."""
    request = BookieInfoRequest(message)
    return request if message.header.version == v3.VERSION else Answered(request.reply(statuses.EBADVERSION, 0, 0))
