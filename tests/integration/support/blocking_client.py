"""Writing and reading a ledger without a reactor."""

from collections.abc import Sequence

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from bookkeeper_tx.spark.reading.verified_run import VerifiedRun
from bookkeeper_tx.spark.writing.ledger_sequence import LedgerPlan, LedgerSequence


def write(uri: str, config: ClientConfig, payloads: Sequence[bytes], *sizes: int) -> int:
    """Write a ledger and close it; return its id."""
    with (
        open_blocking_store(uri) as store,
        LedgerSequence(store, LedgerPlan(quorum=Quorum(*(sizes or (1, 1, 1)))), config) as sequence,
    ):
        sequence.append_many(payloads)
        (written,) = sequence.close()
    return written.ledger_id


def read(uri: str, config: ClientConfig, ledger_id: int, *, batch: bool = True) -> list[bytes]:
    """Return the payloads of a closed ledger."""
    with open_blocking_store(uri) as store, channels_of(store, config) as channels:
        metadata = store.read_ledger(ledger_id).metadata
        ledger = LedgerRange.of_metadata(ledger_id, metadata, 0, metadata.last_entry_id)
        runs = list(LedgerReader(channels, ledger, b"", batch=batch, num_retries=0).runs())
    return [payload for run in runs if isinstance(run, VerifiedRun) for payload in run.payloads()]


def channels_of(store: BlockingStore, config: ClientConfig) -> BookieChannels:
    """Channels to the bookies that are up."""
    found = ((bookie_id, store.bookie_info(bookie_id)) for bookie_id in store.writable_bookies())
    return BookieChannels({bookie_id: (info.host, info.port) for bookie_id, info in found}, config)


def read_refusal(uri: str, config: ClientConfig, ledger_id: int) -> BookKeeperError:
    """The error of reading a ledger."""
    with pytest.raises(BookKeeperError) as refused:
        read(uri, config, ledger_id)
    return refused.value


def write_refusal(uri: str, config: ClientConfig) -> BookKeeperError:
    """The error of writing a ledger."""
    with pytest.raises(BookKeeperError) as refused:
        write(uri, config, [b"x"])
    return refused.value
