"""The locations of the entries that a flush has put into entry logs, stretch by stretch, as an index takes them."""

from array import array
from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import frozen

from bookkeeper_tx.bookie.storage.checked_pieces import Piece, PieceMaker
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from protocol_specs.disk import ledger_index as spec

Put: TypeAlias = "Callable[[int, array[int]], None]"
"""Is given the first id of consecutive entries, and their locations, which are its own."""


@frozen
class WrittenLocations:
    """The changes of a write to one index."""

    parts: "list[tuple[int, int, array[int]]]"
    """Number of a page, the first slot in it, and the locations from there on."""
    pieces: list[Piece]
    """Entries back to back in a log, for :class:`~bookkeeper_tx.bookie.storage.checked_pieces.CheckedPieces`."""


def put_locations(placed: Sequence[PlacedRun], put: Put) -> WrittenLocations:
    """Give the locations of runs, ascending ones of one ledger, to ``put``; return what there is to know of them."""
    pieces = PieceMaker()
    stretch = _Stretch(put)
    last_number = -1
    for each in placed:
        run = each.run
        locations = array("Q", map(each.base.__add__, run.offsets[:-1]))
        stretch.add(run.first_entry_id, locations)
        at, count = 0, len(locations)
        while at < count:
            number, slot = divmod(run.first_entry_id + at, spec.PAGE_COUNT)
            if number != last_number:
                last_number = number
                pieces.close()
            part = locations[at : at + spec.PAGE_COUNT - slot]
            pieces.add(each, at, part)
            at += len(part)
    stretch.end()
    return WrittenLocations(stretch.parts, pieces.take())


class _Stretch:
    """The locations of consecutive entries, for one call of ``put``."""

    def __init__(self, put: Put) -> None:
        self.parts: list[tuple[int, int, array[int]]] = []
        """What was given away, page by page, as :class:`WrittenLocations` has it."""
        self._put = put
        self._locations = array("Q")
        self._first_id = self._next_id = 0

    def add(self, first_entry_id: int, locations: "array[int]") -> None:
        if first_entry_id != self._next_id:
            self.end()
        if not self._locations:
            self._first_id = first_entry_id
        self._locations.extend(locations)
        self._next_id = first_entry_id + len(locations)

    def end(self) -> None:
        locations = self._locations
        if not locations:
            return
        number, slot = divmod(self._first_id, spec.PAGE_COUNT)
        for at in range(-slot, len(locations), spec.PAGE_COUNT):
            self.parts.append((number, max(-at, 0), locations[max(at, 0) : at + spec.PAGE_COUNT]))
            number += 1
        self._put(self._first_id, locations)
        self._locations = array("Q")
