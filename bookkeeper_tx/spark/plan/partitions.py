"""The partitions of a query: ranges of entries, cut so that tasks have about the same amount to read."""

from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from bookkeeper_tx.spark.reading.ledger_range import LedgerRange

LEDGERS_MAX = 1000
"""About how many ledgers one task reads, however small they are.

A task reads one after the other, and asks bookies anew for each: say 1 ms over a network, in which no entry comes.  So
1000 take about as long as the million rows that a task has by default, at less than 1 µs each, and much longer than it
takes to start a task.
"""


@frozen
class SizedRange:
    """A range of entries, and how large its entries are on average."""

    entries: LedgerRange
    entry_bytes: float = 0.0
    """0 if it is not known."""


def partition(
    ranges: Iterable[SizedRange], target_entries: int, target_bytes: int, min_partitions: int | None = None
) -> list[list[LedgerRange]]:
    """Return the ranges of each task, in the order given.

    Each task gets about as much as the others, and no more than ``target_entries`` (plus one) or about ``target_bytes``
    of payload; there are at least ``min_partitions`` if there are entries enough.  Small ledgers share a task, about
    ``LEDGERS_MAX`` at most; large ones are cut.  Every range lies in one fragment.
    """
    pieces = [piece for each in ranges for piece in by_fragment(each)]
    # So few that one task could read them all are weighed by their entries alone.
    least = 1 / LEDGERS_MAX if len(pieces) > LEDGERS_MAX else 0.0
    weights = [_weight(piece, target_entries, target_bytes, least) for piece in pieces]
    total = sum(weight * piece.entries.count for weight, piece in zip(weights, pieces, strict=True))
    count = min(max(_ceil(total), min_partitions or 1), sum(piece.entries.count for piece in pieces))
    if not count:
        return []
    parts: list[list[LedgerRange]] = [[]]
    used = 0.0
    boundary = min(total / count, 1.0)
    for piece, weight in zip(pieces, weights, strict=True):
        first, last = piece.entries.first, piece.entries.last
        while first <= last:
            if parts[-1] and used + weight / 2 >= boundary:
                parts.append([])
                # Even shares, unless entries larger than a share have shifted them.
                even = total * len(parts) / count
                boundary = min(even, used + 1.0) if even > used else used + 1.0
            taken = min(last - first + 1, max(1, round((boundary - used) / weight)))
            whole = taken == piece.entries.count
            parts[-1].append(piece.entries if whole else evolve(piece.entries, first=first, last=first + taken - 1))
            used += taken * weight
            first += taken
    return parts


def _weight(piece: SizedRange, target_entries: int, target_bytes: int, least: float) -> float:
    """Return the part of one task's measure that an entry takes; all entries of a piece take ``least`` or more."""
    return max(1 / target_entries, piece.entry_bytes / target_bytes, least / piece.entries.count)


def _ceil(total: float) -> int:
    whole = int(total)
    # A rounding error must not make a task of its own.
    return whole + (total - whole > 1e-9 * max(total, 1))


def by_fragment(piece: SizedRange) -> Iterator[SizedRange]:
    """Yield the parts of ``piece`` that lie in one fragment each; each knows its own fragment only."""
    fragments = piece.entries.fragments
    if len(fragments) == 1:  # as most are: nothing is copied then
        yield piece
        return
    ends = [*(fragment.first_entry_id - 1 for fragment in fragments[1:]), piece.entries.last]
    for fragment, end in zip(fragments, ends, strict=True):
        first = max(piece.entries.first, fragment.first_entry_id)
        last = min(piece.entries.last, end)
        if first <= last:
            part = evolve(piece.entries, first=first, last=last, fragments=(fragment,))
            yield SizedRange(part, piece.entry_bytes)
