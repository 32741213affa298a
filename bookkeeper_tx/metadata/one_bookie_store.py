"""A metadata store in which one bookie is the only one that can be written to: all new ledgers are on it."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId


class OneBookieStore:
    """Is ``store`` but for that; a bookie that cannot be written to makes that none."""

    def __init__(self, store: ClientMetadataStore, bookie_id: BookieId) -> None:
        self._store = store
        self._bookie_id = bookie_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]:
        """Fire with the bookie if it is registered as writable."""
        return Deferred.fromCoroutine(self._writable())

    async def _writable(self) -> frozenset[BookieId]:
        return await self._store.writable_bookies() & {self._bookie_id}
