"""The metadata store as one process of the simulation has it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred

from bookkeeper_tx.errors import (
    BookieIdInUse,
    BookieUnavailable,
    LedgerExists,
    MetadataConflict,
    MetadataUnavailable,
    NoSuchLedger,
)
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned
from tests.simulation.world.machine import Machine
from tests.simulation.world.metadata_server import MetadataServer, Registered

TIMEOUT_S = 10.0
"""After so long a request that has no answer fails, as ``metadata_timeout_s`` has it."""

LATENCY_S = 0.001


class _OtherSession(Exception):
    """A session that nobody uses any more still holds the id, or this is what comes late from one that has expired."""


class StoreSession:
    """The store as one process has it: a ``MetadataStore``."""

    def __init__(self, machine: Machine, server: MetadataServer) -> None:
        self.uri = "simulated"
        self._machine = machine
        self._server = server
        self._life = machine.life
        self._wanted: dict[BookieId, tuple[BookieServiceInfo, bool, Any]] = {}
        self._sessions = 0
        """Counts those that have expired: the store takes no registration any more that was sent in one of them."""
        machine.on_killed.append(self._killed)
        machine.on_paused.append(self._paused)

    @property
    def ended(self) -> bool:
        """Whether its process is gone."""
        return self._machine.life != self._life

    def start(self) -> Deferred[None]:
        return self._ask(lambda: None)

    def stop(self) -> Deferred[None]:
        self._server.expire(self)
        done: Deferred[None] = Deferred()
        done.callback(None)
        return done

    # Ledgers ---------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> Deferred[int]:
        def take() -> int:
            self._server.next_ledger_id += 1
            return self._server.next_ledger_id - 1

        return self._ask(take)

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Deferred[Versioned]:
        def create() -> Versioned:
            if ledger_id in self._server.ledgers:
                raise LedgerExists
            return self._write(ledger_id, metadata, 0)

        return self._change(create)

    def read_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self._ask(partial(self._find, ledger_id))

    def read_latest_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self.read_ledger(ledger_id)

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Deferred[Versioned]:
        def write() -> Versioned:
            if self._find(ledger_id).version != version:
                raise MetadataConflict
            return self._write(ledger_id, evolve(metadata, create_token=0), version + 1)

        return self._change(write)

    def delete_ledger(self, ledger_id: int) -> Deferred[None]:
        def delete() -> None:
            self._find(ledger_id)
            del self._server.ledgers[ledger_id]
            self._server.written(ledger_id, None)

        return self._change(delete)

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]:
        return self._ask(lambda: sorted(self._server.ledgers))

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        watchers = self._server.ledger_watchers.setdefault(ledger_id, [])
        return self._watch(watchers, changed)

    # Bookies ---------------------------------------------------------------------------------------------------------

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._ask(lambda: self._ids(read_only=False))

    def read_only_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._ask(lambda: self._ids(read_only=True))

    def bookie_info(self, bookie_id: BookieId) -> Deferred[BookieServiceInfo]:
        def find() -> BookieServiceInfo:
            registered = self._server.bookies.get(bookie_id)
            if registered is None:
                raise BookieUnavailable(f"bookie {bookie_id} is not registered")
            return registered.info

        return self._ask(find)

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        return self._watch(self._server.bookie_watchers, changed)

    def lock_replication(self, ledger_id: int, bookie_id: BookieId) -> Deferred[bool]:
        return self._ask(lambda: True)

    def unlock_replication(self, ledger_id: int) -> Deferred[None]:
        return self._ask(lambda: None)

    def initialize(self) -> Deferred[bool]:
        return self._ask(lambda: False)

    def instance_id(self) -> Deferred[str | None]:
        return self._ask(lambda: "f0e1d2c3-0000-4000-8000-000000000000")

    def register_bookie(
        self,
        bookie_id: BookieId,
        info: BookieServiceInfo,
        read_only: bool = False,
        lost: Callable[[BaseException], None] | None = None,
    ) -> Deferred[None]:
        def register(session: int) -> None:
            self._require_free(bookie_id)
            self._require_session(session)
            self._wanted[bookie_id] = info, read_only, lost
            self._register_wanted(bookie_id, session)

        async def insist() -> None:
            # As the production stores: the session of a process that was killed ends a little later.
            while True:
                try:
                    await self._ask(partial(register, self._sessions))
                    return
                except _OtherSession:
                    pause: Deferred[None] = Deferred()
                    self._machine.post(self._machine.timeline.now + 0.5, pause.callback, None)
                    await pause

        return Deferred.fromCoroutine(insist())

    def unregister_bookie(self, bookie_id: BookieId) -> Deferred[None]:
        def unregister() -> None:
            self._wanted.pop(bookie_id, None)
            registered = self._server.bookies.get(bookie_id)
            # A store refuses what comes late from a session that has expired.
            if registered is not None and registered.session is self:
                del self._server.bookies[bookie_id]
                self._server.registered()

        return self._ask(unregister)

    def read_cookie(self, bookie_id: BookieId) -> Deferred[tuple[bytes, int] | None]:
        return self._ask(lambda: self._server.cookies.get(bookie_id))

    def write_cookie(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> Deferred[int]:
        def write() -> int:
            stored = self._server.cookies.get(bookie_id)
            if (stored and stored[1]) != version:
                raise MetadataConflict
            self._server.cookies[bookie_id] = cookie, 0 if version is None else version + 1
            return self._server.cookies[bookie_id][1]

        return self._change(write)

    # Named records ---------------------------------------------------------------------------------------------------

    def read_record(self, path: tuple[str, ...]) -> Deferred[tuple[bytes, int] | None]:
        return self._ask(lambda: self._server.records.get(path))

    def write_record(self, path: tuple[str, ...], data: bytes, version: int | None) -> Deferred[int]:
        def write() -> int:
            self._expect_record(path, version)
            self._server.records[path] = data, 0 if version is None else version + 1
            return self._server.records[path][1]

        return self._change(write)

    def delete_record(self, path: tuple[str, ...], version: int) -> Deferred[None]:
        def delete() -> None:
            self._expect_record(path, version)
            del self._server.records[path]

        return self._change(delete)

    def list_records(self, path: tuple[str, ...]) -> Deferred[list[str]]:
        def names() -> list[str]:
            depth = len(path)
            return sorted({each[depth] for each in self._server.records if each[:depth] == path and len(each) > depth})

        return self._ask(names)

    # Faults ----------------------------------------------------------------------------------------------------------

    def expire(self) -> None:
        """Lose the session; the production stores register again as soon as they have a new one.

        A process that is paused hears of it afterwards, as of all that its watches have missed.
        """
        self._expire()
        self._machine.post(self._machine.timeline.now + LATENCY_S, self._register_again)

    def _register_again(self) -> None:
        """Register as is wanted when the store comes to it: that may have changed meanwhile."""
        for bookie_id in self._wanted:
            again = self._ask(partial(self._register_wanted, bookie_id, self._sessions))
            again.addErrback(lambda failure: self._machine.post(self._machine.timeline.now + 1, self._register_again))

    def _register_wanted(self, bookie_id: BookieId, session: int) -> None:
        self._require_free(bookie_id)
        self._require_session(session)
        if bookie_id in self._wanted:
            info, read_only, _ = self._wanted[bookie_id]
            self._server.bookies[bookie_id] = Registered(info, read_only, self)
            self._server.registered()

    def _require_free(self, bookie_id: BookieId) -> None:
        before = self._server.bookies.get(bookie_id)
        if before is not None and before.session is not self:
            if before.session.ended:
                raise _OtherSession
            raise BookieIdInUse(f"bookie {bookie_id} is registered by another process")

    def _require_session(self, session: int) -> None:
        if session != self._sessions:
            raise _OtherSession

    def _killed(self) -> None:
        self._machine.timeline.after(self._server.session_s, self._expire)

    def _paused(self) -> None:
        """Send nothing that keeps the session, until the pause is over."""
        self._machine.timeline.after(self._server.session_s, self._silent, self._machine.pauses)

    def _silent(self, pauses: int) -> None:
        if not self.ended and self._machine.is_paused and self._machine.pauses == pauses:
            self.expire()

    def _expire(self) -> None:
        self._sessions += 1
        self._server.expire(self)

    # -----------------------------------------------------------------------------------------------------------------

    def _ids(self, read_only: bool) -> frozenset[BookieId]:
        return frozenset(each for each, found in self._server.bookies.items() if found.read_only == read_only)

    def _expect_record(self, path: tuple[str, ...], version: int | None) -> None:
        stored = self._server.records.get(path)
        if (stored and stored[1]) != version:
            raise MetadataConflict

    def _find(self, ledger_id: int) -> Versioned:
        if ledger_id not in self._server.ledgers:
            raise NoSuchLedger
        return self._server.ledgers[ledger_id]

    def _write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        self._server.ledgers[ledger_id] = versioned = Versioned(metadata, version)
        self._server.written(ledger_id, metadata)
        return versioned

    def _watch(self, watchers: list[Callable[[], None]], changed: Callable[[], None]) -> Callable[[], None]:
        machine, life = self._machine, self._machine.life

        def tell() -> None:
            if machine.life == life:
                machine.post(self._arrival(), told)
            elif tell in watchers:
                watchers.remove(tell)

        def told() -> None:
            if tell in watchers:
                changed()

        def end() -> None:
            if tell in watchers:
                watchers.remove(tell)

        watchers.append(tell)
        return end

    def _change(self, work: Callable[[], Any]) -> Deferred[Any]:
        """Ask for a change: what was sent in a session is not done when that has expired."""
        session = self._sessions

        def change() -> Any:
            if session != self._sessions:
                raise MetadataUnavailable("the session with the metadata store has expired")
            return work()

        return self._ask(change)

    def _arrival(self) -> float:
        server, now = self._server, self._machine.timeline.now
        return max(now, server.away_until) + LATENCY_S * (0.5 + server.random.random()) + server.slow_s

    def _ask(self, work: Callable[[], Any]) -> Deferred[Any]:
        done: Deferred[Any] = Deferred(lambda _: None)
        machine, life = self._machine, self._life

        def late() -> None:
            if not done.called:
                done.errback(MetadataUnavailable("the metadata store did not answer in time"))

        # The production stores have time-outs of their own, which hang on no reactor.
        machine.post(machine.timeline.now + TIMEOUT_S, late)

        def arrive() -> None:
            if done.called and self._server.random.random() < 0.5:
                return  # given up; it may have been sent, or not
            try:
                answer: Any = partial(bring, work())
            except Exception as error:
                answer = partial(bring_error, error)
            if machine.life == life and self._server.random.random() >= self._server.lost_answers:
                machine.post(self._arrival(), answer)

        def bring(result: Any) -> None:
            if not done.called:
                done.callback(result)

        def bring_error(error: Exception) -> None:
            if not done.called:
                done.errback(error)

        machine.timeline.at(self._arrival(), arrive)
        return done
