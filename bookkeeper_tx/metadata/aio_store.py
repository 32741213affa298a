"""A metadata store on an event loop: the blocking one, on a thread of its own, which tells or is looked at."""

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any, Final

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.uri import parse_metadata_uri
from bookkeeper_tx.metadata.watches import BOOKIES, Key, Watches
from bookkeeper_tx.model import BookieId, LedgerMetadata
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.threads.daemon_thread import DaemonThread

LOOK_INTERVAL_S: Final = 1.0
"""Longest delay before a watcher is called where the store does not tell; and after a look that has failed."""

log = logging.getLogger("bookkeeper_tx")


class AioMetadataStore:
    """The store of a URI, for one event loop.

    Methods that ask the store return a Future.  Questions wait for each other: those that have waited for their whole
    time behind one to which there was no answer have none either, and those that were given up are not asked.
    """

    def __init__(
        self,
        uri: str,
        timeout_s: float,
        loop: asyncio.AbstractEventLoop,
        security: MetadataSecurity | None = None,
    ) -> None:
        self.uri = uri
        self._timeout_s = timeout_s
        self._loop = loop
        self._security = security
        parse_metadata_uri(uri)
        self._thread: DaemonThread | None = DaemonThread("metadata", loop)
        self._store: BlockingStore | None = None
        self._watches = Watches(log.exception)
        self._timer: asyncio.TimerHandle | None = None
        self._due: set[Key] = set()
        """What the timer looks at."""
        self._changed: set[Key | None] = set()
        """What the store has told about, until it is looked at; None if that is anything."""
        self._tells = False
        self._unanswered: MetadataUnavailable | None = None
        """The error of the last question that was asked, if there was no answer."""

    def start(self) -> Any:
        return self._run(self._open)

    async def stop(self) -> None:
        """Disconnect; later calls fail."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._watches.clear()
        if self._timer is not None:
            self._timer.cancel()
        closed = thread.run(self._close)  # a start that is under way ends before it
        thread.end()
        await asyncio.shield(closed)  # whoever gives up waiting must not leave it open

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

    # Named records ---------------------------------------------------------------------------------------------------

    def read_record(self, path: DocumentPath) -> Any:
        return self._ask("read_record", path)

    def write_record(self, path: DocumentPath, data: bytes, version: int | None) -> Any:
        return self._ask("write_record", path, data, version)

    def delete_record(self, path: DocumentPath, version: int) -> Any:
        return self._ask("delete_record", path, version)

    def list_records(self, path: DocumentPath) -> Any:
        return self._ask("list_records", path)

    # Bookies ---------------------------------------------------------------------------------------------------------

    def writable_bookies(self) -> Any:
        return self._ask("writable_bookies")

    def bookie_info(self, bookie_id: BookieId) -> Any:
        return self._ask("bookie_info", bookie_id)

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        return self._watch(BOOKIES, changed)

    # Around the thread -----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._store = open_blocking_store(self.uri, self._timeout_s, self._security)

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _ask(self, name: str, *arguments: Any) -> Any:
        return self._run(self._call, self._loop.time(), name, *arguments)

    def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._thread is None:
            failed = self._loop.create_future()
            failed.set_exception(self._was_stopped())
            return failed
        return self._thread.run(function, *arguments)

    def _was_stopped(self) -> MetadataUnavailable:
        return MetadataUnavailable(f"the metadata store {self.uri} was stopped")

    def _call(self, asked_s: float, name: str, *arguments: Any) -> Any:
        """Call a method of the store, on its thread."""
        if self._thread is None:
            raise self._was_stopped()
        if self._unanswered is not None and self._loop.time() - asked_s >= self._timeout_s:
            raise MetadataUnavailable(*self._unanswered.args)
        try:
            answer = getattr(self._opened(), name)(*arguments)
        except MetadataUnavailable as error:
            self._unanswered = error
            raise
        self._unanswered = None
        return answer

    def _opened(self) -> BlockingStore:
        if self._store is None:
            raise MetadataUnavailable(f"the metadata store {self.uri} is not started")
        return self._store

    def _watch(self, key: Key, changed: Callable[[], None]) -> Callable[[], None]:
        end = self._watches.add(key, changed)
        self._look({key})  # at once: reads after this call are not older than the first stamp

        def end_watch() -> None:
            end()
            if key not in self._watches.keys and self._thread is not None:
                self._run(self._forget, key)

        return end_watch

    def _look(self, keys: Collection[Key]) -> None:
        """Find out whether ``keys``, as far as somebody watches them, have changed."""
        watched = self._watches.keys.intersection(keys)
        if watched and self._thread is not None:
            self._run(self._observe, watched).add_done_callback(partial(self._looked, watched))

    def _looked(self, keys: Collection[Key], looked: "asyncio.Future[dict[Key, Any]]") -> None:
        failed = looked.cancelled() or looked.exception() is not None
        if failed:
            self._watches.missed(keys)
        else:
            self._watches.saw(looked.result())
        # Only now: a store that is slow would have more and more looks to do.
        self._due.update(keys if failed or not self._tells else ())
        if self._due and self._timer is None and self._thread is not None:
            self._timer = self._loop.call_later(LOOK_INTERVAL_S, self._look_at_due)

    def _look_at_due(self) -> None:
        self._timer = None
        keys, self._due = self._due, set()
        self._look(keys)

    def _tell(self, key: Key | None) -> None:
        """Hear from the store, on any thread, that ``key`` has changed, or that anything may have."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._told, key)

    def _told(self, key: Key | None) -> None:
        if not self._changed:
            self._loop.call_soon(self._look_at_changed)
        self._changed.add(key)

    def _look_at_changed(self) -> None:
        changed, self._changed = self._changed, set()
        self._look(self._watches.keys if None in changed else [key for key in changed if key is not None])

    def _forget(self, key: Key) -> None:
        if self._store is not None:
            self._store.forget(key)

    def _observe(self, keys: Collection[Key]) -> dict[Key, Any]:
        store = self._opened()
        self._tells = store.tells
        return store.stamps(keys, self._tell)
