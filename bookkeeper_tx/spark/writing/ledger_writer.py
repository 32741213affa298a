"""The writer of one ledger without a reactor: seals in bulk, sends to the whole write quorum, closes.

The last add confirmed in its entries is the last one that :class:`ReplicatedAdds` has confirmed.  So a ledger that is
closed early, at that entry, keeps every entry that a tailing reader may have read; later entries do not count.
"""

from collections import deque
from collections.abc import Sequence

from attrs import frozen

from bookkeeper_tx.client.writers_metadata import closed
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import MetadataConflict, RemoteError
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import BookieId, Versioned
from bookkeeper_tx.spark.writing.add_frames import add_frames
from bookkeeper_tx.spark.writing.replicated_adds import ReplicatedAdds
from protocol_specs import fields

WINDOW_BYTES = 8 * 1024 * 1024
"""Bytes of payload that may wait to be confirmed: enough to keep a bookie's group commits full; bounds the memory."""
WINDOW_ENTRIES = 20_000


@frozen
class WrittenLedger:
    """A ledger that was closed."""

    ledger_id: int
    last_entry_id: int
    length: int
    """Payload bytes."""
    lacking: tuple[BookieId, ...] = ()
    """Bookies of its ensemble that lack entries; its custom metadata names them as well."""


@frozen
class _Sent:
    """Entries that were sent together."""

    first_entry_id: int
    payloads: Sequence[bytes]
    size: int
    length: int
    """Payload bytes of the ledger up to the end of these entries."""

    @property
    def last_entry_id(self) -> int:
        return self.first_entry_id + len(self.payloads) - 1


class LedgerWriter:
    """Appends to one open ledger, as its only writer, and closes it."""

    def __init__(self, ledger_id: int, versioned: Versioned, digest: EntryDigest, adds: ReplicatedAdds) -> None:
        self.ledger_id = ledger_id
        self.next_entry_id = fields.FIRST_ENTRY_ID
        self.length = 0
        """Payload bytes sent."""
        self._versioned = versioned
        self._digest = digest
        self._adds = adds
        self._sent: deque[_Sent] = deque()
        self._sent_bytes = 0
        self._sent_entries = 0
        self._settled_length = 0
        """Payload bytes of the entries that are not in ``_sent`` any more."""

    @property
    def broken(self) -> dict[BookieId, RemoteError]:
        """Bookies that failed: :meth:`go_on_without` them, or :meth:`take_back` the entries that are not confirmed."""
        return self._adds.broken

    @property
    def confirmed(self) -> int:
        """Id of the last entry that, like all before it, is on every working bookie of its write set."""
        return self._adds.confirmed

    def append_many(self, payloads: Sequence[bytes]) -> None:
        """Send entries; return when they fit into the window, or when a bookie is :attr:`broken`.

        Raises LedgerFenced and Unauthorized.
        """
        count, size = len(payloads), sum(map(len, payloads))
        what = (self.ledger_id, self.next_entry_id, self.confirmed, self.length, payloads)
        if self._adds.striped:
            self._adds.send(self._digest.seal_run(*what))
        else:
            self._adds.send_to_all(add_frames(self._digest, *what), count)
        self._sent.append(_Sent(self.next_entry_id, payloads, size, self.length))
        self._sent_bytes += size
        self._sent_entries += count
        self.next_entry_id += count
        self.length += size
        self._turn(wait=False)
        while not self.broken and (self._sent_bytes > WINDOW_BYTES or self._sent_entries > WINDOW_ENTRIES):
            self._turn(wait=True)

    def settle(self) -> None:
        """Wait until every working bookie has answered all requests; look at :attr:`broken` then."""
        while self._adds.owed:
            self._turn(wait=True)

    def go_on_without(self) -> None:
        """Give up the broken bookies for this ledger; raises NotEnoughBookies if too few are left."""
        self._adds.give_up()
        self._forget_confirmed()

    def take_back(self) -> list[bytes]:
        """Settle, and return the payloads that are not confirmed, to be written elsewhere."""
        self.settle()
        confirmed = self.confirmed
        rest: list[bytes] = []
        for sent in self._sent:
            rest += sent.payloads[max(confirmed + 1 - sent.first_entry_id, 0) :]
        return rest

    def close(self, store: BlockingStore) -> WrittenLedger | None:
        """Close the ledger at the last entry confirmed, and return it.

        A ledger without a confirmed entry is deleted, and None returned.  Raises LedgerFenced, LedgerClosed.
        """
        last, length = self.confirmed, self._length_at(self.confirmed)
        self.abandon()
        if last == fields.NO_ENTRY:
            store.delete_ledger(self.ledger_id)
            return None
        lacking = self._adds.given_up
        while (metadata := closed(self.ledger_id, self._versioned.metadata, last, length, lacking)) is not None:
            try:
                self._versioned = store.write_ledger(self.ledger_id, metadata, self._versioned.version)
                break
            except MetadataConflict:
                self._versioned = store.read_ledger(self.ledger_id)
        return WrittenLedger(self.ledger_id, last, length, lacking)

    def abandon(self) -> None:
        """Stop writing without a close; the ledger stays as it is."""
        self._adds.close()

    def _turn(self, wait: bool) -> None:
        self._adds.turn(wait)
        self._forget_confirmed()

    def _forget_confirmed(self) -> None:
        confirmed = self.confirmed
        while self._sent and self._sent[0].last_entry_id <= confirmed:
            done = self._sent.popleft()
            self._sent_bytes -= done.size
            self._sent_entries -= len(done.payloads)
            self._settled_length = done.length + done.size

    def _length_at(self, entry_id: int) -> int:
        """Return the payload bytes of the ledger up to ``entry_id``, which is confirmed."""
        if not self._sent:
            return self._settled_length
        sent = self._sent[0]
        return sent.length + sum(map(len, sent.payloads[: max(entry_id + 1 - sent.first_entry_id, 0)]))
