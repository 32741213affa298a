"""A metadata store on an event loop: the blocking one, on a thread of its own, which is looked at for changes."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from bookkeeper_tx.aio.daemon_thread import DaemonThread
from bookkeeper_tx.errors import BookKeeperError, MetadataUnavailable
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.metadata.uri import parse_metadata_uri
from bookkeeper_tx.metadata.watches import Watches
from bookkeeper_tx.model import BookieId, LedgerMetadata, Versioned

LOOK_INTERVAL_S: Final = 1.0
"""Longest delay before a watcher is called, besides the time of a look."""

log = logging.getLogger("bookkeeper_tx")

_BOOKIES: Final = "bookies"


class AioMetadataStore:
    """The store of a URI, for one event loop.

    Methods that ask the store return a Future.
    """

    def __init__(self, uri: str, timeout_s: float, loop: asyncio.AbstractEventLoop) -> None:
        self.uri = uri
        self._timeout_s = timeout_s
        self._loop = loop
        parse_metadata_uri(uri)
        self._thread: DaemonThread | None = DaemonThread("metadata", loop)
        self._store: BlockingStore | None = None
        self._watches = Watches(log.exception)
        self._due: asyncio.TimerHandle | None = None

    def start(self) -> Any:
        return self._run(self._open)

    async def stop(self) -> None:
        """Disconnect; later calls fail."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._watches.clear()
        if self._due is not None:
            self._due.cancel()
        closed = thread.run(self._close)  # a start that is under way ends before it
        thread.end()
        await closed

    # Ledgers ---------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> Any:
        return self._ask("new_ledger_id")

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Any:
        return self._ask("create_ledger", ledger_id, metadata)

    def read_ledger(self, ledger_id: int) -> Any:
        return self._ask("read_ledger", ledger_id)

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Any:
        return self._ask("write_ledger", ledger_id, metadata, version)

    def delete_ledger(self, ledger_id: int) -> Any:
        return self._ask("delete_ledger", ledger_id)

    def list_ledgers(self, scope_id: int | None = 0) -> Any:
        return self._ask("list_ledgers", scope_id)

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        return self._watch(ledger_id, changed)

    # Bookies ---------------------------------------------------------------------------------------------------------

    def writable_bookies(self) -> Any:
        return self._ask("writable_bookies")

    def bookie_info(self, bookie_id: BookieId) -> Any:
        return self._ask("bookie_info", bookie_id)

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        return self._watch(_BOOKIES, changed)

    # Around the thread -----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._store = open_blocking_store(self.uri, self._timeout_s)

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _ask(self, name: str, *arguments: Any) -> Any:
        return self._run(self._call, name, *arguments)

    def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._thread is None:
            failed = self._loop.create_future()
            failed.set_exception(MetadataUnavailable(f"the metadata store {self.uri} was stopped"))
            return failed
        return self._thread.run(function, *arguments)

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the store, on its thread."""
        if self._store is None:
            raise MetadataUnavailable(f"the metadata store {self.uri} is not started")
        return getattr(self._store, name)(*arguments)

    def _watch(self, key: Any, changed: Callable[[], None]) -> Callable[[], None]:
        end = self._watches.add(key, changed)
        if self._thread is not None:
            # Reads after this call are not older than the first stamp.
            self._run(self._observe, frozenset((key,))).add_done_callback(self._saw)
        if self._due is None:
            self._look_later()
        return end

    def _look_later(self) -> None:
        self._due = self._loop.call_later(LOOK_INTERVAL_S, self._look)

    def _look(self) -> None:
        """Find out what has changed, then again after a while, as long as somebody watches."""
        self._due = None
        keys = self._watches.keys
        if keys and self._thread is not None:
            self._run(self._observe, keys).add_done_callback(self._looked)

    def _looked(self, looked: "asyncio.Future[dict[Any, Any]]") -> None:
        # Only now: a store that is slow would have more and more looks to do.
        self._saw(looked)
        if self._due is None and self._thread is not None:
            self._look_later()

    def _saw(self, looked: "asyncio.Future[dict[Any, Any]]") -> None:
        if not looked.cancelled() and looked.exception() is None:
            self._watches.saw(looked.result())

    def _observe(self, keys: frozenset[Any]) -> dict[Any, Any]:
        """Return the stamps of what can be read now; the rest is looked at the next time."""
        stamps: dict[Any, Any] = {}
        try:
            if _BOOKIES in keys:
                stamps[_BOOKIES] = self._call("writable_bookies")
            for ledger_id, found in self._call("read_ledgers", [key for key in keys if key != _BOOKIES]):
                stamps[ledger_id] = found.version if isinstance(found, Versioned) else type(found)
        except BookKeeperError:
            return stamps
        return stamps
