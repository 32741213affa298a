"""Which messages of ``v3.proto`` belong to which operation, and the numbers that the file itself cannot name."""

from enum import IntFlag
from typing import NamedTuple

from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation

VERSION = v3_pb2.VERSION_THREE
"""The version of every header that is served; replies of the served operations carry it too."""

PRIORITY_HIGH = 100
"""The priority that clients send to be served ahead of others; a bookie only checks whether it is above 0."""

REPLY_OVERHEAD_MAX = 128
"""An upper limit of a reply's bytes beside its entry, entries or list: seven numbers of up to 10 bytes, the status
twice, tags and lengths."""


class BookieInfo(IntFlag):
    """Bits of ``GetBookieInfoRequest.requested``."""

    TOTAL_DISK_CAPACITY = 1
    FREE_DISK_SPACE = 2


class WriteFlag(IntFlag):
    """Bits of ``AddRequest.write_flags``; unknown ones are ignored."""

    DEFERRED_SYNC = 1


class Parts(NamedTuple):
    """The fields of ``Request`` and ``Response`` that carry an operation."""

    request: str
    response: str


PARTS = {
    V3Operation.READ_ENTRY: Parts("read_request", "read_response"),
    V3Operation.ADD_ENTRY: Parts("add_request", "add_response"),
    V3Operation.AUTH: Parts("auth_request", "auth_response"),
    V3Operation.WRITE_LAC: Parts("write_lac_request", "write_lac_response"),
    V3Operation.READ_LAC: Parts("read_lac_request", "read_lac_response"),
    V3Operation.GET_BOOKIE_INFO: Parts("get_bookie_info_request", "get_bookie_info_response"),
    V3Operation.START_TLS: Parts("start_tls_request", "start_tls_response"),
    V3Operation.FORCE_LEDGER: Parts("force_ledger_request", "force_ledger_response"),
    V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER: Parts(
        "get_list_of_entries_of_ledger_request", "get_list_of_entries_of_ledger_response"
    ),
    V3Operation.BATCH_READ_ENTRY: Parts("batch_read_request", "batch_read_response"),
}
"""Operations without messages are missing: range read and range add were never built."""

REQUEST_CONTEXT_TAG = v3_pb2.Request(request_context=[v3_pb2.ContextPair()]).SerializePartialToString()[:-1]
"""The bytes before the length of a pair of the request context."""
