"""How far ledgers that are not closed can be read, as their bookies say."""

import logging
import time
from collections.abc import Callable, Sequence

from attrs import evolve

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import DigestMismatch, EntriesMissing
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.bookies.last_add_confirmed import LastConfirmed
from bookkeeper_tx.spark.options.channels import channels_to
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.last_confirmed import last_confirmed
from bookkeeper_tx.spark.plan.ledger_ranges import bookies_of
from bookkeeper_tx.spark.plan.ledger_selection import SelectedLedger
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from bookkeeper_tx.spark.stream.ledgers import average
from bookkeeper_tx.spark.stream.planning import LedgerEnd

log = logging.getLogger(__name__)


class OpenEnds:
    """Asks a covering set of each ledger's last ensemble for the last add confirmed.  It fences nothing.

    The answers bring the newest entry, which says how long the ledger is up to there.  If the last fragment has no
    entry yet, another entry is read for the length, but only if ``maxBytesPerTrigger`` needs it.
    """

    def __init__(self, options: Options, password: Secret, sleep: Callable[[float], None] = time.sleep) -> None:
        self._options = options
        self._password = password
        self._sleep = sleep

    def __call__(self, store: BlockingStore, ledgers: Sequence[SelectedLedger]) -> list[LedgerEnd]:
        """Return the ends of ``ledgers``.

        If bookies still fail after ``numRetries`` more tries, raises their error, or BookieUnavailable if too few
        answered.
        """
        bookies = bookies_of(store, (each.metadata for each in ledgers))
        with channels_to(bookies, self._options) as channels:
            found = last_confirmed(channels, ledgers, self._options, self._password, self._sleep)
            return [self._end(channels, each, last) for each, last in zip(ledgers, found, strict=True)]

    def _end(self, channels: BookieChannels, ledger: SelectedLedger, last: LastConfirmed) -> LedgerEnd:
        size = self._average(channels, ledger, last) if last.entry_id >= 0 else 0
        return LedgerEnd(ledger.ledger_id, last.entry_id + 1, sealed=False, entry_bytes=size)

    def _average(self, channels: BookieChannels, ledger: SelectedLedger, last: LastConfirmed) -> int:
        """Return the payload bytes of an entry on average, 0 if that is not known."""
        if last.newest_entry_id >= 0:
            return average(last.length, last.newest_entry_id + 1)
        if self._options.max_bytes_per_trigger is None:
            return 0
        try:
            return average(self._length(channels, ledger, last.entry_id), last.entry_id + 1)
        except (EntriesMissing, DigestMismatch) as error:
            # The task that reads the entry decides about the query; without the size the batch is only larger.
            log.warning("the length of ledger %s is not known: %s", ledger_name(ledger.ledger_id), error)
            return 0

    def _length(self, channels: BookieChannels, ledger: SelectedLedger, last: int) -> int:
        """Return the payload bytes of the ledger up to entry ``last``."""
        digest_type = ledger.metadata.digest_type or self._options.digest_type
        assert digest_type is not None, "the ledger was checked"
        entries = LedgerRange.of_metadata(ledger.ledger_id, ledger.metadata, last, last)
        reader = LedgerReader(channels, evolve(entries, digest_type=digest_type), self._password.value, batch=False)
        (found,) = reader.runs()
        _, _, length, _ = EntryDigest(digest_type, self._password.value).verify(
            ledger.ledger_id, last, found.run.entry(last)
        )
        return length
