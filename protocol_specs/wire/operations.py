"""Operations and flags of the V2 and V3 protocols."""

from enum import IntEnum, IntFlag


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
