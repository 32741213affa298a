"""The ledgers of a stream: which exist, and how far each can be read, looked up for each micro-batch."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve, frozen

from bookkeeper_tx.errors import BookKeeperError, NoSuchLedger
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import LedgerMetadata, Versioned, ledger_name
from bookkeeper_tx.spark.options.id_ranges import NO_IDS, IdRanges
from bookkeeper_tx.spark.options.options import Options, ReadMode
from bookkeeper_tx.spark.plan.ledger_selection import SelectedLedger, chosen_ids, has_custom_metadata
from bookkeeper_tx.spark.sink.manifest import EpochKey, Published, read_manifest
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from bookkeeper_tx.spark.stream.planning import LedgerEnd

log = logging.getLogger(__name__)


@frozen
class View:
    """The ledgers to read at one moment."""

    ledgers: tuple[LedgerEnd, ...] = ()
    """In the order of reading; ledgers that the stream has finished may be missing."""
    passed: IdRanges = NO_IDS
    """Ledgers that the options do not choose, and never will: custom metadata does not change."""


EndsOfOpen = Callable[[BlockingStore, Sequence[SelectedLedger]], Iterable[LedgerEnd]]
"""Finds how far ledgers that are not closed can be read."""

Missing = Callable[[int, BookKeeperError], None]
"""Called with each ledger that cannot be looked up, and the error."""


class StreamLedgers:
    """Looks at the ledgers that ``options`` choose.

    Facts that cannot change are remembered, so looking again costs a listing (if new ledgers may appear at all), and a
    request for each ledger that is new or was open.  The listing comes first: if it shows a ledger, all ledgers that
    were closed before its creation are seen closed, and the order of reading depends on that.
    """

    def __init__(self, options: Options, check: Callable[[SelectedLedger], None], ends_of_open: EndsOfOpen) -> None:
        self._options = options
        self._check = check
        self._ends_of_open = ends_of_open
        self._sealed: dict[int, LedgerEnd] = {}
        self._open: dict[int, LedgerEnd] = {}
        """As they were at the last look."""
        self._passed = NO_IDS
        """Ledgers that the options do not choose."""
        self._unread: set[int] = set()
        """Ledgers seen that the stream has not finished: if one is deleted, entries are lost."""
        self._said: set[int] = set()
        self._epochs: dict[EpochKey, Published] = {}
        """Those of a manifest that were seen."""

    def look_at_all(self, store: BlockingStore) -> View:
        """Return all ledgers, for a stream at an unknown offset; a ledger that is gone is no loss yet."""
        return self._look(store, StreamOffset(), lambda ledger_id, error: None)

    def look(self, store: BlockingStore, start: StreamOffset) -> View:
        """Return the ledgers to read for a stream at ``start``.

        Raises NoSuchLedger for a ledger that is gone although it was named, or was not read to its end, and
        MetadataCorrupt.  With ``failOnDataLoss=false`` such a ledger is logged, once, and the others are read.
        """
        return self._look(store, start, self._missing)

    def _look(self, store: BlockingStore, start: StreamOffset, missing: Missing) -> View:
        named, found = self._chosen(store)
        needed = {*named, *start.open, *self._unread}
        ids = list(dict.fromkeys([*named, *found, *start.open, *self._unread]))
        if self._options.manifest is None:
            ids.sort()
        ids = [each for each in ids if not start.is_finished(each) and each not in self._passed]
        self._sealed = {each: self._sealed[each] for each in ids if each in self._sealed}
        ends = self._ends(store, [each for each in ids if each not in self._sealed], start, needed, missing)
        ends.update(self._sealed)
        self._unread = {each for each, end in ends.items() if end.end > start.position(each)}
        ordered = tuple(ends[each] for each in ids if each in ends)
        return View(ordered, self._passed)

    def open_entry_bytes(self, ledger_id: int) -> int:
        """Return the payload bytes of an entry of a ledger that was open at the last look; 0 if that is not known."""
        end = self._open.get(ledger_id)
        return end.entry_bytes if end is not None else 0

    def _chosen(self, store: BlockingStore) -> tuple[list[int], list[int]]:
        """Return the ledgers that must exist, and those that exist."""
        if self._options.manifest is None:
            return chosen_ids(store, self._options)
        epochs = read_manifest(store, self._options.manifest, self._epochs)
        return [ledger.ledger_id for _, ledgers in epochs for ledger in ledgers], []

    def _ends(
        self, store: BlockingStore, ids: Sequence[int], start: StreamOffset, needed: set[int], missing: Missing
    ) -> dict[int, LedgerEnd]:
        """Return how far each ledger of ``ids`` can be read; nothing is remembered about these."""
        ends: dict[int, LedgerEnd] = {}
        still_open = []
        foreign = []
        for ledger_id, answer in store.read_ledgers(ids):
            if not isinstance(answer, Versioned):
                if ledger_id in needed or not isinstance(answer, NoSuchLedger):
                    missing(ledger_id, answer)
                if ledger_id in start.open and isinstance(answer, NoSuchLedger):
                    ends[ledger_id] = LedgerEnd(ledger_id, start.position(ledger_id), sealed=True)
            elif ledger_id not in start.open and not self._is_chosen(answer.metadata):
                foreign.append(ledger_id)
            else:
                ledger = SelectedLedger(ledger_id, answer)
                self._check(ledger)
                if answer.metadata.closed:
                    self._sealed[ledger_id] = sealed_end(ledger)
                elif self._options.read_mode is not ReadMode.CLOSED:
                    still_open.append(ledger)
        self._passed |= IdRanges.of(foreign)
        found = self._ends_of_open(store, still_open) if still_open else ()
        self._open = {each.ledger_id: each for each in found}
        return ends | self._open

    def _is_chosen(self, metadata: LedgerMetadata) -> bool:
        wanted: Mapping[str, str] = self._options.ledger_metadata
        return not wanted or has_custom_metadata(metadata, wanted)

    def _missing(self, ledger_id: int, error: BookKeeperError) -> None:
        if self._options.fail_on_data_loss:
            raise data_lost(ledger_id, error)
        if ledger_id not in self._said:
            self._said.add(ledger_id)
            log.warning("ledger %s is left out: %s", ledger_name(ledger_id), error)


def sealed_end(ledger: SelectedLedger) -> LedgerEnd:
    """Return how far a closed ledger can be read."""
    metadata = ledger.metadata
    end = metadata.last_entry_id + 1
    return LedgerEnd(ledger.ledger_id, end, sealed=True, entry_bytes=average(metadata.length, end))


def average(length: int, count: int) -> int:
    """Return the bytes of one of ``count`` entries on average, rounded up; 0 if there is none."""
    return -(-length // count) if count else 0


def data_lost(ledger_id: int, error: BookKeeperError) -> BookKeeperError:
    """Return the error for a ledger of a stream that cannot be read to its end."""
    return type(error)(
        f"ledger {ledger_name(ledger_id)}: {str(error).rstrip('.')}, and the stream did not read it to its end. "
        "Restart the query with failOnDataLoss=false to go on without the rest of it."
    )


def clipped(view: View, target: View, start: StreamOffset) -> View:
    """Return ``view`` cut to the older ``target``, with the ledgers begun at ``start`` that are gone since."""
    then = {each.ledger_id: each for each in target.ledgers}
    kept = []
    for each in view.ledgers:
        if each.ledger_id in then:
            end = min(each.end, then[each.ledger_id].end)
            kept.append(evolve(each, end=end, sealed=each.sealed and end == each.end))
        elif each.sealed and each.end <= start.position(each.ledger_id):
            kept.append(each)
    return View(tuple(kept), target.passed)
