"""The cluster as the planner of a stream's micro-batches sees it, over one connection to the metadata store."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from attrs import evolve
from pyspark.sql.datasource import InputPartition

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import BookieId, BookieServiceInfo, Versioned, ledger_name
from bookkeeper_tx.spark.entries.source_reader import ledger_partition
from bookkeeper_tx.spark.options.advice import advised
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.ledger_ranges import bookies_of, check_password
from bookkeeper_tx.spark.plan.ledger_selection import SelectedLedger
from bookkeeper_tx.spark.plan.partitions import SizedRange, partition
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.stream.ledgers import EndsOfOpen, StreamLedgers, View, data_lost
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from bookkeeper_tx.spark.stream.planning import EntriesOfLedger

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class StreamCluster:
    """Looks at ledgers and cuts entries into partitions; connects when first asked, and again after a loss."""

    def __init__(
        self,
        options: Options,
        password: Secret,
        ends_of_open: EndsOfOpen,
        open_store: Callable[[Options], BlockingStore] = open_store,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._password = password
        self._open_store = open_store
        self._sleep = sleep
        self._store: BlockingStore | None = None
        self._ledgers = StreamLedgers(options, self._check, ends_of_open)

    def look(self, start: StreamOffset) -> View:
        """Return the ledgers to read; see :meth:`StreamLedgers.look`."""
        return self._asking(lambda store: self._ledgers.look(store, start))

    def look_at_all(self) -> View:
        """Return all ledgers, read or not; see :meth:`StreamLedgers.look_at_all`."""
        return self._asking(self._ledgers.look_at_all)

    def partitions(self, entries: Sequence[EntriesOfLedger]) -> list[InputPartition]:
        """Return the partitions of a batch with these entries.

        A ledger that is gone raises NoSuchLedger; with ``failOnDataLoss=false`` it is left out and logged.
        """
        options = self._options
        ranges, bookies = self._asking(lambda store: self._ranges(store, entries))
        parts = partition(
            ranges, options.max_entries_per_partition, options.max_bytes_per_partition, options.min_partitions
        )
        return [ledger_partition(each, bookies, self._password) for each in parts]

    def close(self) -> None:
        """Close the connection."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _ranges(
        self, store: BlockingStore, entries: Sequence[EntriesOfLedger]
    ) -> tuple[list[SizedRange], dict[BookieId, BookieServiceInfo]]:
        wanted = {each.ledger_id: each for each in entries}
        ranges, metadata = [], []
        for ledger_id, found in store.read_ledgers(wanted):
            if isinstance(found, Versioned):
                ranges.append(self._range(SelectedLedger(ledger_id, found), wanted[ledger_id]))
                metadata.append(found.metadata)
            elif self._options.fail_on_data_loss:
                raise data_lost(ledger_id, found)
            else:
                log.warning("ledger %s is left out of this batch: %s", ledger_name(ledger_id), found)
        return ranges, bookies_of(store, metadata)

    def _range(self, ledger: SelectedLedger, entries: EntriesOfLedger) -> SizedRange:
        metadata = ledger.metadata
        found = LedgerRange.of_metadata(ledger.ledger_id, metadata, entries.first, entries.last)
        found = evolve(found, digest_type=metadata.digest_type or self._options.digest_type)
        if metadata.length:
            return SizedRange(found, metadata.length / (metadata.last_entry_id + 1))
        return SizedRange(found, self._ledgers.open_entry_bytes(ledger.ledger_id))

    def _check(self, ledger: SelectedLedger) -> None:
        check_password(ledger, self._password, self._options.digest_type)

    def _asking(self, ask: Callable[[BlockingStore], Answer]) -> Answer:
        """Return the result of ``ask``; a lost connection is made again, as often as the options say."""
        for left in range(self._options.num_retries, -1, -1):
            try:
                if self._store is None:
                    self._store = self._open_store(self._options)
                with advised():
                    return ask(self._store)
            except MetadataUnavailable as error:
                self.close()
                if not left:
                    raise
                log.warning("the metadata store is asked again: %s", error)
                self._sleep(self._options.retry_interval_ms / 1000)
        raise AssertionError("the last attempt returns or raises")
