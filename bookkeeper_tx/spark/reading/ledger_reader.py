"""Reading a range of a ledger without a reactor: every entry once and in order, or an error."""

from collections.abc import Iterator

from attrs import evolve

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.reading.missing_entries import MissingEntries
from bookkeeper_tx.spark.reading.read_session import Persistence, ReadSession, Refresh
from bookkeeper_tx.spark.reading.replicated_reads import read_replicated
from bookkeeper_tx.spark.reading.run_reads import ReadSizes
from bookkeeper_tx.spark.reading.striped_reads import read_striped
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun

FRAME_SLACK = 1024
"""Bytes by which a batch reply must be smaller than a frame."""


class LedgerReader:
    """Reads the entries of ``ledger`` from its bookies; never fences, and never reads past the end of the range.

    Each entry is verified; an entry that is bad, or that a bookie does not have, is read from the next of its bookies.
    ``batch`` says whether to use batch read on bookies that serve it, if the ledger is not striped; ``batch_size_max``
    is the number of bytes to ask for at a time, ``window`` the number of single reads that may be in flight.

    When all bookies of an entry were asked in vain, and some have not answered, they are asked again ``num_retries``
    times, every ``retry_interval_s`` seconds.  Then :meth:`runs` raises:

    * EntriesMissing, when all have answered and none has it.
    * DigestMismatch, when all have sent it and every copy is bad.  With ``keep_corrupt`` a bad copy is given out as the
      only entry of a run with ``digest_ok=False`` (also of an entry that some bookies lack and others have as a bad
      copy).
    * Neither of these with ``fail_on_data_loss=False``: such entries are skipped, and counted in :attr:`missing`.
    * BookieUnavailable, when it may be on a bookie that cannot be reached; or the error that such a bookie answered.

    ``refresh`` returns the present metadata of a ledger.  With it a read finds entries that were copied to other
    bookies since the range was planned.
    """

    def __init__(
        self,
        channels: BookieChannels,
        ledger: LedgerRange,
        password: bytes,
        *,
        batch: bool = True,
        batch_size_max: int = ReadSizes().batch_size_max,
        window: int = ReadSizes().window,
        num_retries: int = Persistence().num_retries,
        retry_interval_s: float = Persistence().retry_interval_s,
        fail_on_data_loss: bool = True,
        keep_corrupt: bool = False,
        refresh: Refresh | None = None,
    ) -> None:
        """Nothing is sent before :meth:`runs`.  Raises InvalidArgument for a ledger whose digest type is not known."""
        if ledger.digest_type is None:
            raise InvalidArgument(
                f"the metadata of ledger {ledger_name(ledger.ledger_id)} does not name its digest type: say which it is"
            )
        if batch_size_max < 1 or window < 1:
            raise InvalidArgument(f"batch_size_max {batch_size_max} and window {window} must be at least 1")
        sizes = ReadSizes(batch_size_max=batch_size_max, window=window)
        self._ledger = ledger
        self._session = ReadSession(
            channels,
            ledger,
            EntryDigest(ledger.digest_type, password),
            batch=batch,
            sizes=evolve(sizes, batch_size_max=min(batch_size_max, channels.config.frame_size_max - FRAME_SLACK)),
            persistence=Persistence(
                num_retries=num_retries,
                retry_interval_s=retry_interval_s,
                fail_on_data_loss=fail_on_data_loss,
                keep_corrupt=keep_corrupt,
            ),
            refresh=refresh,
        )

    @property
    def missing(self) -> MissingEntries:
        """The entries skipped so far, with ``fail_on_data_loss=False``."""
        return self._session.missing

    def runs(self) -> Iterator[VerifiedRun]:
        """Read the range, once: verified entries in order, all of them except those in :attr:`missing`."""
        return (part for part in self.parts() if isinstance(part, VerifiedRun))

    def parts(self) -> Iterator[VerifiedRun | LostEntry]:
        """Read the range, once, in order: verified entries, and a LostEntry for each missing one."""
        session, at, last = self._session, self._ledger.first, self._ledger.last
        read = read_striped if session.quorum.striped else read_replicated
        while at <= last:
            end = session.end_of_fragment(at, last)
            yield from read(session, at, end)
            at = end + 1
