"""The bookies that can be written to, and the quarantine of those that failed lately."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol
from weakref import WeakSet

from bookkeeper_tx.client.unexpired import unexpired
from bookkeeper_tx.config import QUARANTINE_S
from bookkeeper_tx.driver import Driver, Timer
from bookkeeper_tx.errors import (
    QUARANTINED,
    BookKeeperError,
    MetadataUnavailable,
    NotEnoughBookies,
    StorageFailed,
    TooManyRequests,
)
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.quorums.placement import Placement

NOT_ASKED = TooManyRequests("not asked, since it does not take what was sent to it before")
"""The answer that stands for a congested bookie where a read may fail fast; the bookie itself has not failed."""

REFRESH_RETRY_S = 5.0
"""How long after a change the store is asked again if it did not tell the set of bookies."""


class ShortOfBookies(Protocol):
    """The ensemble of a writer that goes on without a bookie that has failed."""

    def bookies_changed(self) -> None:
        """Take another bookie, if there is one now."""


class BookieWatcher:
    """Keeps the set of writable bookies that the metadata store reports, and chooses among them."""

    def __init__(self, store: ClientMetadataStore, driver: Driver, placement: Placement) -> None:
        self._store = store
        self._driver = driver
        self._clock = driver.clock
        self._placement = placement
        self.stopped = False
        """Whether the client was closed; one that could not start was not."""
        self._stop_watching: Callable[[], None] | None = None
        self._retry: Timer | None = None
        self.quarantined_until: dict[BookieId, float] = {}
        """Bookie → the time at which its quarantine ends; :attr:`quarantined` drops those that are past it."""
        self.writable: frozenset[BookieId] = frozenset()
        self.generation = 0
        """Grows whenever the set of writable bookies changes: a failed replacement is worth another try."""
        self.short: WeakSet[ShortOfBookies] = WeakSet()
        """Those that are told of such a change, unless their program has dropped them."""

    async def start(self) -> None:
        self._stop_watching = self._store.watch_bookies(self._changed)
        await self.refresh()

    def stop(self) -> None:
        self.stopped = True
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None
        self._end_retry()

    async def refresh(self) -> None:
        """Ask the store for the set now."""
        writable = await self._store.writable_bookies()
        if writable != self.writable:
            self.writable = frozenset(writable)
            self.generation += 1
            for each in list(self.short):
                each.bookies_changed()

    def _changed(self) -> None:
        self._end_retry()
        self._driver.when_done(self._driver.spawn(self.refresh()), self._refreshed)

    def _refreshed(self, error: Exception | None, _: Any) -> None:
        """Take the end of a refresh after a change; if the store did not answer, it is asked again in a while."""
        if error is None:
            return
        if not isinstance(error, BookKeeperError):
            raise error
        if not self.stopped and self._retry is None:
            self._retry = self._clock.callLater(REFRESH_RETRY_S, self._ask_again)

    def _ask_again(self) -> None:
        self._retry = None
        self._changed()

    def _end_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def quarantine(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        """Put ``bookie_id`` into quarantine if ``error`` is a failure of the bookie itself."""
        if isinstance(error, QUARANTINED) and error is not NOT_ASKED:
            self.quarantined_until[bookie_id] = self._clock.seconds() + QUARANTINE_S

    def quarantine_after_add(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        """Do so after an add has failed: then an I/O error, too, is one of the bookie, and not of a single entry."""
        if isinstance(error, StorageFailed):
            self.quarantined_until[bookie_id] = self._clock.seconds() + QUARANTINE_S
        else:
            self.quarantine(bookie_id, error)

    @property
    def quarantined(self) -> Mapping[BookieId, float]:
        """The bookies in quarantine: they are asked last."""
        return unexpired(self.quarantined_until, self._clock)

    async def choose(self, size: int, excluded: Collection[BookieId] = ()) -> tuple[BookieId, ...]:
        """Return a new ensemble with none of ``excluded`` in it.  Raises :class:`NotEnoughBookies`."""
        try:
            return self._placement.choose(size, self.writable, excluded, self.quarantined)
        except NotEnoughBookies as shortage:
            await self._refresh_after(shortage)
            return self._placement.choose(size, self.writable, excluded, self.quarantined)

    async def replace(
        self, ensemble: tuple[BookieId, ...], broken: Mapping[int, BookieId], avoided: Collection[BookieId] = ()
    ) -> tuple[BookieId, ...]:
        """Return ``ensemble`` with bookies other than ``avoided`` at the indices of ``broken``.

        Raises :class:`NotEnoughBookies`.
        """
        try:
            return self._placement.replace(ensemble, broken, self.writable, avoided, self.quarantined)
        except NotEnoughBookies as shortage:
            await self._refresh_after(shortage)
            return self._placement.replace(ensemble, broken, self.writable, avoided, self.quarantined)

    async def _refresh_after(self, shortage: NotEnoughBookies) -> None:
        """Ask the store for more bookies; if it is away there are none, as far as anybody knows."""
        try:
            await self.refresh()
        except MetadataUnavailable as error:
            if self._stop_watching is None:
                # The client was closed, or never started, which says more.
                raise
            raise NotEnoughBookies(f"{shortage}; the metadata store does not tell of others: {error}") from error
