"""Ids of entry logs that no two directories have, for index files in the place of lost databases of DbLedgerStorage."""

from contextlib import closing

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.entry_logs import list_logs
from bookkeeper_tx.bookie.offline.index_files import IndexFiles
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.storage.compaction_leftovers import clean
from bookkeeper_tx.bookie.storage.several.log_numbers import renumber, stride_of
from bookkeeper_tx.errors import InvalidArgument


def make_unique(disk: Disk, places: Places) -> None:
    """Rename logs if several directories have one of the same id.  Blocks.

    What is cut short is to be begun again.  Raises InvalidArgument if there are index files, which know the logs by
    their ids, OSError, RefusedToStart.
    """
    currents = places.ledger_currents
    for current in currents:
        clean(disk, current)
    ids = [(log.log_id, log.scoped) for log in list_logs(disk, currents)]
    if len(ids) == len(set(ids)):
        return
    with closing(IndexFiles(disk, places.index_currents)) as files:
        if any(True for _ in files.ledger_ids()):
            raise InvalidArgument("there are index files already, which know the entry logs by the ids that they have")
    renumber(disk, currents, stride_of(disk, currents))
