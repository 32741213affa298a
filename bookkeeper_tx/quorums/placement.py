"""The choice of bookies for a ledger: writable ones at random, those in quarantine last."""

from collections.abc import Collection, Mapping
from random import Random

from bookkeeper_tx.errors import NotEnoughBookies
from bookkeeper_tx.model import BookieId


class Placement:
    """Chooses ensembles and replacements."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def choose(
        self,
        size: int,
        writable: Collection[BookieId],
        excluded: Collection[BookieId],
        quarantined: Collection[BookieId],
    ) -> tuple[BookieId, ...]:
        """Return ``size`` bookies out of ``writable``, none of ``excluded``; ``quarantined`` ones come last.

        Raises :class:`NotEnoughBookies`.
        """
        candidates = sorted(set(writable) - set(excluded))
        if len(candidates) < size:
            unusable = f" (not: {', '.join(sorted(excluded))})" if excluded else ""
            raise NotEnoughBookies(
                f"{size} bookies are needed, {len(candidates)} of {len(writable)} writable ones can be used{unusable}; "
                "start more bookies or choose a smaller ensemble"
            )
        trusted = [bookie for bookie in candidates if bookie not in quarantined]
        chosen = self._random.sample(trusted, min(size, len(trusted)))
        if len(chosen) < size:
            doubtful = [bookie for bookie in candidates if bookie in quarantined]
            chosen += self._random.sample(doubtful, size - len(chosen))
        return tuple(chosen)

    def replace(
        self,
        ensemble: tuple[BookieId, ...],
        broken: Mapping[int, BookieId],
        writable: Collection[BookieId],
        avoided: Collection[BookieId],
        quarantined: Collection[BookieId],
    ) -> tuple[BookieId, ...]:
        """Return ``ensemble`` with bookies other than ``avoided`` at the indices of ``broken``.

        Raises :class:`NotEnoughBookies`.
        """
        fresh = self.choose(len(broken), writable, {*ensemble, *broken.values(), *avoided}, quarantined)
        replaced = list(ensemble)
        for index, bookie in zip(sorted(broken), fresh, strict=True):
            replaced[index] = bookie
        return tuple(replaced)
