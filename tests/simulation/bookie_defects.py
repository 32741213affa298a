"""Defects of bookies."""

from array import array
from typing import Any
from unittest.mock import patch

from bookkeeper_tx.bookie import sync_thread
from bookkeeper_tx.bookie.directories import Directories
from bookkeeper_tx.bookie.disk import out_of_descriptors
from bookkeeper_tx.bookie.journal import replay, writer
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.operations import fencing
from bookkeeper_tx.bookie.operations.brake import Brake
from bookkeeper_tx.bookie.storage import entry_log, ledger_index
from bookkeeper_tx.bookie.storage.db import indexes
from bookkeeper_tx.bookie.storage.open_files import OpenFiles
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.errors import StorageFailed
from tests.simulation.defect import Planted, around
from tests.simulation.world import machine


def _mark_of_the_end(checkpoint: Any, thread: Any) -> Any:
    """The mark is sampled after the flush: what was journaled meanwhile is not flushed."""
    flush = thread._storage.flush

    def late(sample: Any) -> Any:
        return flush(sample).addCallback(lambda _: sample())

    with patch.object(thread._storage, "flush", late):
        return checkpoint(thread)


def _fence_not_journaled(fence: Any, self: Any, ledger_id: int, key: bytes, connection: Any, then: Any) -> None:
    ledger, _ = self._keys.open(ledger_id, key)
    self._storage.fence(ledger)
    then(fencing.statuses.EOK)


def _missing_pages_are_empty(read_page: Any, indexes: Any, ledger_id: int, number: int, count: int = 0) -> Any:
    try:
        return read_page(indexes, ledger_id, number, count) if count else read_page(indexes, ledger_id, number)
    except StorageFailed as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return array("Q", bytes(8 * (count or ledger_index.spec.PAGE_COUNT)))
        raise


def _end_without_sync(write: Any) -> None:
    write._put()
    if write._states:
        write._databases.ledgers.put(list(write._states), list(write._states.values()))


def _of_bookies(reactor: Any) -> float:
    machine = reactor._machine
    seconds: float = machine.clock if machine.address.startswith("10.0.0.") else machine.monotonic
    return seconds


def _no_descriptor_is_final(what: str, error: OSError) -> StorageFailed:
    return (writer.SyncFailed if out_of_descriptors(error) else StorageFailed)(f"{what}: {error}")


def _lock_or_refuse(directories: Directories, directory: str) -> None:
    directories._locks.append(directories._disk.lock(f"{directory}/bookie.lock"))


DEFECTS = (
    Planted(
        "acknowledged-before-the-sync",
        "mutant",
        "The journal acknowledges what it has not synced",
        ((writer.JournalWriter, "_sync", lambda self, file: None),),
    ),
    Planted(
        "mark-after-the-flush",
        "mutant",
        "The mark is that of the end of a flush, not of its beginning",
        (
            (
                sync_thread.SyncThread,
                "_checkpoint",
                around(sync_thread.SyncThread._checkpoint, _mark_of_the_end),
            ),
        ),
    ),
    Planted(
        "wall-clock-bookie",
        "ours",
        "The timers of bookies hang on the time of day",
        ((machine.Reactor, "seconds", _of_bookies),),
    ),
    Planted(
        "no-index-is-no-entry",
        "ours",
        "An index file that has vanished has no entries",
        (
            (
                ledger_index.LedgerIndexes,
                "read_page",
                around(ledger_index.LedgerIndexes.read_page, _missing_pages_are_empty),
            ),
        ),
    ),
    Planted(
        "a-journal-file-may-be-missing",
        "ours",
        "A journal file that is missing between two others is not noticed",
        ((replay, "_require_predecessor", lambda *_: None),),
    ),
    Planted(
        "no-first-seal-is-java",
        "ours",
        "A journal file of which the first seal is zeros is taken for an empty one of Java's",
        ((replay, "_refuse_without_opening", lambda *_: None),),
    ),
    Planted(
        "fence-not-journaled",
        "mutant",
        "A fence is answered before it is durable",
        ((fencing.Fencing, "_fence", around(fencing.Fencing._fence, _fence_not_journaled)),),
    ),
    Planted(
        "entry-log-not-synced",
        "mutant",
        "The mark moves on though the entry logs are not synced",
        ((entry_log.EntryLogWriter, "_sync", lambda self, *_: None),),
    ),
    Planted(
        "database-not-synced",
        "mutant",
        "The mark moves on though the databases of locations and states are not synced",
        ((indexes._Write, "end", _end_without_sync),),
    ),
    Planted(
        "the-brake-sticks",
        "ours",
        "Requests that are held back are never looked at again",
        ((Brake, "look_again", lambda _: None),),
    ),
    Planted(
        "a-bookie-without-a-bound",
        "ours",
        "No request is held back, however much waits for the journal",
        ((Brake, "holds", lambda *_: False),),
    ),
    Planted(
        "no-descriptor-ends-the-bookie",
        "ours",
        "A journal file that cannot be opened for want of a descriptor ends the bookie",
        ((writer, "_failed", _no_descriptor_is_final),),
    ),
    Planted(
        "a-start-needs-room",
        "ours",
        "A bookie whose disk is full ends while it starts: it cannot flush what it replays, or make a journal file",
        (
            (StorageSink, "_flush", lambda sink: sink._storage.flush_now()),
            (Journal, "_not_opened", lambda _, failure: failure),
        ),
    ),
    Planted(
        "a-start-writes",
        "ours",
        "A bookie whose disk is read-only ends while it starts: it has to write",
        ((Directories, "_lock", _lock_or_refuse),),
    ),
    Planted(
        "reads-open-for-writing",
        "ours",
        "Index files that are read are opened for writing as well, which a disk that is read-only refuses",
        ((OpenFiles, "_open_file", lambda files, path: files._disk.open(path, writable=True)),),
    ),
)
