"""Arithmetic of write, ack and covering quorums (docs/protocol/quorums.md).

A bookie is named by its index in the ensemble; a set of bookies is a bit mask, one bit for each index.
"""

from collections.abc import Iterable
from typing import Protocol

from bookkeeper_tx.errors import InvalidArgument


class _Sized(Protocol):
    @property
    def ensemble_size(self) -> int: ...
    @property
    def write_quorum_size(self) -> int: ...
    @property
    def ack_quorum_size(self) -> int: ...


class Quorum:
    """Ensemble size, write quorum size and ack quorum size of a ledger, and the rules that follow from them."""

    __slots__ = ("_write_masks", "ack_quorum_size", "ensemble_size", "write_quorum_size", "write_sets")

    def __init__(self, ensemble_size: int, write_quorum_size: int, ack_quorum_size: int) -> None:
        sizes = (ensemble_size, write_quorum_size, ack_quorum_size)
        if not all(isinstance(size, int) for size in sizes):
            raise InvalidArgument(f"ensemble, write quorum and ack quorum size must be integers, not {sizes!r}")
        if not ensemble_size >= write_quorum_size >= ack_quorum_size >= 1:
            raise InvalidArgument(
                f"ensemble_size {ensemble_size} >= write_quorum_size {write_quorum_size} >= "
                f"ack_quorum_size {ack_quorum_size} >= 1 does not hold"
            )
        self.ensemble_size = ensemble_size
        self.write_quorum_size = write_quorum_size
        self.ack_quorum_size = ack_quorum_size
        self.write_sets = tuple(
            tuple((first + step) % ensemble_size for step in range(write_quorum_size)) for first in range(ensemble_size)
        )
        self._write_masks = tuple(mask_of(write_set) for write_set in self.write_sets)

    @classmethod
    def of(cls, ledger: "_Sized") -> "Quorum":
        """Return the quorum of a ledger with these sizes, such as its metadata."""
        return cls(ledger.ensemble_size, ledger.write_quorum_size, ledger.ack_quorum_size)

    @property
    def striped(self) -> bool:
        """Whether no bookie holds every entry."""
        return self.ensemble_size != self.write_quorum_size

    @property
    def absence_size(self) -> int:
        """How many bookies of an entry's write set must lack it so that it can never reach its ack quorum."""
        return self.write_quorum_size - self.ack_quorum_size + 1

    def write_set(self, entry_id: int) -> tuple[int, ...]:
        """Return the indices of the bookies that store ``entry_id``, in the order in which they are read."""
        return self.write_sets[entry_id % self.ensemble_size]

    def covered(self, answered: int) -> bool:
        """Return whether every write set holds fewer than an ack quorum of bookies that have not answered.

        Then every entry that reached its ack quorum is known to a bookie that has answered.
        """
        return all((mask & ~answered).bit_count() < self.ack_quorum_size for mask in self._write_masks)


def mask_of(indices: Iterable[int]) -> int:
    """Return the bit mask of ``indices``."""
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask
