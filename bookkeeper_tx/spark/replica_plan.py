"""Who reads the replicas of which ledgers: by number of entries if there are few ledgers, else by number of ledgers."""

from collections.abc import Iterable
from typing import Final

from attrs import frozen
from pyspark.sql.datasource import InputPartition

from bookkeeper_tx.metadata.blocking import BlockingStore
from bookkeeper_tx.model import Versioned
from bookkeeper_tx.spark.ledger_chunks import ChosenLedgers, Chunk
from bookkeeper_tx.spark.options import Options
from bookkeeper_tx.spark.replica_pieces import Share

SIZES_LOOKED_AT_MAX: Final = 1000
"""Of so many ledgers the metadata is read where the query is planned; of more only the ids are known there."""

CHUNK_MAX: Final = 200
"""Ledgers of one task if nothing is known of their sizes."""


@frozen
class Task:
    """What one task reads."""

    chunk: Chunk
    share: Share
    block_size: int
    """Entries that one row is about, at most."""


class ReplicasInput(InputPartition):
    """What Spark hands to one task."""

    def __init__(self, task: Task, password: object) -> None:
        super().__init__((task, password))


def plan(store: BlockingStore, chosen: ChosenLedgers, options: Options) -> list[Task]:
    """Share out the ledgers."""
    block_size = options.max_entries_per_partition
    if len(chosen.ids) > SIZES_LOOKED_AT_MAX:
        return [Task(chunk, Share(), block_size) for chunk in chosen.chunks(CHUNK_MAX, options.min_partitions)]
    sizes = [(ledger_id, _size(found)) for ledger_id, found in store.read_ledgers(chosen.ids)]
    return plan_sizes(chosen, sizes, block_size, options.min_partitions)


def plan_sizes(
    chosen: ChosenLedgers, sizes: Iterable[tuple[int, int]], block_size: int, tasks_min: int | None
) -> list[Task]:
    """Put small ledgers, given as id and number of entries, together, and share the blocks of large ones."""
    sizes = list(sizes)
    if tasks_min:
        total = sum(size for _, size in sizes)
        block_size = max(min(block_size, -(-total // tasks_min)), 1)
    tasks: list[Task] = []
    together: list[int] = []
    room = block_size
    for ledger_id, size in sizes:
        if size > block_size:
            shares = -(-size // block_size)
            chunk = chosen.chunk([ledger_id])
            tasks += [Task(chunk, Share(number, shares), block_size) for number in range(shares)]
            continue
        if together and size > room:
            tasks.append(Task(chosen.chunk(together), Share(), block_size))
            together, room = [], block_size
        together.append(ledger_id)
        room -= size
    if together:
        tasks.append(Task(chosen.chunk(together), Share(), block_size))
    return tasks


def _size(found: object) -> int:
    """Return how many entries a ledger has; of an open one at least."""
    if not isinstance(found, Versioned):
        return 0
    metadata = found.metadata
    return (metadata.last_entry_id if metadata.closed else metadata.last_fragment.first_entry_id) + 1
