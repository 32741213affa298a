"""The results of a read: entries that match their digests, as they were received, and entries that are lost."""

from collections.abc import Mapping

from attrs import frozen

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId


@frozen(eq=False)
class VerifiedRun:
    """The first ``count`` entries of ``run``, which match their digests."""

    run: EntryRun
    count: int
    payload_offset: int
    """Bytes before the payload of each entry."""
    bookies: tuple[BookieId, ...]
    """The bookies that sent them: one for all of them, or one for each."""
    digest_ok: bool = True
    """False for a bad copy of an entry of which no bookie has a good one; only with ``keep_corrupt``."""

    @property
    def ledger_id(self) -> int:
        return self.run.ledger_id

    @property
    def first(self) -> int:
        """The id of the first entry."""
        return self.run.first_entry_id

    @property
    def last(self) -> int:
        """The id of the last entry."""
        return self.run.first_entry_id + self.count - 1

    def payloads(self) -> list[bytes]:
        """Return the payloads, each as bytes of its own."""
        buffer, offsets, ahead = self.run.buffer, self.run.offsets, self.run.prefix + self.payload_offset
        return [buffer[offsets[index] + ahead : offsets[index + 1]] for index in range(self.count)]


@frozen(eq=False)
class LostEntry:
    """An entry that is on none of its bookies, or corrupt on those that have it."""

    ledger_id: int
    entry_id: int
    reasons: Mapping[BookieId, BookKeeperError]
    """The error that each of its bookies has answered."""
