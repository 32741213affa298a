"""Ledgers shared out among tasks by their ids alone: the driver reads no metadata and no entries."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import frozen
from pyspark.sql.datasource import InputPartition

from bookkeeper_tx.errors import BookKeeperError, NoSuchLedger
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import Versioned
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.plan.filters import EntryFilter
from bookkeeper_tx.spark.plan.ledger_selection import chosen_ids, has_custom_metadata


@frozen
class Chunk:
    """The ledgers of one task."""

    ledger_ids: tuple[int, ...]
    named: frozenset[int]
    """Those of them that the query has named: if one does not exist, that is reported."""


class ChunkInput(InputPartition):
    """The ledgers that one task reads."""

    def __init__(self, chunk: Chunk) -> None:
        super().__init__(chunk)


@frozen
class ChosenLedgers:
    """The ids of the ledgers that a query is about."""

    ids: tuple[int, ...]
    named: frozenset[int]

    def chunks(self, chunk_max: int, tasks_min: int | None = None) -> list[Chunk]:
        """Cut them into chunks of about the same size: at least ``tasks_min``, if there are ids enough."""
        count = min(max(-(-len(self.ids) // chunk_max), tasks_min or 1), len(self.ids))
        cuts = [len(self.ids) * index // count for index in range(count + 1)] if count else []
        return [self.chunk(self.ids[first:end]) for first, end in pairwise(cuts)]

    def chunk(self, ids: Sequence[int]) -> Chunk:
        """Return some of them as a chunk."""
        return Chunk(tuple(ids), self.named.intersection(ids))


def choose_ledgers(store: BlockingStore, options: Options, wanted: EntryFilter) -> ChosenLedgers:
    """Return the ledgers that ``options`` name and the filter wants; this does not look at custom metadata."""
    named, found = chosen_ids(store, options)
    ids = tuple(each for each in dict.fromkeys([*named, *found]) if wanted.has_ledger(each))
    return ChosenLedgers(ids, frozenset(named))


def read_chunk(
    store: BlockingStore, chunk: Chunk, options: Options
) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
    """Give the metadata of each ledger, or the error of reading it.

    A ledger that was deleted since it was listed is left out.  If the options ask for custom metadata, every ledger is
    left out whose metadata does not have it or cannot be read.
    """
    wanted = options.ledger_metadata
    for ledger_id, found in store.read_ledgers(chunk.ledger_ids):
        if wanted and not (isinstance(found, Versioned) and has_custom_metadata(found.metadata, wanted)):
            continue
        if isinstance(found, NoSuchLedger) and ledger_id not in chunk.named:
            continue
        yield ledger_id, found
