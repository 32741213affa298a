"""The BookKeeper client for scripts, notebooks and threads: every call waits for its result."""

from contextlib import suppress
from typing import Self

from bookkeeper_tx import aio
from bookkeeper_tx.blocking.handles import LedgerReader, LedgerWriter, LedgerWriterAdv
from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.blocking.waiting import Waiting, gives, waits
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import ClientClosed


class BookKeeper(Waiting[aio.BookKeeper]):
    """A client of one BookKeeper cluster, whose methods wait::

        with BookKeeper("sqlite:////var/lib/cluster/metadata.db") as bk:
            with bk.create_ledger() as writer:
                entry_id = writer.append(b"payload")
            with bk.open_ledger(writer.ledger_id) as reader:
                for entry in reader:
                    print(entry.payload)

    It is the client on asyncio, on a thread of its own; arguments and errors are those of
    :class:`bookkeeper_tx.aio.BookKeeper`.  Threads may share it and its handles.  A KeyboardInterrupt gives up the call
    that waits.  A child process makes its own after a fork.

    :param metadata: URI of the cluster's metadata (docs/guides/metadata-stores.md)
    :param config: settings; those of ``ClientConfig()`` if not given
    :raises InvalidConfig: the URI names no store
    """

    def __init__(self, metadata: str, config: ClientConfig | None = None) -> None:
        thread = LoopThread("bookkeeper")

        async def make() -> aio.BookKeeper:
            return aio.BookKeeper(metadata, config)

        try:
            super().__init__(thread, thread.call(make))
        except BaseException:
            thread.close()
            raise

    @property
    def config(self) -> ClientConfig:
        """The settings of this client."""
        return self._inner.config

    start = waits(aio.BookKeeper.start)

    def close(self) -> None:
        """Close the connections and the store; ledgers stay as they are."""
        if not self._thread.closed:
            try:
                with suppress(ClientClosed):  # another thread was first
                    self._thread.call(self._inner.close)
            finally:
                self._thread.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    create_ledger = gives(LedgerWriter, aio.BookKeeper.create_ledger)
    create_ledger_adv = gives(LedgerWriterAdv, aio.BookKeeper.create_ledger_adv)
    open_ledger = gives(LedgerReader, aio.BookKeeper.open_ledger)
    open_ledger_no_recovery = gives(LedgerReader, aio.BookKeeper.open_ledger_no_recovery)
    delete_ledger = waits(aio.BookKeeper.delete_ledger)
    list_ledgers = waits(aio.BookKeeper.list_ledgers)
    ledger_metadata = waits(aio.BookKeeper.ledger_metadata)
    update_custom_metadata = waits(aio.BookKeeper.update_custom_metadata)
    entries_of = waits(aio.BookKeeper.entries_of)
    bookie_info = waits(aio.BookKeeper.bookie_info)
    writable_bookies = waits(aio.BookKeeper.writable_bookies)
