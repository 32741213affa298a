"""The question which entries of a ledger a bookie stores (docs/protocol/list-entries.md), in V3."""

from typing import Any

from attrs import frozen
from google.protobuf.message import Message

from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.protocol.client.requests.request import Request
from protocol_specs.codecs import Malformed
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation


@frozen
class ListEntries(Request):
    """List the entries of a ledger that are stored there; its value is an EntryList."""

    operation = V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER
    own_connection = True  # a release that does not know the request closes the connection

    ledger_id: int

    def part(self) -> Message:
        return v3_pb2.GetListOfEntriesOfLedgerRequest(**self.ledger())

    def read(self, part: Any) -> EntryList:
        try:
            return EntryList.decode(part.availability_of_entries_of_ledger)
        except Malformed as error:
            raise ProtocolViolation(f"list of entries of ledger {ledger_name(self.ledger_id)}: {error}") from None
