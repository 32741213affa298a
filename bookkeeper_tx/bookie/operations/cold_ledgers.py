"""Requests about ledgers that are not in memory wait for the disk, without the reactor.

The connection pauses meanwhile: what it has sent keeps its order, and there is one such request of each client at most.
What was loaded is held until the request is served: the ledgers of other clients must not drive it out of memory.  What
a flush has changed until then, the request waits for again.
"""

from collections.abc import Callable, Collection
from itertools import islice
from typing import Any, Final, TypeAlias

from attrs import frozen
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.room import Room
from bookkeeper_tx.bookie.storage.ledger import while_held
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.protocol.bookie.requests import (
    AddRequests,
    Continuation,
    MixedAddRequests,
    MixedReadRequests,
    kept_bytes,
)

LOADS_MAX = 16
"""Ledgers of one request that are loaded at a time: other clients' reads from the disk wait for them."""

LOADING_BYTES_MAX: Final = 64 * 1024 * 1024
"""Bytes that requests of all clients may hold while they load; the next ones wait for their turn.  A slow client's
request counts among its replies afterwards."""

READ_BYTES: Final = 512
"""Memory of what is held for a read: a ledger."""

ADD_BYTES: Final = 1280
"""Memory of what is held for an add: a ledger, and which entries of a page are stored."""

Serve: TypeAlias = Callable[[Any, Connection], None]

Need: TypeAlias = tuple[int, ...]
"""A ledger, or the span of an add: ledger, first and last entry."""

Needs: TypeAlias = Callable[[Any], Collection[Need]]

log = Logger()


def _nothing(_: Any) -> None:
    return None


class ColdLedgers:
    """Puts the wait before operations, which find in memory what there is to know of a ledger."""

    def __init__(self, storage: AnyStorage) -> None:
        self.room = Room(LOADING_BYTES_MAX)
        """For what is loaded."""
        self._in_memory = storage.loader.in_memory
        self._loader = storage.loader

    def before(self, serve: Serve) -> Serve:
        """Return ``serve`` with a wait for the ledger of each request."""
        knows = self._loader.knows
        wait = self._wait_of_reads(lambda request: [(request.ledger_id,)], serve)

        def serve_when_known(request: Any, connection: Connection) -> None:
            if knows(request.ledger_id):
                serve(request, connection)
            else:
                _Waiting(wait, request, connection).load([(request.ledger_id,)])

        return serve_when_known

    def before_adds(self, serve: Serve) -> Serve:
        """Return ``serve`` with a wait for the ledger of each add, and for what tells which entries that has."""
        is_ready = self._loader.is_ready_for_add

        def span(request: AddRequests) -> list[Need]:
            run = request.entries
            return [(run.ledger_id, run.first_entry_id, run.last_entry_id)]

        wait = self._wait_of_adds(span, serve)

        def serve_when_ready(request: AddRequests, connection: Connection) -> None:
            run = request.entries
            if is_ready(run.ledger_id, run.first_entry_id, run.last_entry_id):
                serve(request, connection)
            else:
                _Waiting(wait, request, connection).load(span(request))

        return serve_when_ready

    def before_mixed_adds(self, serve: Serve) -> Serve:
        """Return ``serve`` with the same wait for the ledgers of all adds of a request."""
        in_memory, is_ready = self._in_memory, self._loader.is_ready_for_add

        def doubtful(request: MixedAddRequests) -> list[Need]:
            return [
                (add[0], add[1], add[1])
                for add in request.adds
                if (ledger := in_memory(add[0])) is None or add[1] <= ledger.last_indexed_id
            ]

        def present(request: MixedAddRequests) -> object:
            return [in_memory(add[0]) for add in request.adds]

        wait = self._wait_of_adds(doubtful, serve, present)

        def serve_when_ready(request: MixedAddRequests, connection: Connection) -> None:
            spans = doubtful(request)
            if not spans:
                serve(request, connection)
                return
            held = present(request)
            if all(is_ready(*span) for span in spans):
                while_held(held, serve, request, connection)
            else:
                _Waiting(wait, request, connection).load(spans)

        return serve_when_ready

    def before_mixed_reads(self, serve: Serve) -> Serve:
        """Return ``serve`` with a wait for the ledgers of all reads of a request."""
        in_memory, knows = self._in_memory, self._loader.knows

        def doubtful(request: MixedReadRequests) -> Collection[Need]:
            return {(read[0],) for read in request.reads if in_memory(read[0]) is None}

        def present(request: MixedReadRequests) -> object:
            return [in_memory(read[0]) for read in request.reads]

        wait = self._wait_of_reads(doubtful, serve, present)

        def serve_when_known(request: MixedReadRequests, connection: Connection) -> None:
            ledgers = doubtful(request)
            if not ledgers:
                serve(request, connection)
                return
            held = present(request)
            if all(knows(*ledger) for ledger in ledgers):
                while_held(held, serve, request, connection)
            else:
                _Waiting(wait, request, connection).load(ledgers)

        return serve_when_known

    def _wait_of_reads(self, needs: Needs, serve: Serve, present: Callable[[Any], object] = _nothing) -> "_Wait":
        loader = self._loader
        return _Wait(needs, present, READ_BYTES, self.room, loader.load, loader.is_loaded, serve)

    def _wait_of_adds(self, needs: Needs, serve: Serve, present: Callable[[Any], object] = _nothing) -> "_Wait":
        loader = self._loader
        return _Wait(needs, present, ADD_BYTES, self.room, loader.load_for_add, loader.is_loaded_for_add, serve)


