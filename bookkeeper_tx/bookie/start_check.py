"""The local consistency check at the start: whether all entries that the indexes have are in the entry logs."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from attrs import frozen
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.consistency import Checked, check
from bookkeeper_tx.bookie.offline.entry_logs import EntryLogs
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.errors import RefusedToStart

FAULTS_LOGGED: Final = 100

log = Logger()


@frozen
class _OneDirectory:
    """The indexes and the logs of one storage, as those of a bookie that does not run."""

    indexes: Indexes
    logs: EntryLogs

    def find(self, ledger_id: int) -> Indexes:
        return self.indexes

    def ledger_ids(self) -> Iterator[int]:
        return self.indexes.ledger_ids()

    def logs_of(self, ledger_id: int) -> EntryLogs:
        return self.logs

    def close(self) -> None:
        self.logs.close()


def check_entries(disk: Disk, directories: Sequence[str], storage: LedgerStorage, writable: bool) -> None:
    """Look for every entry that the indexes have in the entry logs of ``directories``, when the journal is replayed.

    It is flushed before, if that is ``writable``: a crash may have left locations of bytes that only the journal has.
    Blocks, and reads all entries.  Raises RefusedToStart if one is not there, OSError.
    """
    if storage.dirty and writable:
        storage.flush_now()
    checked, first = Checked(), ""
    with closing(_OneDirectory(storage.indexes, EntryLogs(disk, list(directories)))) as stored:
        for fault in check(stored, checked):
            first = first or fault.text
            if checked.faults <= FAULTS_LOGGED:
                log.error("local consistency check: {fault}", fault=fault.text)
    log.info("checked {entries} entries of {ledgers} ledgers", entries=checked.entries, ledgers=checked.ledgers)
    if checked.faults:
        raise RefusedToStart(
            f"{checked.faults} entries of {', '.join(directories)} are not where the indexes say, the first: {first}. "
            "Bring back the entry logs; or leave out localConsistencyCheckOnStartup, to serve the other entries; or "
            "empty the directories, and have the entries copied with dataIntegrityChecking=true"
        )
