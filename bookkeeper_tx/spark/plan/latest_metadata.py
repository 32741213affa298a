"""Ledgers that a task looks up once more, when none of the bookies in its partition gives an entry."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import LedgerMetadata
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.options.channels import addresses_of
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.plan.ledger_ranges import bookies_of


class LatestMetadata:
    """Reads the metadata of ledgers as it is now; a context manager, which connects when it is first asked.

    A snapshot may be old when a task reads it, and autorecovery may have copied ledgers to other bookies since.
    """

    def __init__(
        self,
        options: Options,
        channels: BookieChannels,
        open_store: Callable[[Options], BlockingStore] = open_store,
    ) -> None:
        self._options = options
        self._channels = channels
        self._open_store = open_store
        self._store: BlockingStore | None = None

    def __call__(self, ledger_id: int) -> LedgerMetadata:
        """Return a ledger's metadata, and give the addresses of its bookies to the channels.

        Raises NoSuchLedger, MetadataCorrupt, MetadataUnavailable.
        """
        if self._store is None:
            self._store = self._open_store(self._options)
        metadata = self._store.read_ledger(ledger_id).metadata
        self._channels.add_addresses(addresses_of(bookies_of(self._store, [metadata])))
        return metadata

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()
