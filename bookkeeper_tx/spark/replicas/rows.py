"""Rows about replicas: a task reads the copies of its ledgers bookie by bookie."""

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from attrs import define

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, DigestMismatch, NoSuchLedger
from bookkeeper_tx.model import BookieId, LedgerId, LedgerMetadata, Versioned
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.bookies.last_add_confirmed import last_add_confirmed
from bookkeeper_tx.spark.entries.partition_reader import freeze_once
from bookkeeper_tx.spark.options.channels import channels_to, rate_limit
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.options import Options, ReadMode
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.filters import IdFilter
from bookkeeper_tx.spark.plan.ledger_chunks import read_chunk
from bookkeeper_tx.spark.plan.ledger_ranges import bookies_of
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.replicas.check import UNKNOWN, Tally, is_missing, is_storage_failure, judged
from bookkeeper_tx.spark.replicas.copies import Absent, CopyReader
from bookkeeper_tx.spark.replicas.pieces import Piece, pieces_of
from bookkeeper_tx.spark.replicas.plan import Task
from bookkeeper_tx.spark.table_rows import Row
from protocol_specs.entry.version import metadata_of


def read_task(task: Task, entry_ids: IdFilter, password: Secret, options: Options) -> Iterator[Row]:
    """Give the rows of one task about these entries.  A problem with a ledger or a bookie is a row, too."""
    freeze_once()
    with open_store(options) as store:
        found = list(read_chunk(store, task.chunk, options))
        bookies = bookies_of(store, (each.metadata for _, each in found if isinstance(each, Versioned)))
    with channels_to(bookies, options, rate_limit(options)) as channels:
        reader = CopyReader.make(
            channels,
            batch=options.batch,
            window=options.pipeline_window,
            num_retries=options.num_retries,
            retry_interval_s=options.retry_interval_ms / 1000,
        )
        for ledger_id, versioned in found:
            if isinstance(versioned, Versioned):
                now = partial(_metadata_now, options, ledger_id)
                ledger = LedgerRows(ledger_id, versioned.metadata, task, entry_ids, password, options, now)
                yield from ledger.rows(channels, reader)
            elif task.share.number == 0:
                yield Row({**_ids(ledger_id), "error": str(versioned)} | _unknown(options))


def _metadata_now(options: Options, ledger_id: int) -> LedgerMetadata:
    with open_store(options) as store:
        return store.read_ledger(ledger_id).metadata


