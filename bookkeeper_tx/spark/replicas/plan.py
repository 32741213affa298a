"""Ledgers shared out among the tasks that read replicas: by size, or by number if the ledgers are very many."""

import logging
from collections.abc import Sequence
from math import ceil
from typing import Final

from attrs import frozen
from pyspark.sql.datasource import InputPartition

from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import Versioned
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.filters import IdFilter
from bookkeeper_tx.spark.plan.ledger_chunks import ChosenLedgers, Chunk, read_chunk
from bookkeeper_tx.spark.replicas.pieces import Share

SIZES_LOOKED_AT_MAX: Final = 100_000
"""Up to so many ledgers the planner reads the metadata; above that it knows only the ids."""

CHUNK_MAX: Final = 200
"""Ledgers of one task if their sizes are not known."""

_ROUNDING: Final = 1e-9

log = logging.getLogger(__name__)


@frozen
class Task:
    """The ledgers that one task reads, and its share of a large one."""

    chunk: Chunk
    share: Share
    block_size: int
    """Entries that one row is about, at most."""


class ReplicasInput(InputPartition):
    """The partition of one task."""

    def __init__(self, task: Task, entry_ids: IdFilter, password: Secret) -> None:
        super().__init__((task, entry_ids, password))


@frozen
class Size:
    """The size of a ledger; for an open one as far as it is known."""

    ledger_id: int
    entries: int = 0
    length: int = 0
    """Payload bytes."""


def plan(store: BlockingStore, chosen: ChosenLedgers, options: Options) -> list[Task]:
    """Share out the ledgers; those known not to have the custom metadata that the options ask for are left out."""
    target = Target(options.max_entries_per_partition, options.max_bytes_per_partition)
    if len(chosen.ids) > SIZES_LOOKED_AT_MAX:
        return [Task(chunk, Share(), target.entries) for chunk in chosen.chunks(CHUNK_MAX, options.min_partitions)]
    read = read_chunk(store, chosen.chunk(chosen.ids), options)
    sizes = [_size(ledger_id, found) for ledger_id, found in read]
    if options.ledger_metadata and chosen.ids and not sizes:
        names = " and ".join(f"ledgerMetadata.{key}" for key in options.ledger_metadata)
        log.warning("options %s: none of %d ledgers has all of this custom metadata", names, len(chosen.ids))
    return plan_sizes(chosen, sizes, target, options.min_partitions)


@frozen
class Target:
    """The most that one task should read of a ledger; an entry counts once for all its copies."""

    entries: int
    length: int

    def tasks(self, size: Size) -> float:
        """Return how many tasks a ledger of this size fills."""
        return max(size.entries / self.entries, size.length / self.length)


def plan_sizes(chosen: ChosenLedgers, sizes: Sequence[Size], target: Target, tasks_min: int | None) -> list[Task]:
    """Put small ledgers together, and cut large ones into blocks that are shared."""
    total = sum(target.tasks(size) for size in sizes)
    one = min(total / tasks_min, 1.0) if tasks_min and total else 1.0
    tasks: list[Task] = []
    together: list[int] = []
    room = one
    for size in sizes:
        needed = target.tasks(size)
        shares = min(ceil(needed / one - _ROUNDING), max(size.entries, 1))
        if shares > 1:
            block_size = -(-size.entries // shares)
            chunk = chosen.chunk([size.ledger_id])
            tasks += [Task(chunk, Share(number, shares), block_size) for number in range(shares)]
            continue
        if together and (needed > room + _ROUNDING or len(together) == CHUNK_MAX):
            tasks.append(Task(chosen.chunk(together), Share(), target.entries))
            together, room = [], one
        together.append(size.ledger_id)
        room -= needed
    if together:
        tasks.append(Task(chosen.chunk(together), Share(), target.entries))
    return tasks


def _size(ledger_id: int, found: object) -> Size:
    if not isinstance(found, Versioned):
        return Size(ledger_id)
    metadata = found.metadata
    entries = (metadata.last_entry_id if metadata.closed else metadata.last_fragment.first_entry_id) + 1
    return Size(ledger_id, entries, metadata.length)
