"""Whether all indexes are gone of ledgers whose entries are in logs: a bookie without them would not know the ledgers.

There is no index either when all ledgers were deleted whose logs are still here, so the metadata store is asked.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.at_once import at_once
from bookkeeper_tx.bookie.garbage.garbage_ledgers import LOOKED_UP_AT_ONCE
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName, count, finished_names
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger, RefusedToStart, StorageFailed
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.threads.worker import Threads

log = Logger()


async def refuse_lost_indexes(
    disk: Disk,
    directories: Sequence[str],
    knows: Callable[[int], bool],
    worker: Threads,
    store: MetadataStore,
    bookie_id: BookieId,
) -> None:
    """Raise RefusedToStart if a log has entries of a ledger that the store gives to the bookie, and that has no index.

    To be called when there is no index at all.  ``directories`` have the logs.  ``knows(ledger_id)`` tells what the
    replay of the journal has brought, so this comes after it.  Raises MetadataError and OSError, too.
    """
    looked_up = LedgerIds()
    for path, name in _logs(disk, directories):
        found = await worker.run(_ledgers_in, disk, path, name)
        unknown = [each for each in found if each not in looked_up and not knows(each)]
        for first in range(0, len(unknown), LOOKED_UP_AT_ONCE):
            answers = await at_once(partial(_is_here, store, bookie_id), unknown[first : first + LOOKED_UP_AT_ONCE])
            for ledger_id, is_here in answers:
                if is_here:
                    raise RefusedToStart(
                        f"no ledger has an index here, but {os.path.join(path, name.file_name)} has entries of ledger "
                        f"{ledger_name(ledger_id)}, and its metadata name this bookie: all ledgers in the entry logs "
                        "would be told as unknown.  Bring the indexes back, or make them anew of the entry logs with "
                        "bktx bookie rebuild-index"
                    )
                looked_up.add(ledger_id)


def _logs(disk: Disk, directories: Sequence[str]) -> list[tuple[str, LogName]]:
    """Return the logs, and the directory of each, the last ones first: their ledgers may be there yet."""
    found = [(each, name) for each in directories for name in finished_names(disk.list_directory(each))]
    return sorted(found, key=lambda each: each[1], reverse=True)


def _ledgers_in(disk: Disk, directory: str, name: LogName) -> Iterable[int]:
    try:
        return count(disk, directory, name).ledger_ids()
    except (StorageFailed, OSError) as error:
        log.error("entry log {name} tells nothing: {error}", name=name.file_name, error=error)
        return ()


async def _is_here(store: MetadataStore, bookie_id: BookieId, ledger_id: int) -> bool:
    try:
        stored = await store.read_latest_ledger(ledger_id)
    except (NoSuchLedger, MetadataCorrupt):
        return False
    return any(bookie_id in fragment.ensemble for fragment in stored.metadata.fragments)
