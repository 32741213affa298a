"""The BookKeeper client: create, open, delete and list ledgers."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from random import Random
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.bookie_info import bookie_info
from bookkeeper_tx.client.bookie_watcher import BookieWatcher
from bookkeeper_tx.client.capability import Capabilities
from bookkeeper_tx.client.channel import Channels
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.create_ledger import create_ledger
from bookkeeper_tx.client.deferred_handles import LedgerReader, LedgerWriter
from bookkeeper_tx.client.delete_ledger import delete_ledger
from bookkeeper_tx.client.ledger_ids import require_ledger_id, require_scope_id
from bookkeeper_tx.client.list_entries import list_entries
from bookkeeper_tx.client.open_ledger import open_ledger, open_ledger_no_recovery
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver
from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.errors import ClientClosed
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieDisk, BookieId, DigestType, LedgerMetadata
from bookkeeper_tx.quorums.placement import Placement
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.transport.twisted_driver import TwistedDriver

T = TypeVar("T")


class BookKeeper:
    """A client of one BookKeeper cluster, on one Twisted reactor.

    Every method that asks the cluster returns a Deferred, which can be awaited::

        bk = BookKeeper("sqlite:////var/lib/cluster/metadata.db")
        await bk.start()
        writer = await bk.create_ledger()
        entry_id = await writer.append(b"payload")
        await writer.close()
        await bk.close()

    :param metadata: URI of the cluster's metadata (``sqlite:///path``, ``zk+hierarchical://host:port/ledgers``), or a
        store that is not started yet (docs/guides/metadata-stores.md)
    :param config: settings; those of ``ClientConfig()`` if not given
    :param reactor: Twisted's own if not given
    :param channels: connections to the bookies, for tests
    :param random: source of placement, for tests
    :raises InvalidConfig: the URI names no store
    """

    def __init__(
        self,
        metadata: str | ClientMetadataStore,
        config: ClientConfig | None = None,
        reactor: Any = None,
        *,
        channels: Channels | None = None,
        random: Random | None = None,
    ) -> None:
        if reactor is None:
            from twisted.internet import reactor
        self._random = random or Random()
        config = config or ClientConfig()
        store = _store_of(metadata, reactor, config) if isinstance(metadata, str) else metadata
        driver = TwistedDriver(reactor)
        self._spawn = driver.spawn
        self._context = ClientContext(
            store=store,
            channels=channels or _pool(driver, store.bookie_info, config),
            config=config,
            driver=driver,
            bookies=BookieWatcher(store, driver, Placement(self._random)),
            capabilities=Capabilities(driver.clock, config.batch_read_capability_expiry_s),
        )
        self._closed = False

    @property
    def config(self) -> ClientConfig:
        """The settings of this client."""
        return self._context.config

    @property
    def metadata(self) -> ClientMetadataStore:
        """The metadata store, for operations that have no method here."""
        return self._context.store

    def start(self) -> Deferred[None]:
        """Connect to the metadata store, before all else.  Fails with :exc:`.MetadataUnavailable`."""
        return self._run(self._start)

    def close(self) -> Deferred[None]:
        """Close the connections and the store.  Ledgers stay as they are: one that is open can be recovered."""
        if self._closed:
            return self._spawn(_nothing())
        self._closed = True
        return self._spawn(self._close())

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
    ) -> Deferred[LedgerWriter]:
        """Create a ledger and fire with its writer.

        :param ensemble_size: bookies that store the ledger; batch read needs no more of them than the write quorum
        :param write_quorum_size: bookies that each entry goes to
        :param ack_quorum_size: of these, how many must have an entry on disk before it is acknowledged
        :param digest_type: protects the entries against corruption
        :param password: bytes that are needed to open the ledger
        :param custom_metadata: text to bytes, kept with the ledger's metadata for the application's use
        :param ledger_id: the id to take, an integer or a :class:`~bookkeeper_tx.model.LedgerId`;
            without it the cluster's generator gives one
        :param scope_id: other than 0: no generator is asked, the id is the one given in that scope, or a random one;
            ``ledger_id=LedgerId.random()`` has a scope of its own.  Needs protocol V3, and bookies that know scopes
        :param deferred_sync: an append fires when bookies have the entry, on disk or not; it is durable, and the last
            add confirmed passes it, only after :meth:`LedgerWriter.force`.  Needs protocol V3
        :raises InvalidArgument: sizes, id or custom metadata are out of range
        :raises NotEnoughBookies: fewer bookies can be written to than the ensemble has
        :raises LedgerExists: ``ledger_id`` is taken
        :raises IllegalOperation: protocol V2 cannot say this; nothing was sent or stored
        :raises LedgerScopeNotSupported: too few bookies know scopes; nothing was sent or stored
        :raises MetadataUnavailable: the store cannot be reached

        Protocol: docs/protocol/quorums.md, docs/formats/ledger-metadata.md, docs/protocol/ledger-scopes.md.
        """

        async def create() -> Any:
            quorum = Quorum(ensemble_size, write_quorum_size, ack_quorum_size)
            return await create_ledger(
                self._context,
                self._random,
                quorum,
                digest_type,
                password,
                custom_metadata,
                ledger_id,
                scope_id,
                deferred_sync,
            )

        return self._run(create)

    def open_ledger(
        self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
    ) -> Deferred[LedgerReader]:
        """Take a ledger over and fire with its reader.

        Unless it is closed, its writer is fenced and it is closed at the last entry that can have been acknowledged.

        :param ledger_id: the whole id, or the lower half of one in ``scope_id``
        :param password: the one it was created with
        :param digest_type: needed only when the metadata names none
        :raises NoSuchLedger: there is none
        :raises Unauthorized: the password is wrong
        :raises DigestMismatch: the ledger is protected by another digest type
        :raises RemoteError: of a bookie, when the last entry cannot be determined: try again later

        Protocol: docs/protocol/recovery.md, docs/protocol/fencing.md.
        """

        async def open_it() -> Any:
            return await open_ledger(self._context, require_ledger_id(ledger_id, scope_id), password, digest_type)

        return self._run(open_it)

    def open_ledger_no_recovery(
        self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
    ) -> Deferred[LedgerReader]:
        """Fire with a reader of a ledger that may still be written, up to its last add confirmed.

        Its writer is not disturbed.  Arguments and errors are those of :meth:`open_ledger`.

        Protocol: docs/protocol/last-add-confirmed.md#sec-lac-client.
        """

        async def open_it() -> Any:
            return await open_ledger_no_recovery(
                self._context, require_ledger_id(ledger_id, scope_id), password, digest_type
            )

        return self._run(open_it)

    def delete_ledger(self, ledger_id: int, *, scope_id: int = 0) -> Deferred[None]:
        """Delete a ledger's metadata, so that nobody can open it.  Fails with :exc:`.NoSuchLedger`."""

        async def delete() -> None:
            await delete_ledger(self._context, require_ledger_id(ledger_id, scope_id))

        return self._run(delete)

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]:
        """Fire with the ids of all ledgers of a scope, ascending.

        :param scope_id: ``None`` lists all scopes; an id of another scope than 0 is a
            :class:`~bookkeeper_tx.model.LedgerId`
        """

        async def list_them() -> list[int]:
            if scope_id is not None:
                require_scope_id(scope_id)
            return [require_ledger_id(each) for each in await self._context.store.list_ledgers(scope_id)]

        return self._run(list_them)

    def ledger_metadata(self, ledger_id: int, *, scope_id: int = 0) -> Deferred[LedgerMetadata]:
        """Fire with the metadata of a ledger.  Fails with :exc:`.NoSuchLedger`."""

        async def read() -> LedgerMetadata:
            versioned = await self._context.store.read_ledger(require_ledger_id(ledger_id, scope_id))
            return versioned.metadata

        return self._run(read)

    def entries_of(self, ledger_id: int, bookie_id: BookieId, *, scope_id: int = 0) -> Deferred[EntryList]:
        """Fire with the list of the entries of a ledger that one bookie stores; its ``missing`` finds the holes.

        The request goes over V3, whatever the protocol version of this client.  Java's bookies serve it since 4.10, but
        with DbLedgerStorage they never answer.

        :raises NoSuchLedger: the bookie has nothing of the ledger
        :raises IllegalOperation: this client speaks V2, and the ledger is of another scope than 0
        :raises RemoteError: of the bookie

        Protocol: docs/protocol/list-entries.md, docs/protocol/entry-list.md.
        """

        async def list_them() -> EntryList:
            return await list_entries(self._context, require_ledger_id(ledger_id, scope_id), bookie_id)

        return self._run(list_them)

    def bookie_info(self, bookie_id: BookieId) -> Deferred[BookieDisk]:
        """Fire with the disk space of a bookie, in bytes; only the bookie is asked, over V3.

        Protocol: docs/protocol/bookie-info.md.
        """

        async def ask() -> BookieDisk:
            return await bookie_info(self._context, bookie_id)

        return self._run(ask)

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]:
        """Fire with the ids of the bookies that can be written to."""
        return self._run(self._writable_bookies)

    # Inner part ------------------------------------------------------------------------------------------------------

    def _run(self, operation: Callable[[], Coroutine[Any, Any, T]]) -> Deferred[T]:
        async def guarded() -> T:
            if self._closed:
                raise ClientClosed("this client was closed")
            return await operation()

        return self._spawn(guarded())

    async def _start(self) -> None:
        await self._context.store.start()
        await self._context.bookies.start()

    async def _close(self) -> None:
        self._context.bookies.stop()
        await self._context.channels.close()
        await self._context.store.stop()

    async def _writable_bookies(self) -> frozenset[BookieId]:
        await self._context.bookies.refresh()
        return self._context.bookies.writable


async def _nothing() -> None:
    """The client is closed already."""


def _store_of(uri: str, reactor: Any, config: ClientConfig) -> ClientMetadataStore:
    # Imported only here: a test that brings its own store needs none of ours.
    from bookkeeper_tx.metadata.store import open_metadata_store

    return open_metadata_store(uri, reactor, config.metadata_timeout_s)


def _pool(driver: Driver, resolve: Callable[[BookieId], Awaitable[Any]], config: ClientConfig) -> Channels:
    from bookkeeper_tx.transport.channel_pool import ChannelPool

    pool: Channels = ChannelPool(driver, resolve, config)
    return pool
