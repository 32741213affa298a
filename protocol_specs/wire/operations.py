"""Operations and flags of the V2 and V3 protocols, and the fields of V3 that carry an operation."""

from enum import IntEnum, IntFlag
from typing import NamedTuple


class Operation(IntEnum):
    """Operation codes of V2.  4, 5 and 6 are reserved: no release decodes them."""

    ADD_ENTRY = 1
    READ_ENTRY = 2
    AUTH = 3
    BATCH_READ_ENTRY = 7


class Flag(IntFlag):
    """Flags of a V2 request; unknown bits are ignored by every release."""

    FENCING = 1
    RECOVERY_ADD = 2
    HIGH_PRIORITY = 4


class V3Operation(IntEnum):
    """Operation types of V3."""

    READ_ENTRY = 1
    ADD_ENTRY = 2
    RANGE_READ_ENTRY = 3
    RANGE_ADD_ENTRY = 4
    AUTH = 5
    WRITE_LAC = 6
    READ_LAC = 7
    GET_BOOKIE_INFO = 8
    START_TLS = 9
    FORCE_LEDGER = 10
    GET_LIST_OF_ENTRIES_OF_LEDGER = 11
    BATCH_READ_ENTRY = 12


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
