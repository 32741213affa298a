"""Requests to ZooKeeper over broken connections: repeated where that does no harm, else their fate is unknown."""

from typing import Any

from kazoo import exceptions
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from bookkeeper_tx.errors import MetadataError, MetadataUnavailable
from bookkeeper_tx.metadata.kazoo_session import ConnectionLost

_PAUSE_AFTER_LOSS_S = 0.05
"""kazoo tells of the loss of a request before it knows that the connection is down."""


class Requests:
    """The requests of one session.  They wait and repeat without limit; :meth:`within` gives a sequence its limit."""

    def __init__(self, session: Any, reactor: Any, operation_timeout_s: float) -> None:
        self.session = session
        self._reactor = reactor
        self._operation_timeout_s = operation_timeout_s
        self.stopped = False
        self._running: set[Deferred[Any]] = set()

    async def once(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Make a request once; raises ConnectionLost when its outcome is unknown."""
        try:
            return await self.session.submit(name, *args, **kwargs)
        except ConnectionLost:
            await self.pause(_PAUSE_AFTER_LOSS_S)
            raise

    async def insist(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Make a request until there is an answer: for what does no harm if done twice."""
        while True:
            try:
                return await self.once(name, *args, **kwargs)
            except ConnectionLost:
                continue

    async def pause(self, delay_s: float) -> None:
        await deferLater(self._reactor, delay_s, lambda: None)

    def within(self, coroutine: Any, extra_timeout_s: float = 0) -> Deferred[Any]:
        """Run ``coroutine``; after the operation timeout, or when stopped, it fails with MetadataUnavailable."""
        timeout_s = self._operation_timeout_s + extra_timeout_s
        running = Deferred.fromCoroutine(coroutine)
        self._running.add(running)

        def ended(result: Any) -> Any:
            self._running.discard(running)
            return result

        def timed_out(result: Any, timeout_s: float) -> Any:
            if not (isinstance(result, Failure) and result.check(CancelledError)):  # type: ignore[no-untyped-call]
                return result
            raise MetadataUnavailable(
                f"ZooKeeper at {self.session.hosts} did not answer within {timeout_s:g} s; "
                "a change that was asked for may be made or not"
            )

        running.addTimeout(timeout_s, self._reactor, timed_out)
        return running.addBoth(ended).addErrback(self._explain)

    def stop(self) -> None:
        """Fail all that runs."""
        self.stopped = True
        for running in list(self._running):
            running.cancel()

    def _explain(self, failure: Any) -> Any:
        if self.stopped and failure.check(CancelledError):
            raise MetadataUnavailable("the metadata store was stopped")
        if failure.check(exceptions.KazooException):
            raise MetadataError(f"ZooKeeper at {self.session.hosts} refused: {failure.value!r}")
        return failure


async def create_with_parents(requests: Requests, path: str, data: bytes, parents: list[str], **kwargs: Any) -> Any:
    """Create a node once, and the missing ones of its ``parents`` (nearest first) whenever it turns out that they are.

    Somebody who deletes the last ledger of a range may be removing them at the same time.
    """
    while True:
        try:
            return await requests.once("create", path, data, **kwargs)
        except exceptions.NoNodeError:
            if not parents:
                raise
        await _ensure_all(requests, parents[::-1])


async def _ensure_all(requests: Requests, chain: list[str]) -> None:
    """Create those nodes of ``chain``, each the parent of the next, that are missing: in one transaction, since each is
    one wait for the server's disk.  A node above them that vanishes meanwhile leaves things as they were.
    """
    while chain:
        try:
            results = await requests.session.commit([(path, b"") for path in chain])
        except ConnectionLost:
            await requests.pause(_PAUSE_AFTER_LOSS_S)
            continue  # whatever was made is there when the next one comes
        there = [isinstance(result, exceptions.NodeExistsError) for result in results]
        if True not in there:
            return
        chain = chain[there.index(True) + 1 :]


async def ensure(requests: Requests, path: str) -> None:
    """Create a persistent empty node unless there is one, or its parent is gone again."""
    try:
        await requests.insist("create", path, b"")
    except (exceptions.NodeExistsError, exceptions.NoNodeError):
        pass
