"""The columns of table ``entries``, and those that the options ask for."""

import pyarrow as pa

from bookkeeper_tx.spark.options.options import Options

COLUMNS = pa.schema(
    [
        ("scope_id", pa.int64()),
        ("ledger_id", pa.int64()),
        ("entry_id", pa.int64()),
        ("payload", pa.binary()),
        ("lac", pa.int64()),
        ("length", pa.int64()),
        ("digest_ok", pa.bool_()),
        ("bookie", pa.string()),
        ("lost", pa.string()),
    ]
)
"""All columns, in their order."""


def included_columns(options: Options) -> pa.Schema:
    """Return the columns that the ``include…`` options ask for."""
    asked = {
        "scope_id": options.include_scope,
        "payload": options.include_payload,
        "lac": options.include_last_add_confirmed,
        "length": options.include_length,
        "digest_ok": options.include_digest,
        "bookie": options.include_bookie,
        "lost": options.include_lost,
    }
    return pa.schema([each for each in COLUMNS if asked.get(each.name, True)])
