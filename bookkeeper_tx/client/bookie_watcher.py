"""The bookies that can be written to, and those that failed lately."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from bookkeeper_tx.config import QUARANTINE_S
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, NotEnoughBookies, RequestTimedOut, TooManyRequests
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.quorums.placement import Placement


class BookieWatcher:
    """Keeps the set of writable bookies as the metadata store tells it, and chooses among them."""

    def __init__(self, store: ClientMetadataStore, clock: IReactorTime, placement: Placement) -> None:
        self._store = store
        self._clock = clock
        self._placement = placement
        self._stop_watching: Callable[[], None] | None = None
        self.suspects: dict[BookieId, float] = {}
        """Bookies that failed lately and until when that counts; :attr:`suspected` without those past it."""
        self.writable: frozenset[BookieId] = frozenset()
        self.generation = 0
        """Grows whenever the set of writable bookies changes: a failed replacement is worth another try."""

    @property
    def stopped(self) -> bool:
        """Whether the client was closed, or not started yet."""
        return self._stop_watching is None

    async def start(self) -> None:
        self._stop_watching = self._store.watch_bookies(self._changed)
        await self.refresh()

    def stop(self) -> None:
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None

    async def refresh(self) -> None:
        """Ask the store for the set now."""
        writable = await self._store.writable_bookies()
        if writable != self.writable:
            self.writable = frozenset(writable)
            self.generation += 1

    def _changed(self) -> None:
        # A store that cannot be reached leaves us with the set we know; the next change or want of bookies asks.
        Deferred.fromCoroutine(self.refresh()).addErrback(_ignore_remote)

    def suspect(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        """Remember that ``bookie_id`` failed with ``error``, if that says something about the bookie."""
        if isinstance(error, (BookieUnavailable, RequestTimedOut, TooManyRequests)):
            self.suspects[bookie_id] = self._clock.seconds() + QUARANTINE_S

    @property
    def suspected(self) -> Mapping[BookieId, float]:
        """The bookies to ask last."""
        if self.suspects:
            now = self._clock.seconds()
            for bookie_id in [each for each, until in self.suspects.items() if until <= now]:
                del self.suspects[bookie_id]
        return self.suspects

    async def choose(self, size: int, excluded: Collection[BookieId] = ()) -> tuple[BookieId, ...]:
        """Return a new ensemble with none of ``excluded`` in it.  Raises :class:`NotEnoughBookies`."""
        try:
            return self._placement.choose(size, self.writable, excluded, self.suspected)
        except NotEnoughBookies:
            await self.refresh()
            return self._placement.choose(size, self.writable, excluded, self.suspected)

    async def replace(
        self, ensemble: tuple[BookieId, ...], broken: Mapping[int, BookieId], avoided: Collection[BookieId] = ()
    ) -> tuple[BookieId, ...]:
        """Return ``ensemble`` with bookies other than ``avoided`` at the indices of ``broken``.

        Raises :class:`NotEnoughBookies`.
        """
        try:
            return self._placement.replace(ensemble, broken, self.writable, avoided, self.suspected)
        except NotEnoughBookies:
            await self.refresh()
            return self._placement.replace(ensemble, broken, self.writable, avoided, self.suspected)


def _ignore_remote(failure: Any) -> None:
    failure.trap(BookKeeperError)
