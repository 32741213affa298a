"""What a bookie does besides requests, for ``bktx bench storage``: compactions, and the replay of its journal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.compaction import Compaction
from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.journal.records import key_record
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata, count
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.threads.worker import Worker

UNBOUNDED_RATE: Final = 1e12
"""Entries a second that a compaction may move: it is measured without its brake."""


async def finished_logs(disk: Disk, storage: LedgerStorage, worker: Worker) -> list[EntryLogMetadata]:
    """Return what is in the logs that are not written any more.

    Full ones say so in a map; the last, which is not full, is read for that, which is no part of a compaction.
    """
    collection = storage.collection
    names = await collection.finished_logs()
    return [await worker.run(count, disk, collection.directory_of(each), each) for each in names]


async def compact(
    reactor: Any,
    disk: Disk,
    storage: LedgerStorage,
    worker: Worker,
    config: BookieConfig,
    logs: Sequence[EntryLogMetadata],
) -> int:
    """Compact ``logs``, whatever they hold; return how many entries were moved."""
    pace = Pace(reactor, UNBOUNDED_RATE)
    compaction = Compaction(disk, storage.collection, worker, config, pace, Counter(), lambda: True)
    return (await compaction.compact(logs, _usage)).moved_count


def _usage(metadata: EntryLogMetadata) -> float:
    return metadata.usage_of(0)


async def write_journal(
    disk: Disk, directory: str, config: BookieConfig, worker: Worker, master_key: bytes, runs: Iterable[EntryRun]
) -> None:
    """Write ``runs`` to a journal in ``directory``, each with the key of its ledger where that is new.

    Raises what the journal fails with.
    """
    errors: list[BaseException] = []
    journal = Journal(disk, directory, config, threads=worker, on_fatal=errors.append)
    await journal.start()
    known: set[int] = set()
    for run in runs:
        records = [run.buffer] if run.ledger_id in known else [key_record(run.ledger_id, master_key), run.buffer]
        known.add(run.ledger_id)
        written: Deferred[BaseException | None] = Deferred()
        written.addCallback(lambda error: errors.append(error) if error is not None else None)
        journal.append(records, written.callback)
        if journal.queued_bytes >= config.write_cache_bytes_max:
            await written
    await journal.stop()
    if errors:
        raise errors[0]
