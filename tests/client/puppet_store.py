"""A metadata store in memory behind a :class:`Network`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import define, evolve, field
from twisted.internet.defer import Deferred

from bookkeeper_tx.errors import (
    BookKeeperError,
    LedgerExists,
    MetadataConflict,
    MetadataCorrupt,
    MetadataUnavailable,
    NoSuchLedger,
)
from bookkeeper_tx.model import BookieServiceInfo, LedgerMetadata, Versioned
from protocol_specs import ledger_id as ids
from tests.client.puppet_bookie import PuppetBookie
from tests.client.puppet_network import Message, Network


class AnswerLost(BookKeeperError):
    """Lose a message with it about a named record to have the client ask again, as ZooKeeper's does."""


@define
class StoredState:
    """The content of the metadata store."""

    ledgers: dict[int, Versioned] = field(factory=dict)
    next_ledger_id: int = 0
    watchers: list[Callable[[], None]] = field(factory=list)
    bookie_watchers: list[Callable[[], None]] = field(factory=list)
    away: bool = False
    """Whether no request reaches it."""
    records: dict[tuple[str, ...], tuple[bytes, int]] = field(factory=dict)
    corrupt: set[int] = field(factory=set)
    """The ledgers whose metadata cannot be understood."""
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
        def read() -> Versioned:
            found = self._find(ledger_id)
            if ledger_id in self._state.corrupt:
                raise MetadataCorrupt(f"metadata of ledger {ledger_id} cannot be understood")
            return found

        return self._ask("read", read)

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

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]:
        def find() -> list[int]:
            return sorted(each for each in self._state.ledgers if scope_id in (None, ids.split(each)[0]))

        return self._ask("list", find)

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        self._state.watchers.append(changed)
        return partial(self._state.watchers.remove, changed)

    def read_record(self, path: tuple[str, ...]) -> Deferred[tuple[bytes, int] | None]:
        return self._ask("read record", lambda: self._state.records.get(path))

    def write_record(self, path: tuple[str, ...], data: bytes, version: int | None) -> Deferred[int]:
        after = 0 if version is None else version + 1

        def write() -> int:
            self._expect_record(path, version)
            self._state.records[path] = data, after
            return after

        def repeat() -> int:
            return after if self._state.records.get(path) == (data, after) else write()

        return self._ask(f"write record {path[-1]}", write, repeat)

    def delete_record(self, path: tuple[str, ...], version: int) -> Deferred[None]:
        def delete() -> None:
            self._expect_record(path, version)
            del self._state.records[path]

        def repeat() -> None:
            if path in self._state.records:
                delete()

        return self._ask("delete record", delete, repeat)

    def list_records(self, path: tuple[str, ...]) -> Deferred[list[str]]:
        def names() -> list[str]:
            depth = len(path)
            return sorted({each[depth] for each in self._state.records if each[:depth] == path and len(each) > depth})

        return self._ask("list records", names)

    def writable_bookies(self) -> Deferred[frozenset[str]]:
        return self._ask(
            "bookies", lambda: frozenset(each for each, bookie in self._bookies.items() if not bookie.down)
        )

    def bookie_info(self, bookie_id: str) -> Deferred[BookieServiceInfo]:
        def find() -> BookieServiceInfo:
            return BookieServiceInfo("127.0.0.1", 3181, extensions=self._bookies[bookie_id].extensions)

        return self._ask("info", find)

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        self._state.bookie_watchers.append(changed)
        return partial(self._state.bookie_watchers.remove, changed)

    def _expect_record(self, path: tuple[str, ...], version: int | None) -> None:
        stored = self._state.records.get(path)
        if (stored and stored[1]) != version:
            raise MetadataConflict

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

    def _ask(self, text: str, work: Callable[[], Any], repeat: Callable[[], Any] | None = None) -> Deferred[Any]:
        deferred: Deferred[Any] = Deferred()

        def fire(result: Any) -> None:
            if not deferred.called:
                deferred.callback(result)

        def fail(error: BookKeeperError) -> None:
            if not deferred.called:
                deferred.errback(error)

        def lost(error: BookKeeperError) -> None:
            if repeat is not None and isinstance(error, AnswerLost):
                ask(repeat)
            else:
                fail(MetadataUnavailable())

        def arrive(work: Callable[[], Any]) -> None:
            if self._state.away:
                fail(MetadataUnavailable("the puppet store is away"))
                return
            try:
                reply = partial(fire, work())
            except BookKeeperError as error:
                reply = partial(fail, error)
            self._network.send(Message(f"reply store {text}", reply, lost))

        def ask(work: Callable[[], Any]) -> None:
            self._network.send(Message(f"request store {text}", partial(arrive, work), lost))

        ask(work)
        return deferred
