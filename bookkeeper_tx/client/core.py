"""The operations of a client: create, open, delete and list ledgers; a ``BookKeeper`` of any world is one."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from random import Random
from typing import Any, Generic, Self, TypeVar

from bookkeeper_tx.client.ask import ask
from bookkeeper_tx.client.bookie_watcher import BookieWatcher
from bookkeeper_tx.client.capability import Capabilities
from bookkeeper_tx.client.channel import Channels
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.create_ledger import create_ledger
from bookkeeper_tx.client.delete_ledger import delete_ledger
from bookkeeper_tx.client.ledger_ids import require_ledger_id, require_scope_id, require_scope_on_the_wire
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.client.ledger_writer_adv import LedgerWriterAdv
from bookkeeper_tx.client.open_ledger import open_ledger, open_ledger_no_recovery
from bookkeeper_tx.client.promised import operation, promised
from bookkeeper_tx.client.read_order import ReadOrder
from bookkeeper_tx.client.update_custom_metadata import update_custom_metadata
from bookkeeper_tx.client.write_handle import WriteHandle
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver, Promise, answer_all
from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.errors import ClientClosed, IllegalOperation, MetadataUnavailable
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieDisk, BookieId, DigestType, LedgerMetadata, ledger_name
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.quorums.placement import Placement
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs.ledger_id import split

T = TypeVar("T")
Writer = TypeVar("Writer", bound=LedgerWriter)
WriterAdv = TypeVar("WriterAdv", bound=LedgerWriterAdv)
Reader = TypeVar("Reader", bound=LedgerReader)

NOT_STARTED = "this client is not started: use it by `with` or `async with`, or call its start() first"


class Client(Generic[Writer, WriterAdv, Reader]):
    """A client of one BookKeeper cluster, and of the handles that it gives.

    :param driver: the world that it runs in
    :param store: the cluster's metadata, not started yet
    :param config: settings
    :param channels: connections to the bookies, for tests
    :param random: source of placement, for tests
    """

    def __init__(
        self,
        driver: Driver,
        store: ClientMetadataStore,
        config: ClientConfig,
        channels: Channels | None = None,
        random: Random | None = None,
    ) -> None:
        self._random = random or Random()
        self._spawn = driver.spawn
        reads = ReadOrder(driver.clock, config.speculative_read_s_max)
        self._context = ClientContext(
            store=store,
            channels=channels or _pool(driver, store.bookie_info, config, reads),
            config=config,
            driver=driver,
            bookies=BookieWatcher(store, driver, Placement(self._random)),
            reads=reads,
            capabilities=Capabilities(driver.clock, config.batch_read_capability_expiry_s),
        )
        self._driver = driver
        self._started = self._closed = False
        self._closing: list[Promise[None]] | None = []
        """Those who wait for the end of :meth:`close`; None once it is over."""

    @property
    def config(self) -> ClientConfig:
        """The settings of this client."""
        return self._context.config

    @property
    def driver(self) -> Driver:
        """The world that this client runs in, for what is built on it."""
        return self._driver

    @property
    def metadata(self) -> ClientMetadataStore:
        """The metadata store, for operations that have no method here."""
        return self._context.store

    @operation
    async def start(self) -> None:
        """Connect to the metadata store, before all else.  Fails with :exc:`.MetadataUnavailable`."""
        self._started = True
        await self._context.store.start()
        await self._context.bookies.start()

    @promised
    def close(self) -> Promise[None]:
        """Close the connections and the store.  Ledgers stay as they are: one that is open can be recovered."""
        answer: Promise[None] = self._driver.promise()
        if self._closing is None:
            answer.callback(None)
            return answer
        self._closing.append(answer)
        if not self._closed:
            self._closed = True
            self._driver.when_done(self._spawn(self._close()), self._answer_close)
        return answer

    @operation
    async def create_ledger(
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
    ) -> Writer:
        """Create a ledger and give its writer.

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
        :param deferred_sync: an append is done when bookies have the entry, on disk or not; it is durable, and the last
            add confirmed passes it, only after :meth:`bookkeeper_tx.LedgerWriter.force`.  Needs protocol V3
        :raises InvalidArgument: sizes, id or custom metadata are out of range
        :raises NotEnoughBookies: fewer bookies can be written to than the ensemble has
        :raises LedgerExists: ``ledger_id`` is taken
        :raises IllegalOperation: protocol V2 cannot say this; nothing was sent or stored
        :raises LedgerScopeNotSupported: too few bookies know scopes; nothing was sent or stored
        :raises MetadataUnavailable: the store cannot be reached

        Protocol: docs/protocol/quorums.md, docs/formats/ledger-metadata.md, docs/protocol/ledger-scopes.md.
        """
        sizes = ensemble_size, write_quorum_size, ack_quorum_size
        return await self._create(  # type: ignore[no-any-return]
            LedgerWriter, sizes, digest_type, password, custom_metadata, ledger_id, scope_id, deferred_sync
        )

    @operation
    async def create_ledger_adv(
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
    ) -> WriterAdv:
        """Create a ledger and give its writer, which is given the id of each entry with the entry.

        Readers see no difference.  Arguments and errors are those of :meth:`create_ledger`.

        Protocol: docs/protocol/add-entry.md#sec-add-entry-given-ids.
        """
        sizes = ensemble_size, write_quorum_size, ack_quorum_size
        return await self._create(  # type: ignore[no-any-return]
            LedgerWriterAdv, sizes, digest_type, password, custom_metadata, ledger_id, scope_id, deferred_sync
        )

    @operation
    async def open_ledger(
        self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
    ) -> Reader:
        """Take a ledger over and give its reader.

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
        whole_id = require_ledger_id(ledger_id, scope_id)
        return await open_ledger(self._context, whole_id, password, digest_type)  # type: ignore[return-value]

    @operation
    async def open_ledger_no_recovery(
        self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
    ) -> Reader:
        """Give a reader of a ledger that may still be written, up to its last add confirmed.

        Its writer is not disturbed.  Arguments and errors are those of :meth:`open_ledger`.

        Protocol: docs/protocol/last-add-confirmed.md#sec-lac-client.
        """
        whole_id = require_ledger_id(ledger_id, scope_id)
        return await open_ledger_no_recovery(self._context, whole_id, password, digest_type)  # type: ignore[return-value]

    @operation
    async def delete_ledger(self, ledger_id: int, *, scope_id: int = 0) -> None:
        """Delete a ledger's metadata, so that nobody can open it.  Fails with :exc:`.NoSuchLedger`."""
        await delete_ledger(self._context, require_ledger_id(ledger_id, scope_id))

    @operation
    async def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        """Give the ids of all ledgers of a scope, ascending.

        :param scope_id: ``None`` lists all scopes; an id of another scope than 0 is a
            :class:`~bookkeeper_tx.model.LedgerId`
        """
        if scope_id is not None:
            require_scope_id(scope_id)
        return [require_ledger_id(each) for each in await self._context.store.list_ledgers(scope_id)]

    @operation
    async def ledger_metadata(self, ledger_id: int, *, scope_id: int = 0) -> LedgerMetadata:
        """Give the metadata of a ledger.  Fails with :exc:`.NoSuchLedger`."""
        versioned = await self._context.store.read_ledger(require_ledger_id(ledger_id, scope_id))
        return versioned.metadata

    @operation
    async def update_custom_metadata(
        self, ledger_id: int, changes: Mapping[str, bytes | None], *, scope_id: int = 0
    ) -> LedgerMetadata:
        """Change the custom metadata of a ledger, open or closed; gives all its metadata.

        :param changes: each key is set to its value, or removed for ``None``; other keys stay
        :raises InvalidArgument: ``changes`` does not map text to bytes or ``None``
        :raises NoSuchLedger: there is none

        Protocol: docs/formats/ledger-metadata.md.
        """
        return await update_custom_metadata(self._context, require_ledger_id(ledger_id, scope_id), changes)

    @operation
    async def entries_of(self, ledger_id: int, bookie_id: BookieId, *, scope_id: int = 0) -> EntryList:
        """Give the list of the entries of a ledger that one bookie stores; its ``missing`` finds the holes.

        The request goes over V3, whatever the protocol version of this client.  Java's bookies serve it since 4.10, but
        with DbLedgerStorage they never answer.

        :raises NoSuchLedger: the bookie has nothing of the ledger
        :raises IllegalOperation: this client speaks V2, and the ledger is of another scope than 0
        :raises RemoteError: of the bookie

        Protocol: docs/protocol/list-entries.md, docs/protocol/entry-list.md.
        """
        whole_id = require_ledger_id(ledger_id, scope_id)
        require_scope_on_the_wire(self._context, split(whole_id)[0])
        what = f"entries of ledger {ledger_name(whole_id)} on bookie {bookie_id}"
        return await self._ask(bookie_id, ListEntries(whole_id), what)  # type: ignore[no-any-return]

    @operation
    async def bookie_info(self, bookie_id: BookieId) -> BookieDisk:
        """Give the disk space of a bookie, in bytes; only the bookie is asked, over V3.

        Protocol: docs/protocol/bookie-info.md.
        """
        return await self._ask(bookie_id, ReadBookieInfo(), f"disk space of bookie {bookie_id}")  # type: ignore[no-any-return]

    @operation
    async def writable_bookies(self) -> frozenset[BookieId]:
        """Give the ids of the bookies that can be written to."""
        await self._context.bookies.refresh()
        return self._context.bookies.writable

    async def __aenter__(self) -> Self:
        """Start."""
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()

    # Inner part ------------------------------------------------------------------------------------------------------

    async def _create(self, make_handle: type[WriteHandle], sizes: tuple[int, int, int], *arguments: Any) -> Any:
        return await create_ledger(make_handle, self._context, self._random, Quorum(*sizes), *arguments)

    @property
    def closed(self) -> bool:
        """Whether it was closed, or is being closed."""
        return self._closed

    def run(self, operation: Callable[[], Coroutine[Any, Any, T]]) -> Promise[T]:
        """Run what is built on this client; it fails as the client's own operations once that is closed."""
        return self._run(operation)

    def _run(self, operation: Callable[[], Coroutine[Any, Any, T]]) -> Promise[T]:
        async def guarded() -> T:
            if self._closed:
                raise ClientClosed()
            try:
                return await operation()
            except MetadataUnavailable:
                if self._closed:
                    raise ClientClosed() from None
                if not self._started:
                    raise IllegalOperation(NOT_STARTED) from None
                raise

        return self._spawn(guarded())

    def _ask(self, bookie_id: BookieId, request: Request, what: str) -> Promise[Any]:
        channel = self._context.channel(bookie_id, request.ledger_id)
        return ask(self._driver, channel, request, what)

    async def _close(self) -> None:
        self._context.bookies.stop()
        await self._context.channels.close()
        await self._context.store.stop()

    def _answer_close(self, error: Exception | None, _: Any) -> None:
        answers, self._closing = self._closing or [], None
        answer_all(answers, error)


AnyClient = Client[Any, Any, Any]
"""A client of any world."""


def _pool(
    driver: Driver, resolve: Callable[[BookieId], Awaitable[Any]], config: ClientConfig, reads: ReadOrder
) -> Channels:
    from bookkeeper_tx.transport.channel_pool import ChannelPool

    pool: Channels = ChannelPool(driver, resolve, config, reads.pace)
    return pool
