"""Bookies and a metadata store in memory whose every message a test can hold, reorder or lose.

A bookie here behaves as the fact sheets say Java's do (fencing, keys, absence, the batch algorithm), at once and
durably.  A :class:`Network` carries requests and replies as separate messages: ``run`` delivers them in order,
``deliver`` one of them, ``lose`` makes one of them a time-out, ``delay`` makes it one and delivers it later.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from attrs import define, evolve, field
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry_run import ENTRY_METADATA, EntryRun
from bookkeeper_tx.errors import (
    BadRequest,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    LedgerExists,
    LedgerFenced,
    MetadataConflict,
    MetadataUnavailable,
    NoSuchEntry,
    NoSuchLedger,
    RequestTimedOut,
    Unauthorized,
)
from bookkeeper_tx.model import BookieServiceInfo, LedgerMetadata, Versioned
from protocol_specs import fields
from protocol_specs.wire.operations import Flag

BATCH_REPLY_OVERHEAD = 36


@define
class Message:
    """Something on its way; ``lost`` says what becomes of the request when it does not arrive."""

    text: str
    arrive: Callable[[], None]
    lost: Callable[[BookKeeperError], None]
    bookie_id: str | None = None
    """None for a message of the metadata store."""


class Network:
    """Carries messages when told to."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)

    def deliver(self, index: int = 0) -> None:
        self.messages.pop(index).arrive()

    def lose(self, index: int = 0, error: BookKeeperError | None = None) -> None:
        self.messages.pop(index).lost(error or RequestTimedOut())

    def delay(self, index: int = 0, error: BookKeeperError | None = None) -> None:
        """Let the sender time out, but keep the message on its way."""
        self.messages[index].lost(error or RequestTimedOut())

    def run(self, until: Callable[[], bool] = lambda: False, steps_max: int = 100_000) -> None:
        """Deliver messages in order until none is left."""
        for _ in range(steps_max):
            if not self.messages or until():
                return
            self.deliver()
        raise AssertionError("messages without end")

    def find(self, text: str) -> int:
        """Return the index of the first message whose text has ``text`` in it."""
        for index, message in enumerate(self.messages):
            if text in message.text:
                return index
        raise AssertionError(f"no message {text!r} among {[each.text for each in self.messages]}")


@define
class StoredLedger:
    """What a bookie has of one ledger."""

    master_key: bytes
    fenced: bool = False
    entries: dict[int, bytes] = field(factory=dict)


@define
class PuppetBookie:
    """One bookie."""

    bookie_id: str
    ledgers: dict[int, StoredLedger] = field(factory=dict)
    down: bool = False
    """Connections to it are lost or refused."""
    batch: str = "serves"
    """How it takes a batch read: ``serves``, ``closes`` the connection, or answers ``bad request``."""
    own_refused: bool = False
    """Whether connections made for a batch read of their own are refused."""
    batch_entries_max: int = 2**31 - 1
    """Entries of one batch reply at most: a server may return fewer than were asked for."""
    fails: BookKeeperError | None = None
    """What it answers to everything, if not None."""
    requests: list[str] = field(factory=list)

    def add(self, ledger_id: int, entry_id: int, entry: bytes, key: bytes, flags: int) -> None:
        ledger = self.ledgers.setdefault(ledger_id, StoredLedger(key))
        if ledger.master_key != key:
            raise Unauthorized
        if ledger.fenced and not flags & Flag.RECOVERY_ADD:
            raise LedgerFenced
        ledger.entries.setdefault(entry_id, entry)

    def read(self, ledger_id: int, entry_id: int, flags: int, key: bytes | None) -> bytes:
        if flags & Flag.FENCING:
            self._fence(ledger_id, key)
        ledger = self.ledgers.get(ledger_id)
        if ledger is None:
            raise NoSuchLedger
        if entry_id == fields.LAST_ENTRY and ledger.entries:
            entry_id = max(ledger.entries)
        if entry_id not in ledger.entries:
            raise NoSuchEntry
        return ledger.entries[entry_id]

    def _fence(self, ledger_id: int, key: bytes | None) -> None:
        if key is None:
            raise Unauthorized
        ledger = self.ledgers.setdefault(ledger_id, StoredLedger(key))
        if ledger.master_key != key:
            raise Unauthorized
        ledger.fenced = True

    def batch_read(self, ledger_id: int, start: int, max_count: int, max_size: int) -> EntryRun:
        count = max_count if max_count > 0 else 2**31 - 1
        entries = [self.read(ledger_id, start, 0, None)]
        used = BATCH_REPLY_OVERHEAD + 4 + len(entries[0])
        while len(entries) < min(count, self.batch_entries_max):
            entry = self.ledgers[ledger_id].entries.get(start + len(entries))
            if entry is None or used + 4 + len(entry) > max_size:
                break
            used += 4 + len(entry)
            entries.append(entry)
        return EntryRun.of_entries(ledger_id, start, entries)


