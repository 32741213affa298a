"""All tables of answers, by name, and their rows, by key."""

from protocol_specs.wire.answers import adds, others, reads
from protocol_specs.wire.answers.row import Body, Bookie, Key, Ledger, Row, Version, rows_of

TABLES = {
    table.name: table
    for table in (
        adds.ADD_ENTRY,
        adds.ADD_ENTRY_WRONG,
        reads.READ_ENTRY,
        reads.BATCH_READ,
        reads.LONG_POLL,
        others.WRITE_LAC,
        others.READ_LAC,
        others.FORCE_LEDGER,
        others.LIST_ENTRIES,
        others.BOOKIE_INFO,
        others.START_TLS,
    )
}

ROWS = {row.key: row for table in TABLES.values() for row in rows_of(table)}


def to_a_fenced_ledger() -> list[Row]:
    """Return the rows of valid requests, with the right key, to a fenced ledger."""
    good = (Bookie.SERVING, Key.RIGHT, Version.SPOKEN, Body.WHOLE, Ledger.FENCED)
    return [
        row
        for row in ROWS.values()
        if (row.bookie, row.request.key, row.request.version, row.request.body, row.ledger) == good
    ]