@frozen
class _Wait:
    """The wait of requests of one kind."""

    needs: Needs
    """Gives what is to be in memory before a request is served."""
    present: Callable[[Any], object]
    """Gives what is in memory already, to be held while others of the request are looked for."""
    need_bytes: int
    """Memory of each of them."""
    room: Room
    load: Callable[..., Deferred[object]]
    is_loaded: Callable[..., bool]
    serve: Serve


class _Waiting:
    """One request that waits, and what was loaded for it."""

    __slots__ = ("_connection", "_held", "_request", "_wait")

    def __init__(self, wait: _Wait, request: Any, connection: Connection) -> None:
        self._wait = wait
        self._request = request
        self._connection = connection
        self._held: dict[Need, object] = {}

    def load(self, needs: Collection[Need]) -> None:
        """Load ``needs``, then serve the request."""
        self._connection.pause()
        loading = Deferred.fromCoroutine(self._load(needs))
        loading.addCallback(self._loaded)
        loading.addErrback(self._failed)
        # Only now: what the client has sent since then comes later.
        loading.addCallback(lambda _: self._connection.resume())

    async def _load(self, needs: Collection[Need]) -> None:
        size = self._wait.need_bytes * (len(self._held) + len(needs))
        await self._wait.room.take(size, self._connection)
        try:
            remaining = iter(needs)
            while self._connection.connected_to_client and (begun := list(islice(remaining, LOADS_MAX))):
                loaded = await gatherResults([self._wait.load(*need) for need in begun])
                self._held.update(zip(begun, loaded, strict=True))
        finally:
            self._wait.room.give_back(size)

    def _loaded(self, _: None) -> None:
        if self._connection.connected_to_client:
            # When the client takes its replies; what makes it fail, it fails there, and that ends the connection.
            size = kept_bytes(self._request) + self._wait.need_bytes * len(self._held)
            self._connection.serve_next(Continuation(self._go_on, size))

    def _go_on(self) -> None:
        """Serve the request, unless something that it needs has changed."""
        needs, present = self._wait.needs(self._request), self._wait.present(self._request)
        changed = [need for need in needs if not self._wait.is_loaded(*need)]
        if changed:
            self.load(changed)
        else:
            while_held((self._held, present), self._wait.serve, self._request, self._connection)

    def _failed(self, failure: Failure) -> None:
        log.failure("a request was not served", failure)
        if self._connection.connected_to_client:
            self._connection.end_next(failure.raiseException)
