"""Bookies in memory behind a :class:`Network`.

They behave as Java's bookies do (fencing, keys, absence, the batch algorithm), at once and durably.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred

from bookkeeper_tx.entry import entry_list
from bookkeeper_tx.entry.entry_format import format_of
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    BadRequest,
    BadVersion,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    LedgerFenced,
    LedgerScopeNotSupported,
    NoSuchEntry,
    NoSuchLedger,
    StorageFailed,
    Unauthorized,
)
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.slow_requests import tell_slow
from protocol_specs import fields
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.wire.operations import Flag
from tests.client.puppet_network import Message, Network

BATCH_REPLY_OVERHEAD = 36
WAITS: Any = object()
"""In place of an answer: there is none yet."""


@define
class StoredLedger:
    """The state of one ledger on a bookie."""

    master_key: bytes
    fenced: bool = False
    entries: dict[int, bytes] = field(factory=dict)
    explicit_lac: bytes | None = None


def lac_of(entry: bytes, ledger_id: int = 0) -> int:
    """The last add confirmed inside an entry."""
    return int(format_of(ledger_id).metadata.unpack_fixed(entry)[-2])


class _WithoutEntry(Exception):
    """The bookie has an explicit last add confirmed and no entry: it answers with an I/O error, as Java does."""

    def __init__(self, explicit_lac: bytes) -> None:
        self.explicit_lac = explicit_lac


@define
class PuppetBookie:
    """One bookie."""

    bookie_id: str
    ledgers: dict[int, StoredLedger] = field(factory=dict)
    interruptions: int = 0
    """Client → how often its connection to this bookie was lost."""
    congested: bool = False
    """Whether it does not take what is sent to it."""
    down: bool = False
    """Connections to it are lost or refused."""
    batch: str = "serves"
    """Its reaction to a batch read: ``serves``, ``closes`` the connection, ``bad request`` or ``bad version``."""
    own_refused: bool = False
    """Whether connections made for a batch read of their own are refused."""
    batch_entries_max: int = 2**31 - 1
    """Most entries of one batch reply: a server may return fewer than were asked for."""
    fails: BookKeeperError | None = None
    """Its answer to every request, if not None."""
    extensions: frozenset[str] | None = frozenset()
    """The capabilities that it publishes; None if it publishes nothing."""
    knows_scopes: bool = True
    """Whether it reads the scope of a ledger id; otherwise it serves scope 0 only."""
    polls: str = "waits"
    """Its reaction to a long poll: ``waits``, answers ``at once``, or ``closes`` the connection."""
    requests: list[str] = field(factory=list)
    watchers: list[Callable[[], None]] = field(factory=list)
    """The long polls that wait for a change of a ledger."""

    def add(self, ledger_id: int, entry_id: int, entry: bytes, key: bytes, flags: int) -> None:
        ledger = self.ledgers.setdefault(ledger_id, StoredLedger(key))
        if ledger.master_key != key:
            raise Unauthorized
        if ledger.fenced and not flags & Flag.RECOVERY_ADD:
            raise LedgerFenced
        ledger.entries.setdefault(entry_id, entry)
        self.changed()

    def changed(self) -> None:
        """Wake the long polls that wait."""
        watchers, self.watchers = self.watchers, []
        for watcher in watchers:
            watcher()

    def known_last_add_confirmed(self, ledger_id: int) -> int:
        """The highest last add confirmed of the stored entries and the explicit one; raises NoSuchEntry without any."""
        if ledger_id not in self.ledgers:
            raise NoSuchLedger
        ledger = self.ledgers[ledger_id]
        if not ledger.entries:
            raise NoSuchEntry
        explicit = fields.NO_ENTRY
        if ledger.explicit_lac is not None:
            explicit = format_of(ledger_id).explicit_lac.unpack_from(ledger.explicit_lac)[-1]
        return max(explicit, *(lac_of(entry, ledger_id) for entry in ledger.entries.values()))

    def poll(self, ledger_id: int, previous: int, piggyback: bool) -> tuple[int, int | None, bytes | None]:
        """The present answer to a long poll."""
        known = self.known_last_add_confirmed(ledger_id)
        entry = self.ledgers[ledger_id].entries.get(previous + 1) if piggyback and known > previous else None
        return known, previous + 1 if entry is not None else None, entry

    def write_lac(self, ledger_id: int, key: bytes, body: bytes) -> None:
        ledger = self.ledgers.setdefault(ledger_id, StoredLedger(key))
        if ledger.master_key != key:
            raise Unauthorized
        ledger.explicit_lac = body
        self.changed()

    def force(self, ledger_id: int) -> None:
        """Every entry is durable at once, so there is nothing to force."""

    def list_entries(self, ledger_id: int) -> entry_list.EntryList:
        if ledger_id not in self.ledgers:
            raise NoSuchLedger
        return entry_list.EntryList.decode(entry_list.encode(sorted(self.ledgers[ledger_id].entries)))

    def read_lac(self, ledger_id: int) -> tuple[bytes | None, bytes | None]:
        if ledger_id >= SCOPED_MIN and not self.knows_scopes:
            raise LedgerScopeNotSupported
        ledger = self.ledgers.get(ledger_id, StoredLedger(b""))
        if not ledger.entries and ledger.explicit_lac is not None:
            raise _WithoutEntry(ledger.explicit_lac)
        if not ledger.entries:
            raise NoSuchEntry
        return ledger.explicit_lac, ledger.entries[max(ledger.entries)]

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


@define(eq=False)
class _InFlight:
    """A request that may be given up."""

    _done: Any
    given_up: list[bool] = field(factory=list)

    def finished(self, error: BookKeeperError | None, value: Any) -> None:
        if not self.given_up:
            self._done(error, value)

    def slow(self) -> None:
        self._done = tell_slow(self._done)


class PuppetChannel:
    """The channel API over a :class:`Network`."""

    def __init__(self, network: Network, bookie: PuppetBookie) -> None:
        self._network = network
        self._bookie = bookie
        self._in_flight: dict[int, Callable[[BookKeeperError], None]] = {}
        self._next = 0

    @property
    def interruptions(self) -> int:
        return self._bookie.interruptions

    @property
    def congested(self) -> bool:
        return self._bookie.congested

    def before_send(self, call: Any) -> bool:
        self._network.before_send(call)
        return True

    def add_entries(self, ledger_id: int, first: int, entries: Sequence[bytes], master_key: bytes, done: Any) -> None:
        """Add each entry by itself, and tell as a connection does: how far all are, and of each after an error."""
        early: set[int] = set()
        refused: list[Any] = []
        ends = [first]

        def added(entry_id: int, error: Any, _: Any) -> None:
            if error is not None and not refused and early:
                done(None, frozenset(early))
            if error is not None:
                refused.append(error)
            if refused:
                done(error, {entry_id})
                return
            early.add(entry_id)
            before = ends[0]
            while ends[0] in early:
                early.remove(ends[0])
                ends[0] += 1
            if ends[0] > before:
                done(None, ends[0])

        for entry_id, entry in enumerate(entries, first):
            self.add_entry(ledger_id, entry_id, entry, master_key, partial(added, entry_id))

    def add_entry(
        self,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        master_key: bytes,
        done: Any,
        flags: int = 0,
        deferred_sync: bool = False,
    ) -> None:
        work = partial(self._bookie.add, ledger_id, entry_id, entry, master_key, flags)
        deferred = " deferred" if deferred_sync else ""
        self._request(f"add {ledger_id}/{entry_id} flags {int(flags)}{deferred}", work, done)

    def read_entry(
        self, ledger_id: int, entry_id: int, done: Any, flags: int = 0, master_key: bytes | None = None
    ) -> None:
        work = partial(self._bookie.read, ledger_id, entry_id, flags, master_key)
        self._request(f"read {ledger_id}/{entry_id} flags {int(flags)}", work, done)

    def read_range(self, ledger_id: int, first: int, last: int, done: Any, size_max: int | None = None) -> None:
        def work() -> EntryRun:
            entries = [self._bookie.read(ledger_id, first, 0, None)]
            for entry_id in range(first + 1, last + 1):
                if size_max is not None and sum(map(len, entries)) >= size_max:
                    break
                try:
                    entries.append(self._bookie.read(ledger_id, entry_id, 0, None))
                except BookKeeperError:
                    break
            return EntryRun.of_entries(ledger_id, first, entries)

        self._request(f"range {ledger_id}/{first}..{last}", work, done)

    def send(self, request: Request, done: Any, own_connection: bool = False) -> Callable[[], None]:
        in_flight = _InFlight(done)
        given_up = in_flight.given_up
        finished = in_flight.finished
        own = " own" if own_connection else ""
        if isinstance(request, AwaitLastAddConfirmed):
            return self._poll(request, finished, given_up)
        text, work = self._served(request, own_connection)
        self._request(f"{text}{own}", work, finished)
        return lambda: given_up.append(True)

    def _served(self, request: Request, own_connection: bool) -> tuple[str, Callable[[], Any]]:
        """Return how a request is called in these tests, and what the bookie does about it."""
        bookie, ledger_id = self._bookie, request.ledger_id
        if isinstance(request, ReadBatch):
            text = f"batch {ledger_id}/{request.start_entry_id} count {request.max_count} size {request.max_size}"
            return text, partial(self._batch, request, own_connection)
        if isinstance(request, ReadLastAddConfirmed):
            return f"lac {ledger_id}", partial(bookie.read_lac, ledger_id)
        if isinstance(request, WriteLastAddConfirmed):
            work = partial(bookie.write_lac, ledger_id, request.master_key, request.body)
            return f"write-lac {ledger_id}/{request.last_add_confirmed}", work
        if isinstance(request, ForceLedger):
            return f"force {ledger_id}", partial(bookie.force, ledger_id)
        assert isinstance(request, ListEntries)
        return f"list {ledger_id}", partial(bookie.list_entries, ledger_id)

    def _batch(self, request: ReadBatch, own_connection: bool) -> EntryRun:
        bookie = self._bookie
        if own_connection and bookie.own_refused:
            raise CannotConnect
        if bookie.batch == "bad request":
            raise BadRequest
        if bookie.batch == "bad version":
            raise BadVersion
        if bookie.batch == "closes":
            if not own_connection:
                self._lose_all()
            raise BookieUnavailable("closed by the bookie")
        return bookie.batch_read(request.ledger_id, request.start_entry_id, request.max_count, request.max_size)

    def _poll(self, poll: AwaitLastAddConfirmed, finished: Any, given_up: list[bool]) -> Callable[[], None]:
        """A long poll; one that waits is answered when the ledger changes here, and never otherwise."""
        bookie, ledger_id, previous = self._bookie, poll.ledger_id, poll.previous

        def work() -> Any:
            if bookie.polls == "closes":
                raise BookieUnavailable("closed by the bookie")
            answer = bookie.poll(ledger_id, previous, poll.piggyback)
            waits = poll.timeout_ms and bookie.polls == "waits" and not bookie.ledgers[ledger_id].fenced
            if answer[0] <= previous and waits:
                bookie.watchers.append(again)
                return WAITS
            return answer

        def again() -> None:
            if not given_up:
                self._request(f"poll-on {ledger_id} past {previous}", work, finished)

        self._request(f"poll {ledger_id} past {previous} for {poll.timeout_ms}", work, finished)

        def cancel() -> None:
            given_up.append(True)
            if again in bookie.watchers:
                bookie.watchers.remove(again)

        return cancel

    def _request(self, text: str, work: Callable[[], Any], done: Any) -> None:
        text = f"{self._bookie.bookie_id} {text}"
        self._bookie.requests.append(text)
        number, self._next = self._next, self._next + 1

        waits = [done]

        def finish(error: BookKeeperError | None, value: Any) -> None:
            if self._in_flight.pop(number, None) is not None:
                waits[0](error, value)

        def slow() -> None:
            waits[0] = tell_slow(waits[0])

        def lost(error: BookKeeperError) -> None:
            finish(error, None)

        def arrive() -> None:
            value, error = None, self._bookie.fails
            if self._bookie.down:
                error = BookieUnavailable("the puppet is down")
            elif error is None:
                try:
                    value = work()
                except _WithoutEntry as raised:
                    error, value = StorageFailed(), (raised.explicit_lac, None)
                except BookKeeperError as raised:
                    error = raised
                if value is WAITS:
                    self._in_flight.pop(number, None)
                    return
            reply = partial(finish, error, value)
            self._network.send(Message(f"reply {text}", reply, lost, self._bookie.bookie_id, slow))

        self._in_flight[number] = lost
        self._network.send(Message(f"request {text}", arrive, lost, self._bookie.bookie_id, slow))

    def _lose_all(self) -> None:
        """The connection is closed: every other request under way on it fails."""
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