class PuppetChannel:
    """The channel API over a :class:`Network`."""

    def __init__(self, network: Network, bookie: PuppetBookie) -> None:
        self._network = network
        self._bookie = bookie
        self._in_flight: dict[int, Callable[[BookKeeperError], None]] = {}
        self._next = 0

    def add_entry(
        self, ledger_id: int, entry_id: int, entry: bytes, master_key: bytes, done: Any, flags: int = 0
    ) -> None:
        work = partial(self._bookie.add, ledger_id, entry_id, entry, master_key, flags)
        self._request(f"add {ledger_id}/{entry_id} flags {int(flags)}", work, done)

    def read_entry(
        self, ledger_id: int, entry_id: int, done: Any, flags: int = 0, master_key: bytes | None = None
    ) -> None:
        work = partial(self._bookie.read, ledger_id, entry_id, flags, master_key)
        self._request(f"read {ledger_id}/{entry_id} flags {int(flags)}", work, done)

    def read_range(self, ledger_id: int, first: int, last: int, done: Any) -> None:
        def work() -> EntryRun:
            entries = [self._bookie.read(ledger_id, first, 0, None)]
            for entry_id in range(first + 1, last + 1):
                try:
                    entries.append(self._bookie.read(ledger_id, entry_id, 0, None))
                except BookKeeperError:
                    break
            return EntryRun.of_entries(ledger_id, first, entries)

        self._request(f"range {ledger_id}/{first}..{last}", work, done)

    def batch_read(
        self,
        ledger_id: int,
        start: int,
        max_count: int,
        max_size: int,
        done: Any,
        flags: int = 0,
        master_key: bytes | None = None,
        own_connection: bool = False,
    ) -> None:
        def work() -> EntryRun:
            if own_connection and self._bookie.own_refused:
                raise CannotConnect
            if self._bookie.batch == "bad request":
                raise BadRequest
            if self._bookie.batch == "closes":
                if not own_connection:
                    self._lose_all()
                raise BookieUnavailable("closed by the bookie")
            return self._bookie.batch_read(ledger_id, start, max_count, max_size)

        own = " own" if own_connection else ""
        self._request(f"batch {ledger_id}/{start} count {max_count} size {max_size}{own}", work, done)

    def read_last_add_confirmed(self, ledger_id: int, done: Any) -> None:
        work = partial(self._bookie.read, ledger_id, fields.LAST_ENTRY, 0, None)
        self._request(f"lac {ledger_id}", lambda: (None, work()), done)

    def write_last_add_confirmed(self, ledger_id: int, lac: int, key: bytes, body: bytes, done: Any) -> None:
        raise NotImplementedError

    def _request(self, text: str, work: Callable[[], Any], done: Any) -> None:
        text = f"{self._bookie.bookie_id} {text}"
        self._bookie.requests.append(text)
        number, self._next = self._next, self._next + 1

        def finish(error: BookKeeperError | None, value: Any) -> None:
            if self._in_flight.pop(number, None) is not None:
                done(error, value)

        def arrive() -> None:
            value, error = None, self._bookie.fails
            if self._bookie.down:
                error = BookieUnavailable("the puppet is down")
            elif error is None:
                try:
                    value = work()
                except BookKeeperError as raised:
                    error = raised
            reply = partial(finish, error, value)
            self._network.send(Message(f"reply {text}", reply, lambda lost: finish(lost, None), self._bookie.bookie_id))

        self._in_flight[number] = lambda error: finish(error, None)
        message = Message(f"request {text}", arrive, lambda lost: finish(lost, None), self._bookie.bookie_id)
        self._network.send(message)

    def _lose_all(self) -> None:
        """The connection is closed: whatever else is under way on it fails."""
        for fail in list(self._in_flight.values())[:-1]:
            fail(BookieUnavailable("connection lost"))


class PuppetChannels:
    """The channels of one client to the puppets."""

    def __init__(self, network: Network, bookies: dict[str, PuppetBookie]) -> None:
        self._network = network
        self._bookies = bookies
        self._channels: dict[str, PuppetChannel] = {}

    def channel(self, bookie_id: str) -> PuppetChannel:
        if bookie_id not in self._channels:
            bookie = self._bookies.setdefault(bookie_id, PuppetBookie(bookie_id, down=True))
            self._channels[bookie_id] = PuppetChannel(self._network, bookie)
        return self._channels[bookie_id]

    def close(self) -> Deferred[None]:
        closed: Deferred[None] = Deferred()
        closed.callback(None)
        return closed


@define
class StoredState:
    """What the metadata store keeps."""

    ledgers: dict[int, Versioned] = field(factory=dict)
    next_ledger_id: int = 0
    watchers: list[Callable[[], None]] = field(factory=list)
    history: list[tuple[int, LedgerMetadata]] = field(factory=list)
    """Every write, in order."""


