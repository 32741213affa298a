"""Whether databases are gone whose entry logs are there: new, empty ones would know none of the ledgers in these.

The databases are made before the first log, so a directory that has logs has had them.
"""

import os
from collections.abc import Sequence

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.entry_log_metadata import finished_names
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.db_index import LEDGERS


def refuse_lost_databases(disk: Disk, index_directory: str, ledger_directories: Sequence[str]) -> None:
    """Raise RefusedToStart if there is no database of ledgers, but entry logs are there.  Blocks; raises OSError."""
    path = os.path.join(index_directory, LEDGERS)
    if disk.has_key_values(path):
        return
    for directory in ledger_directories:
        names = finished_names(disk.list_directory(directory))
        if names:
            raise RefusedToStart(
                f"there is no database {path}, but {os.path.join(directory, names[0].file_name)}: all ledgers in the "
                "entry logs of that directory would be told as unknown.  Bring the databases back; or move away what "
                "is left of them, here and in the other directories, make index files of the entry logs with bktx "
                "bookie rebuild-index --renumber, and databases of these with bktx bookie convert --to DbLedgerStorage"
            )
