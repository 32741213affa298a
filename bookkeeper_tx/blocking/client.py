"""The BookKeeper client for scripts, notebooks and threads: every call waits for its result."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Self, TypeVar

from bookkeeper_tx import aio
from bookkeeper_tx.blocking.handles import LedgerReader, LedgerWriter
from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.model import BookieDisk, BookieId, DigestType, LedgerMetadata

T = TypeVar("T")


class BookKeeper:
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
        self._thread = LoopThread("bookkeeper")

        async def make() -> aio.BookKeeper:
            return aio.BookKeeper(metadata, config)

        try:
            self._client = self._thread.call(make)
        except BaseException:
            self._thread.close()
            raise

    @property
    def config(self) -> ClientConfig:
        """The settings of this client."""
        return self._client.config

    def start(self) -> None:
        """Connect to the metadata store, before all else.  Raises MetadataUnavailable."""
        self._call(self._client.start)

    def close(self) -> None:
        """Close the connections and the store; ledgers stay as they are."""
        if not self._thread.closed:
            try:
                self._call(self._client.close)
            finally:
                self._thread.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_ledger(
        self,
        ensemble_size: int = 3,
        write_quorum_size: int = 3,
        ack_quorum_size: int = 2,
        digest_type: DigestType = DigestType.CRC32C,
        password: bytes = b"",
        custom_metadata: Mapping[str, bytes] | None = None,
        *,
        ledger_id: int | None = None,
        scope_id: int = 0,
        deferred_sync: bool = False,
    ) -> LedgerWriter:
        """Create a ledger and return its writer.  Protocol: docs/protocol/quorums.md."""
        writer = self._call(
            lambda: self._client.create_ledger(
                ensemble_size,
                write_quorum_size,
                ack_quorum_size,
                digest_type,
                password,
                custom_metadata,
                ledger_id=ledger_id,
                scope_id=scope_id,
                deferred_sync=deferred_sync,
            )
        )
        return LedgerWriter(self._thread, writer)

    def open_ledger(
        self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
    ) -> LedgerReader:
        """Take a ledger over and return its reader.  Protocol: docs/protocol/recovery.md."""
        opened = self._call(lambda: self._client.open_ledger(ledger_id, password, digest_type, scope_id=scope_id))
        return LedgerReader(self._thread, opened)

    def open_ledger_no_recovery(
        self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
    ) -> LedgerReader:
        """Return a reader of a ledger that may still be written, up to its last add confirmed."""
        opened = self._call(
            lambda: self._client.open_ledger_no_recovery(ledger_id, password, digest_type, scope_id=scope_id)
        )
        return LedgerReader(self._thread, opened)

    def delete_ledger(self, ledger_id: int, *, scope_id: int = 0) -> None:
        """Delete a ledger's metadata, so that nobody can open it.  Raises NoSuchLedger."""
        self._call(lambda: self._client.delete_ledger(ledger_id, scope_id=scope_id))

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        """Return the ids of all ledgers of a scope, of all scopes for ``None``, ascending."""
        return self._call(lambda: self._client.list_ledgers(scope_id))

    def ledger_metadata(self, ledger_id: int, *, scope_id: int = 0) -> LedgerMetadata:
        """Return the metadata of a ledger.  Raises NoSuchLedger."""
        return self._call(lambda: self._client.ledger_metadata(ledger_id, scope_id=scope_id))

    def update_custom_metadata(
        self, ledger_id: int, changes: Mapping[str, bytes | None], *, scope_id: int = 0
    ) -> LedgerMetadata:
        """Set custom metadata of a ledger, or remove it for ``None``; return all its metadata."""
        return self._call(lambda: self._client.update_custom_metadata(ledger_id, changes, scope_id=scope_id))

    def entries_of(self, ledger_id: int, bookie_id: BookieId, *, scope_id: int = 0) -> EntryList:
        """Return the list of the entries of a ledger that a bookie stores.  Protocol: docs/protocol/list-entries.md."""
        return self._call(lambda: self._client.entries_of(ledger_id, bookie_id, scope_id=scope_id))

    def bookie_info(self, bookie_id: BookieId) -> BookieDisk:
        """Return the disk space of a bookie, in bytes.  Protocol: docs/protocol/bookie-info.md."""
        return self._call(lambda: self._client.bookie_info(bookie_id))

    def writable_bookies(self) -> frozenset[BookieId]:
        """Return the ids of the bookies that can be written to."""
        return self._call(self._client.writable_bookies)

    def _call(self, function: Callable[[], Awaitable[T]]) -> T:
        return self._thread.call(function)
