"""The read of a task: asks bookies for its ranges, and gives their entries to Spark."""

import gc
import logging
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId, BookieServiceInfo, ledger_name
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.entries.arrow_entries import record_batches
from bookkeeper_tx.spark.options.advice import advised
from bookkeeper_tx.spark.options.channels import channels_to, rate_limit
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.latest_metadata import LatestMetadata
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from bookkeeper_tx.spark.reading.missing_entries import MissingEntries
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun

log = logging.getLogger(__name__)

_frozen = False


def read_ranges(
    ranges: Sequence[LedgerRange],
    bookies: Mapping[BookieId, BookieServiceInfo],
    password: Secret,
    options: Options,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Yield all entries of ``ranges`` in order, as record batches with the columns of ``schema``.

    There is one connection to each bookie, made when the bookie is first asked, and closed when the iterator ends or is
    closed.  The metadata store is asked only when no bookie of an entry gave it.

    Raises EntriesMissing, DigestMismatch and any other error that keeps an entry from being read.  With
    ``failOnDataLoss=false`` an entry that no bookie has in good order is logged, and is a row if there is a column
    ``lost``.
    """
    freeze_once()
    connected = channels_to(bookies, options, rate_limit(options))
    with advised(), connected as channels, LatestMetadata(options, channels) as latest:
        parts = _parts(channels, latest, ranges, password, options, keep_corrupt="digest_ok" in schema.names)
        yield from record_batches(parts, schema, options.batch_rows, options.batch_bytes)


def freeze_once() -> None:
    """Keep the modules imported so far out of the garbage collector, which Spark's worker runs after every task."""
    global _frozen
    if not _frozen:
        _frozen = True
        gc.freeze()


def _parts(
    channels: BookieChannels,
    latest: LatestMetadata,
    ranges: Sequence[LedgerRange],
    password: Secret,
    options: Options,
    keep_corrupt: bool,
) -> Iterator[VerifiedRun | LostEntry]:
    for entries in ranges:
        reader = LedgerReader(
            channels,
            entries,
            password.value,
            batch=channels.config.batch_read_enabled,
            window=options.pipeline_window,
            num_retries=options.num_retries,
            retry_interval_s=options.retry_interval_ms / 1000,
            fail_on_data_loss=options.fail_on_data_loss,
            keep_corrupt=keep_corrupt,
            refresh=latest,
        )
        count = 0
        for part in reader.parts():
            count += part.count if isinstance(part, VerifiedRun) else 1
            yield part
        _check_count(entries, count)
        if reader.missing.count:
            _say_lost(entries, reader.missing)


def _say_lost(entries: LedgerRange, missing: MissingEntries) -> None:
    reasons = "; ".join(f"{bookie}: {error}" for bookie, error in missing.reasons.items())
    log.warning(
        "ledger %s: lost entries: %d, %d of them corrupt; the first is %d (%s)",
        ledger_name(entries.ledger_id),
        missing.count,
        missing.corrupt,
        missing.ranges[0][0],
        reasons,
    )


def _check_count(entries: LedgerRange, count: int) -> None:
    """Raise BookKeeperError unless all entries were read: no error of ours may lose a row unnoticed."""
    if count != entries.count:
        raise BookKeeperError(
            f"ledger {ledger_name(entries.ledger_id)}: {count} entries were read of {entries.first} … {entries.last}, "
            "which is an error in bookkeeper_tx: please report it"
        )
