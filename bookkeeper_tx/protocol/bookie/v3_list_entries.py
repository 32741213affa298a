"""The V3 request for the list of entries of a ledger, and its reply (docs/protocol/list-entries.md)."""

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import ledger_id
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status


class ListEntriesRequest:
    """A request for the list of the entries of a ledger that are stored here."""

    __slots__ = ("_ledger_id", "_scope_id", "_txn_id", "ledger_id")

    def __init__(self, message: Decoded) -> None:
        request = message.get_list_of_entries_of_ledger_request
        self._txn_id = message.header.txn_id
        self._ledger_id, self._scope_id = request.ledger_id, request.ledger_scope_id
        self.ledger_id = ledger_id.join(self._scope_id, self._ledger_id)

    def reply(self, status: Status, availability: bytes | None) -> bytes:
        return v3_replies.reply(
            V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER,
            self._txn_id,
            status,
            ledger_id=self._ledger_id,
            availability_of_entries_of_ledger=availability,
            ledger_scope_id=self._scope_id,
        )


def read(message: Decoded) -> ListEntriesRequest | Answered:
    """Return the request in ``message``, or an error reply."""
    request = ListEntriesRequest(message)
    return request if message.header.version == v3.VERSION else Answered(request.reply(statuses.EBADVERSION, None))