@define(eq=False)
class LedgerRows:
    """Makes the rows of one ledger."""

    ledger_id: int
    metadata: LedgerMetadata
    task: Task
    entry_ids: IdFilter
    password: Secret
    options: Options
    metadata_now: Callable[[], LedgerMetadata]
    """Reads the metadata once more; raises NoSuchLedger."""
    _confirmed: bool = False
    """Whether the metadata was read again after something was missing, and had not changed."""

    def rows(self, channels: BookieChannels, reader: CopyReader) -> Iterator[Row]:
        metadata, options = self.metadata, self.options
        if not metadata.closed and options.read_mode is ReadMode.CLOSED:
            return
        digest_type = metadata.digest_type or options.digest_type
        if digest_type is None:
            if self.task.share.number == 0:
                yield self._problem("its metadata names no digest type: give option digestType")
            return
        # A password in the metadata is the right one.
        digest = EntryDigest(digest_type, metadata.password or self.password.value)
        try:
            last = self._last(channels, digest)
        except BookKeeperError as error:
            if self.task.share.number == 0:
                yield self._problem(str(error))
            last = metadata.last_fragment.first_entry_id - 1
        for row in self._rows_up_to(last, digest, reader):
            if _says_missing(row) and not self._confirmed:
                # A ledger that is deleted or copied elsewhere during the read is not damaged.
                try:
                    if self.metadata_now().fragments != metadata.fragments:
                        yield self._problem("its bookies have changed while it was read: look again")
                        return
                except NoSuchLedger:
                    return
                self._confirmed = True
            yield row

    def _rows_up_to(self, last: int, digest: EntryDigest, reader: CopyReader) -> Iterator[Row]:
        """Give the rows of this task up to the entry ``last``, bookie by bookie."""
        for piece in self._pieces(last):
            for bookie in piece.bookies:
                found = reader.copies(piece, bookie)
                if self.options.per_entry:
                    yield from self._entry_rows(bookie, digest, found)
                else:
                    yield self._range_row(piece, bookie, digest, found)

    def _pieces(self, last: int) -> Iterator[Piece]:
        """Give the pieces that this task reads up to the entry ``last``."""
        task = self.task
        for first, end in self._spans(last):
            for piece in pieces_of(LedgerRange.of_metadata(self.ledger_id, self.metadata, first, end), task.block_size):
                if task.share.has(piece, task.block_size):
                    yield piece

    def _spans(self, last: int) -> Iterator[tuple[int, int]]:
        """Give first and last of the consecutive entries up to ``last`` that the query asks for."""
        named = self.options.entries
        for first, end in self.entry_ids.spans(0, last):
            yield from ((first, end),) if named is None else named.cut(self.ledger_id, first, end)

    def _last(self, channels: BookieChannels, digest: EntryDigest) -> int:
        """Return the last entry that every bookie of its write set should have in the end."""
        metadata = self.metadata
        if metadata.closed:
            return metadata.last_entry_id
        return last_add_confirmed(channels, self.ledger_id, metadata, digest)

    def _range_row(
        self, piece: Piece, bookie: BookieId, digest: EntryDigest, found: Iterator[EntryRun | Absent]
    ) -> Row:
        tally = Tally(self.ledger_id, piece.entry_ids, digest)
        for each in found:
            tally.add(each)
        values = {
            **self._of_bookie(bookie),
            "first_entry": piece.ledger.first,
            "last_entry": piece.ledger.last,
            "stripe": piece.stripe,
            "stripes": piece.stripes,
        }
        return Row(values | tally.values(), 16 * (len(tally.missing_ranges) + len(tally.corrupt_entries)))

    def _entry_rows(self, bookie: BookieId, digest: EntryDigest, found: Iterator[EntryRun | Absent]) -> Iterator[Row]:
        common = self._of_bookie(bookie)
        payload_at = digest.payload_offset_of(self.ledger_id)
        for each in found:
            if isinstance(each, Absent):
                text = str(each.error)
                values = {
                    "present": False if is_missing(each.error) else None,
                    "storage_failed": is_storage_failure(each.error),
                    "error": text,
                }
                for entry_id in each.entry_ids:
                    yield Row({**common, "entry_id": entry_id} | values, len(text))
                continue
            for part, error in judged(digest, each):
                for entry_id in range(part.first_entry_id, part.last_entry_id + 1):
                    values = _of_entry(part.entry(entry_id), payload_at, error)
                    yield Row({**common, "entry_id": entry_id, "present": True, "storage_failed": False} | values)

    def _of_bookie(self, bookie: BookieId | None) -> dict[str, Any]:
        return {
            **_ids(self.ledger_id),
            "closed": self.metadata.closed,
            "write_quorum_size": self.metadata.write_quorum_size,
            "ack_quorum_size": self.metadata.ack_quorum_size,
            "bookie": bookie,
        }

    def _problem(self, text: str) -> Row:
        return Row({**self._of_bookie(None), "error": text} | _unknown(self.options), len(text))


def _says_missing(row: Row) -> bool:
    """Return whether a row, about a range or an entry, says that a bookie lacks entries that it should have."""
    return bool(row.values.get("missing")) or row.values.get("present") is False


def _of_entry(entry: bytes, payload_at: int, error: DigestMismatch | None) -> dict[str, Any]:
    """Return the columns of an entry that is present; without those of the payload if it is too short to have one."""
    if len(entry) < payload_at:
        return {"digest_ok": False, "error": str(error)}
    payload = entry[payload_at:]
    values: dict[str, Any] = {
        "digest_ok": error is None,
        "payload_bytes": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    if error is None:
        _, _, last_add_confirmed_then, length = metadata_of(entry)
        return values | {"last_add_confirmed": last_add_confirmed_then, "length": length}
    return values | {"error": str(error)}


def _ids(ledger_id: int) -> dict[str, Any]:
    whole = LedgerId(ledger_id)
    return {"scope_id": whole.scope_id, "ledger_id": whole.ledger_id}


def _unknown(options: Options) -> dict[str, Any]:
    return {} if options.per_entry else {"verdict": UNKNOWN}
