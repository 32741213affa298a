"""The V3 request for the list of entries of a ledger, and its reply (docs/protocol/list-entries.md)."""

from bookkeeper_tx.protocol.bookie.v3_request import V3LedgerRequest
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status


class ListEntriesRequest(V3LedgerRequest):
    """Report which entries of a ledger are stored here."""

    __slots__ = ()

    operation = V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER

    def reply(self, status: Status, availability: bytes | None) -> bytes:
        """Encode the reply; ``availability`` is the list of entries as ``protocol_specs.wire.entry_list`` has it."""
        return self.answer(status, availability_of_entries_of_ledger=availability)
