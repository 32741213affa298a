"""The common state of all reads of one range: channels, digest, and the policy for an entry that no bookie gives."""

from collections.abc import Callable, Sequence

from attrs import field, frozen
from attrs.validators import ge

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, DigestMismatch, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.model import BookieId, Fragment, LedgerMetadata, ledger_name
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.reading.missing_entries import MissingEntries
from bookkeeper_tx.spark.reading.replica_choice import ReplicaChoice
from bookkeeper_tx.spark.reading.run_reads import ReadSizes, SizeEstimate
from bookkeeper_tx.spark.reading.verified_count import verified_count
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun

Refresh = Callable[[int], LedgerMetadata]
"""Returns the present metadata of a ledger; raises NoSuchLedger, MetadataUnavailable."""


@frozen(kw_only=True)
class Persistence:
    """The policy for an entry that no bookie gives."""

    num_retries: int = field(default=3, validator=ge(0))
    """How often all bookies of an entry are asked once more when some of them did not answer."""
    retry_interval_s: float = field(default=0.1, validator=ge(0))
    """How long to wait before that."""
    fail_on_data_loss: bool = True
    """Whether to raise for an entry of which no bookie has a good copy; otherwise it is counted and skipped."""
    keep_corrupt: bool = False
    """Whether to give out a bad copy, marked as such, if there is no good one, instead of raising or skipping."""


class ReadSession:
    """The read of one range."""

    def __init__(
        self,
        channels: BookieChannels,
        ledger: LedgerRange,
        digest: EntryDigest,
        *,
        batch: bool,
        sizes: ReadSizes,
        persistence: Persistence,
        refresh: Refresh | None,
    ) -> None:
        self.channels = channels
        self.ledger_id = ledger.ledger_id
        self.digest = digest
        self.quorum = ledger.quorum
        self.batch = batch
        self.sizes = sizes
        self.estimate = SizeEstimate()
        self.missing = MissingEntries()
        self._fragments: Sequence[Fragment] = ledger.fragments
        self._persistence = persistence
        self._refresh = refresh
        self._refreshed: set[int] = set()
        """First entry ids of the fragments whose bookies were looked up again."""
        self._deleted = False
        """Whether the ledger was gone when its metadata was read again."""
        self._payload_offset = digest.payload_offset_of(ledger.ledger_id)

    def end_of_fragment(self, entry_id: int, last: int) -> int:
        """Return the last entry up to ``last`` that is in the same fragment as ``entry_id``."""
        starts = [fragment.first_entry_id for fragment in self._fragments if fragment.first_entry_id > entry_id]
        return min([last, *(start - 1 for start in starts)])

    def order(self, entry_id: int) -> list[BookieId]:
        """Return the bookies that should store an entry, those in quarantine last."""
        fragment = self._fragment_of(entry_id)
        bookies = [fragment.ensemble[index] for index in self.quorum.write_set(entry_id)]
        return sorted(bookies, key=self.channels.quarantined)

    def good_count(self, run: EntryRun) -> int:
        """Return how many entries of ``run`` precede the first that is bad."""
        return verified_count(self.digest, run)

    def mismatch(self, bookie: BookieId, run: EntryRun, entry_id: int, choice: ReplicaChoice) -> DigestMismatch:
        """Return the error of a bad entry of ``run``, and keep the entry in case no bookie has a good copy."""
        bad = run.part(entry_id, entry_id)
        if bad.size >= bad.prefix + self._payload_offset:
            choice.keep_corrupt(bookie, bad)
        try:
            self.digest.verify(self.ledger_id, entry_id, run.entry(entry_id))
        except DigestMismatch as error:
            return error
        raise AssertionError("an entry verifies alone but not in a run")

    def verified(self, run: EntryRun, count: int, bookies: tuple[BookieId, ...]) -> VerifiedRun:
        return VerifiedRun(run, count, self._payload_offset, bookies)

    def failed(self, bookie: BookieId, error: BookKeeperError, choice: ReplicaChoice) -> None:
        """Take note that a bookie did not give an entry."""
        self.channels.failed(bookie, error)
        choice.failed(bookie, error)

    def all_failed(self, entry_id: int, choice: ReplicaChoice) -> VerifiedRun | LostEntry | None:
        """Apply the policy to an entry that all bookies were asked for in vain.

        Raises, or returns the substitute for the entry, or None: then ask for it again.
        """
        try:
            self._look_up_again(entry_id)
        except MetadataUnavailable as unavailable:
            # Without the metadata it is not known whether the entry is lost.
            unavailable.add_note(str(choice.verdict(self.ledger_id, entry_id)))
            raise
        if choice.moved_to(self.order(entry_id)):
            return None
        if choice.transient and choice.retries < self._persistence.num_retries:
            self.channels.sleep(self._persistence.retry_interval_s)
            choice.again()
            return None
        if choice.lost:
            if choice.corrupt is not None and self._persistence.keep_corrupt:
                bookie, run = choice.corrupt
                return VerifiedRun(run, 1, self._payload_offset, (bookie,), digest_ok=False)
            if not self._persistence.fail_on_data_loss:
                self.missing.add(entry_id, choice.reasons)
                return LostEntry(self.ledger_id, entry_id, dict(choice.reasons))
        error = choice.verdict(self.ledger_id, entry_id)
        if self._deleted:
            error.add_note(f"Ledger {ledger_name(self.ledger_id)} was deleted after this read was planned.")
        raise error

    def _fragment_of(self, entry_id: int) -> Fragment:
        return next(each for each in reversed(self._fragments) if each.first_entry_id <= entry_id)

    def _look_up_again(self, entry_id: int) -> None:
        """Read the metadata once more, but only once for each fragment.

        Since the range was planned, entries of a lost bookie may have been copied to another one.
        """
        fragment = self._fragment_of(entry_id)
        if self._refresh is None or fragment.first_entry_id in self._refreshed:
            return
        self._refreshed.add(fragment.first_entry_id)
        try:
            fragments = self._refresh(self.ledger_id).fragments
        except NoSuchLedger:
            self._deleted = True  # the answers of its bookies decide
            return
        if fragments[0].first_entry_id <= entry_id:
            self._fragments = fragments
