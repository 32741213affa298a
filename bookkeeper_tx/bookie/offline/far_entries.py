"""Entries that are alone, far past all others of their ledger: their ids may be damaged.

One wrong bit in an entry id makes an index of terabytes, nearly all of it a hole.  So such an entry waits until all
logs are read.  A neighbour, in its run or within ``FAR_COUNT`` ids, shows that the id is right: two ids are hardly
damaged alike.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from bookkeeper_tx.bookie.offline.log_locations import LocatedRun
from bookkeeper_tx.bookie.offline.stored_entries import locations_of
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.fields import NO_ENTRY

FAR_COUNT: Final = 1 << 19
"""Entry ids between an entry and the next lower one of its ledger, from which on it is far: 4 MiB of an index."""


class FarEntries:
    """Keeps back entries that are far until a neighbour comes."""

    def __init__(self) -> None:
        self._last_ids: dict[int, int] = {}
        """Ledger → the highest entry id that is taken for right."""
        self._alone: dict[int, dict[int, LocatedRun]] = {}
        """Ledger → entry id divided by ``FAR_COUNT`` → the only entry there."""

    def take(self, run: LocatedRun) -> list[LocatedRun]:
        """Return the runs whose ids are right for all that is known now."""
        ledger_id, first_id, count = run.ledger_id, run.first_entry_id, len(run.locations)
        last_id = self._last_ids.get(ledger_id, NO_ENTRY)
        if count == 1 and first_id > last_id + FAR_COUNT and not self._has_neighbour(run):
            self._alone.setdefault(ledger_id, {})[first_id // FAR_COUNT] = run
            return []
        last_id = self._last_ids[ledger_id] = max(last_id, first_id + count - 1)
        return [*self._reached(ledger_id, last_id), run] if ledger_id in self._alone else [run]

    def _has_neighbour(self, run: LocatedRun) -> bool:
        alone = self._alone.get(run.ledger_id, {})
        number = run.first_entry_id // FAR_COUNT
        found = (alone[each].first_entry_id for each in range(number - 1, number + 2) if each in alone)
        return any(0 < abs(each - run.first_entry_id) <= FAR_COUNT for each in found)

    def _reached(self, ledger_id: int, last_id: int) -> Iterator[LocatedRun]:
        """Give the entries of a ledger that are not far any more."""
        alone = self._alone[ledger_id]
        for number in sorted(alone):
            if alone[number].first_entry_id > last_id + FAR_COUNT:
                break
            last_id = self._last_ids[ledger_id] = max(last_id, alone[number].first_entry_id)
            yield alone.pop(number)
        if not alone:
            del self._alone[ledger_id]

    def left(self) -> Mapping[int, list[LocatedRun]]:
        """Return the entries that are still alone, of each ledger that has such, ascending."""
        return {ledger_id: [runs[each] for each in sorted(runs)] for ledger_id, runs in sorted(self._alone.items())}


def doubt(run: LocatedRun, last_entry_id: int | None, ids_by_index: list[int]) -> tuple[str, bool]:
    """Return what is to be told of an entry that is alone, "" for nothing, and whether it gets a place.

    ``last_entry_id`` is that of the ledger if it is closed; ``ids_by_index`` are the entries that the old index has in
    this place.
    """
    what = f"entry {run.first_entry_id} is far past all others of ledger {ledger_name(run.ledger_id)}"
    if last_entry_id is not None and run.first_entry_id > last_entry_id:
        return f"{what}, which is closed at entry {last_entry_id}: the id is damaged", False
    if run.first_entry_id in ids_by_index or last_entry_id is not None:
        return "", True
    if ids_by_index:
        return f"{what}, whose index has entry {ids_by_index[0]} in this place: the id is damaged", False
    return f"{what}, and nothing says whether the id is right: it gets a place in the index", True


def ids_in_index(indexes: LedgerIndexes | None, ledger_id: int, places: set[int]) -> dict[int, list[int]]:
    """Return the entries that an index has in these places, as far as it can be read; None is no index."""
    found: dict[int, list[int]] = {each: [] for each in places}
    if indexes is None:
        return found
    try:
        for first_id, page in locations_of(indexes, ledger_id):
            for place in places.intersection(page):
                found[place] += [first_id + slot for slot, each in enumerate(page) if each == place]
    except StorageFailed:
        pass  # whoever reads its header has told it, or copies what can be read
    return found
