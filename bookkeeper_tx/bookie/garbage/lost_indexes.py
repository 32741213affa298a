"""Whether indexes are gone of ledgers whose entries are here: a bookie without them would not know the ledgers.

There is no index either of ledgers that were deleted, so the metadata store is asked.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.at_once import at_once
from bookkeeper_tx.bookie.garbage.garbage_ledgers import LOOKED_UP_AT_ONCE
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName, count, finished_names
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged, scan
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger, RefusedToStart
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.threads.worker import Threads

WAY_OUT: Final = "Bring the indexes back, or make them anew of the entry logs with bktx bookie rebuild-index"

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
    replay of the journal has brought, so this comes after it.  Raises MetadataError, and OSError, also for a log that
    cannot be read: nobody knows what is in it.
    """
    looked_up = LedgerIds()
    for path, name in _logs(disk, directories):
        found = await worker.run(_ledgers_in, disk, path, name)
        unknown = [each for each in found if each not in looked_up and not knows(each)]
        ledger_id = await _first_here(store, bookie_id, unknown)
        if ledger_id is not None:
            raise RefusedToStart(
                f"no ledger has an index here, but {os.path.join(path, name.file_name)} has entries of ledger "
                f"{ledger_name(ledger_id)}, and its metadata name this bookie: all ledgers in the entry logs would be "
                f"told as unknown.  {WAY_OUT}"
            )
        for each in unknown:
            looked_up.add(each)


async def refuse_passed_over(store: MetadataStore, bookie_id: BookieId, ledger_ids: Sequence[int]) -> None:
    """Raise RefusedToStart if the store gives one of these ledgers to the bookie: they have no index.

    They are those whose records the replay of the journal has passed over, though it is not in the journal that they
    were deleted; to be called before the mark is moved behind these records.  Raises MetadataError, too.
    """
    ledger_id = await _first_here(store, bookie_id, ledger_ids)
    if ledger_id is not None:
        raise RefusedToStart(
            f"the journal has records of ledger {ledger_name(ledger_id)}, which has no index here, and its metadata "
            f"name this bookie: its entries would be told as unknown, and those in the journal be lost.  {WAY_OUT}; or "
            "have it copy what it has lost (dataIntegrityChecking)"
        )


async def _first_here(store: MetadataStore, bookie_id: BookieId, ledger_ids: Sequence[int]) -> int | None:
    """Return the first of these ledgers that the store gives to the bookie."""
    for first in range(0, len(ledger_ids), LOOKED_UP_AT_ONCE):
        some = ledger_ids[first : first + LOOKED_UP_AT_ONCE]
        for ledger_id, is_here in await at_once(partial(_is_here, store, bookie_id), some):
            if is_here:
                return ledger_id
    return None


def _logs(disk: Disk, directories: Sequence[str]) -> list[tuple[str, LogName]]:
    """Return the logs, and the directory of each, the last ones first: their ledgers may be there yet."""
    found = [(each, name) for each in directories for name in finished_names(disk.list_directory(each))]
    return sorted(found, key=lambda each: each[1], reverse=True)


def _ledgers_in(disk: Disk, directory: str, name: LogName) -> Iterable[int]:
    """Return the ledgers in a log, those before the damage in one that is damaged.  Raises OSError."""
    try:
        return count(disk, directory, name).ledger_ids()
    except Damaged as error:
        log.error("entry log {name} tells of some of its ledgers: {error}", name=name.file_name, error=error)
    found: set[int] = set()
    with closing(disk.open(os.path.join(directory, name.file_name))) as file, suppress(Damaged):
        for placed in scan(file, name.log_id, name.scoped):
            found.update(each.run.ledger_id for each in placed)
    return sorted(found)


async def _is_here(store: MetadataStore, bookie_id: BookieId, ledger_id: int) -> bool:
    try:
        stored = await store.read_latest_ledger(ledger_id)
    except (NoSuchLedger, MetadataCorrupt):
        return False
    return any(bookie_id in fragment.ensemble for fragment in stored.metadata.fragments)
