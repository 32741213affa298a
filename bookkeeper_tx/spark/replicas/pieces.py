"""The units of comparison: the copies of some entries on the bookies that should all have them.

Of a striped ledger no bookie has every entry.  Its entries with the same write set are a *stripe*: entry ``e`` is in
stripe ``e % stripes``, and the bookies of a stripe should have exactly the same.  A ledger that is not striped is one
stripe.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from bookkeeper_tx.model import BookieId
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange


@frozen
class Piece:
    """Entries of one stripe of one fragment: the same bookies have them all."""

    ledger: LedgerRange
    """From the first to the last entry of the piece; of one fragment."""
    stripe: int
    stripes: int
    bookies: tuple[BookieId, ...]
    """The write set."""

    @property
    def entry_ids(self) -> range:
        """The ids of its entries, ascending."""
        first = self.ledger.first + (self.stripe - self.ledger.first) % self.stripes
        return range(first, self.ledger.last + 1, self.stripes)


def pieces_of(ledger: LedgerRange, block_size: int) -> Iterator[Piece]:
    """Cut a range at its fragments, at multiples of ``block_size`` entries, and into stripes that have entries."""
    quorum = ledger.quorum
    stripes = ledger.ensemble_size if quorum.striped else 1
    for part in _blocks(ledger, block_size):
        ensemble = part.fragments[0].ensemble
        for stripe in range(stripes):
            piece = Piece(part, stripe, stripes, _write_set(quorum, ensemble, stripe))
            if piece.entry_ids:
                yield piece


def _write_set(quorum: Quorum, ensemble: Sequence[BookieId], stripe: int) -> tuple[BookieId, ...]:
    return tuple(ensemble[index] for index in quorum.write_set(stripe))


def _blocks(ledger: LedgerRange, block_size: int) -> Iterator[LedgerRange]:
    starts = [fragment.first_entry_id for fragment in ledger.fragments]
    ends = [*(start - 1 for start in starts[1:]), ledger.last]
    for fragment, start, end in zip(ledger.fragments, starts, ends, strict=True):
        first = max(ledger.first, start)
        end = min(ledger.last, end)
        while first <= end:
            last = min(end, first - first % block_size + block_size - 1)
            yield evolve(ledger, first=first, last=last, fragments=(fragment,))
            first = last + 1


@frozen
class Share:
    """The blocks of a ledger that one task reads: every ``of``-th, so that exactly one task reads each block.

    The number of a block depends on its first entry only.  So tasks agree on it even if one has newer metadata than
    another.
    """

    number: int = 0
    of: int = 1

    def has(self, piece: Piece, block_size: int) -> bool:
        return piece.ledger.first // block_size % self.of == self.number