class PuppetStore:
    """One client's session with the metadata store."""

    def __init__(self, network: Network, state: StoredState, bookies: dict[str, PuppetBookie]) -> None:
        self._network = network
        self._state = state
        self._bookies = bookies

    def start(self) -> Deferred[None]:
        return self._ask("start", lambda: None)

    def stop(self) -> Deferred[None]:
        return self._ask("stop", lambda: None)

    def new_ledger_id(self) -> Deferred[int]:
        def take() -> int:
            self._state.next_ledger_id += 1
            return self._state.next_ledger_id - 1

        return self._ask("new id", take)

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Deferred[Versioned]:
        def create() -> Versioned:
            if ledger_id in self._state.ledgers:
                raise LedgerExists
            return self._write(ledger_id, metadata, 0)

        return self._ask("create", create)

    def read_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self._ask("read", lambda: self._find(ledger_id))

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Deferred[Versioned]:
        def write() -> Versioned:
            if self._find(ledger_id).version != version:
                raise MetadataConflict
            # A stored form knows no create token after an update.
            return self._write(ledger_id, evolve(metadata, create_token=0), version + 1)

        return self._ask(f"write {metadata.state.name}", write)

    def delete_ledger(self, ledger_id: int) -> Deferred[None]:
        def delete() -> None:
            self._find(ledger_id)
            del self._state.ledgers[ledger_id]

        return self._ask("delete", delete)

    def list_ledgers(self) -> Deferred[list[int]]:
        return self._ask("list", lambda: sorted(self._state.ledgers))

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        self._state.watchers.append(changed)
        return partial(self._state.watchers.remove, changed)

    def writable_bookies(self) -> Deferred[frozenset[str]]:
        return self._ask(
            "bookies", lambda: frozenset(each for each, bookie in self._bookies.items() if not bookie.down)
        )

    def bookie_info(self, bookie_id: str) -> Deferred[BookieServiceInfo]:
        return self._ask("info", lambda: BookieServiceInfo("127.0.0.1", 3181))

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def _find(self, ledger_id: int) -> Versioned:
        if ledger_id not in self._state.ledgers:
            raise NoSuchLedger
        return self._state.ledgers[ledger_id]

    def _write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        self._state.ledgers[ledger_id] = versioned = Versioned(metadata, version)
        self._state.history.append((ledger_id, metadata))
        for changed in list(self._state.watchers):
            changed()
        return versioned

    def _ask(self, text: str, work: Callable[[], Any]) -> Deferred[Any]:
        deferred: Deferred[Any] = Deferred()

        def fire(result: Any) -> None:
            if not deferred.called:
                deferred.callback(result)

        def fail(error: BookKeeperError) -> None:
            if not deferred.called:
                deferred.errback(error)

        def lost(_: BookKeeperError) -> None:
            fail(MetadataUnavailable())

        def arrive() -> None:
            try:
                reply = partial(fire, work())
            except BookKeeperError as error:
                reply = partial(fail, error)
            self._network.send(Message(f"reply store {text}", reply, lost))

        self._network.send(Message(f"request store {text}", arrive, lost))
        return deferred


class Cluster:
    """Bookies, a store, and clients of them."""

    def __init__(self, bookies: Sequence[str] = ("b1", "b2", "b3", "b4", "b5"), seed: int = 1) -> None:
        self.network = Network()
        self.bookies = {bookie_id: PuppetBookie(bookie_id) for bookie_id in bookies}
        self.state = StoredState()
        self.clock = Clock()
        self._seed = seed

    def client(self, config: ClientConfig | None = None) -> BookKeeper:
        """Return a started client."""
        client = BookKeeper(
            PuppetStore(self.network, self.state, self.bookies),
            config,
            self.clock,
            channels=PuppetChannels(self.network, self.bookies),
            random=Random(self._seed),
        )
        self.result(client.start())
        return client

    def result(self, deferred: Deferred[Any]) -> Any:
        """Deliver messages until ``deferred`` has fired; return its result or raise its error."""
        outcome: list[Any] = []
        deferred.addCallbacks(outcome.append, lambda failure: outcome.append(failure))
        self.network.run(until=lambda: bool(outcome))
        assert outcome, "the Deferred has not fired though nothing is on its way"
        if hasattr(outcome[0], "raiseException"):
            outcome[0].raiseException()
        return outcome[0]

    def metadata(self, ledger_id: int) -> LedgerMetadata:
        return self.state.ledgers[ledger_id].metadata

    def holders(self, ledger_id: int, entry_id: int) -> set[str]:
        """Return the ids of the bookies that store the entry."""
        return {
            bookie_id
            for bookie_id, bookie in self.bookies.items()
            if ledger_id in bookie.ledgers and entry_id in bookie.ledgers[ledger_id].entries
        }


def entry_id_of(entry: bytes) -> int:
    """Return the id inside a stored entry."""
    return int(ENTRY_METADATA.unpack_fixed(entry)[1])
