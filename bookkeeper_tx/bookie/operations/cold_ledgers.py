"""Requests about ledgers that are not in memory wait for the disk, without the reactor.

The connection pauses meanwhile: what it has sent keeps its order, and there is one such request of each client at most.
What was loaded is held until the request is served: the ledgers of other clients must not drive it out of memory.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.storage.ledger import while_held
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.protocol.bookie.requests import (
    AddRequests,
    Continuation,
    MixedAddRequests,
    MixedReadRequests,
    kept_bytes,
)

LOADS_MAX = 16
"""Ledgers of one request that are loaded at a time: other clients' reads from the disk wait for them."""

Serve: TypeAlias = Callable[[Any, Connection], None]

log = Logger()


class ColdLedgers:
    """Puts the wait before operations, which find in memory what there is to know of a ledger."""

    def __init__(self, storage: LedgerStorage) -> None:
        self._knows = storage.loader.knows
        self._in_memory = storage.loader.in_memory
        self._loader = storage.loader

    def before(self, serve: Serve) -> Serve:
        """Return ``serve`` with a wait for the ledger of each request."""
        knows = self._knows

        def serve_when_known(request: Any, connection: Connection) -> None:
            if knows(request.ledger_id):
                serve(request, connection)
            else:
                _wait(self._loader.load(request.ledger_id), serve, request, connection)

        return serve_when_known

    def before_adds(self, serve: Serve) -> Serve:
        """Return ``serve`` with a wait for the ledger of each add, and for what tells which entries that has."""
        is_ready = self._loader.is_ready_for_add

        def serve_when_ready(request: AddRequests, connection: Connection) -> None:
            run = request.entries
            if is_ready(run.ledger_id, run.first_entry_id, run.last_entry_id):
                serve(request, connection)
            else:
                span = (run.ledger_id, run.first_entry_id, run.last_entry_id)
                _wait(Deferred.fromCoroutine(self._loader.load_for_add(*span)), serve, request, connection)

        return serve_when_ready

    def before_mixed_adds(self, serve: Serve) -> Serve:
        """Return ``serve`` with the same wait for the ledgers of all adds of a request."""
        in_memory, is_ready, load = self._in_memory, self._loader.is_ready_for_add, self._loader.load_for_add

        def serve_when_ready(request: MixedAddRequests, connection: Connection) -> None:
            doubtful = [
                (add[0], add[1], add[1])
                for add in request.adds
                if (ledger := in_memory(add[0])) is None or add[1] <= ledger.last_indexed_id
            ]
            if all(is_ready(*span) for span in doubtful):
                serve(request, connection)
            else:
                held = [in_memory(add[0]) for add in request.adds]
                loads = (Deferred.fromCoroutine(load(*span)) for span in doubtful)
                _wait(_few_at_a_time(loads, held), serve, request, connection)

        return serve_when_ready

    def before_mixed_reads(self, serve: Serve) -> Serve:
        """Return ``serve`` with a wait for the ledgers of all reads of a request."""
        in_memory, knows, load = self._in_memory, self._knows, self._loader.load

        def serve_when_known(request: MixedReadRequests, connection: Connection) -> None:
            doubtful = {read[0] for read in request.reads if in_memory(read[0]) is None}
            if all(map(knows, doubtful)):
                serve(request, connection)
            else:
                held = [in_memory(read[0]) for read in request.reads]
                _wait(_few_at_a_time(map(load, doubtful), held), serve, request, connection)

        return serve_when_known


def _few_at_a_time(loads: Iterable[Deferred[Any]], held: list[Any]) -> Deferred[Any]:
    """Fire when all ``loads`` have; they are begun as they are taken from the iterable, few at a time.

    Fires with ``held`` and all that they have brought.
    """

    async def load() -> list[Any]:
        remaining = iter(loads)
        while begun := list(islice(remaining, LOADS_MAX)):
            held.extend(await gatherResults(begun))
        return held

    return Deferred.fromCoroutine(load())


def _wait(loading: Deferred[Any], serve: Serve, request: Any, connection: Connection) -> None:
    def failed(failure: Failure) -> None:
        log.failure("a request was not served", failure)
        if connection.connected_to_client:
            connection.end_next(failure.raiseException)

    def loaded(held: Any) -> None:
        if connection.connected_to_client:
            # When the client takes its replies; what makes it fail, it fails there, and that ends the connection.
            go_on = partial(while_held, held, serve, request, connection)
            connection.serve_next(Continuation(go_on, kept_bytes(request)))

    connection.pause()
    loading.addCallback(loaded)
    loading.addErrback(failed)
    # Only now: what the client has sent since then comes later.
    loading.addCallback(lambda _: connection.resume())
