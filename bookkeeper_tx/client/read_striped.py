"""Reading a prefix of a range of a striped ledger: no bookie holds all entries, so each is read by itself."""

from functools import partial

from attrs import define, field

from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_entry import StoredEntryRead
from bookkeeper_tx.client.read_prefix import PrefixDone, PrefixRead, ReadStyle, count_within
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError


def start_prefix_read(
    reader: LedgerView,
    first_entry_id: int,
    last_entry_id: int,
    max_size: int,
    style: ReadStyle,
    done: PrefixDone,
    fast_fail: bool = False,
) -> None:
    """Read a verified, non-empty prefix of a range in the way that the ledger allows."""
    if reader.quorum.striped:
        StripedPrefixRead(reader, first_entry_id, last_entry_id, max_size, done, fast_fail).start()
    else:
        PrefixRead(reader, first_entry_id, last_entry_id, max_size, style, done, fast_fail).start()


@define(eq=False)
class StripedPrefixRead:
    """Reads entries from their write sets, all at once.

    Entries after the first that cannot be read are dropped, and the last ones while there are too many bytes.
    """

    _reader: LedgerView
    _first: int
    _last: int
    _max_size: int
    _done: PrefixDone
    _fast_fail: bool = False
    _errors: dict[int, BookKeeperError] = field(factory=dict)
    _size: int = 0
    _missing: int = field(init=False)
    _end: int = field(init=False)
    """Entries that may be kept: their number from the first on."""
    _entries: list[bytes] = field(init=False)
    _payloads: list[bytes] = field(init=False)

    def __attrs_post_init__(self) -> None:
        count = min(self._last - self._first + 1, self._reader.single_reads_for(self._max_size))
        self._missing = self._end = count
        self._entries, self._payloads = [b""] * count, [b""] * count

    def start(self) -> None:
        """Send the reads."""
        for index in range(self._missing):
            StoredEntryRead(self._reader, self._first + index, partial(self._read, index), self._fast_fail).start()

    def _read(self, index: int, error: BookKeeperError | None, entry: bytes, payload: bytes) -> None:
        if error is not None:
            self._errors[index] = error
        if index < self._end:
            self._keep(index, entry, payload)
        self._missing -= 1
        if not self._missing:
            self._finish()

    def _keep(self, index: int, entry: bytes, payload: bytes) -> None:
        self._entries[index], self._payloads[index] = entry, payload
        self._size += len(entry)
        while self._size > self._max_size and self._end > 1:
            self._end -= 1
            self._size -= len(self._entries[self._end])
            self._entries[self._end] = self._payloads[self._end] = b""

    def _finish(self) -> None:
        good = min(self._end, *self._errors) if self._errors else self._end
        if good == 0:
            self._done(self._errors[0], [], None)
            return
        run = EntryRun.of_entries(self._reader.ledger_id, self._first, self._entries[:good])
        self._done(None, self._payloads[: min(good, count_within(run, self._max_size))], run)
