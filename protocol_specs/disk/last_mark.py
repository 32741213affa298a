"""The file ``lastMark`` of every ledger directory: all that the journal has before it is in the ledger storage."""

from construct import Int64sb, Struct

FILE_NAME = "lastMark"
"""With one journal directory; with several, ``lastMark.0`` and so on, by position in the configuration."""


def file_name(index: int, count: int) -> str:
    """Return the name of the file with the mark of journal ``index`` of ``count``."""
    return FILE_NAME if count == 1 else f"{FILE_NAME}.{index}"


LAST_MARK = Struct(
    "journal_id" / Int64sb * "the journal file `<id>.txn`", "offset" / Int64sb * "in that file: where replay starts"
)
"""The marked journal file must exist.  It is replayed from ``offset`` on, then all later files."""
