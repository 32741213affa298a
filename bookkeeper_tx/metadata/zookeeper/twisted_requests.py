"""Requests to ZooKeeper that wait on the reactor."""

from collections.abc import Iterable, Sequence
from typing import Any

from kazoo import exceptions
from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.zookeeper.kazoo_client import (
    DENIALS,
    PAUSE_AFTER_LOSS_S,
    ConnectionLost,
    denied,
    not_answered,
    refused,
)


class TwistedRequests:
    """The :class:`~bookkeeper_tx.metadata.zookeeper.requests.Requests` of a KazooSession."""

    def __init__(self, session: Any, reactor: Any, operation_timeout_s: float) -> None:
        self.session = session
        self._reactor = reactor
        self._operation_timeout_s = operation_timeout_s
        self.stopped = False
        self._running: set[Deferred[Any]] = set()

    @property
    def hosts(self) -> str:
        return str(self.session.hosts)

    @property
    def session_id(self) -> int | None:
        session_id: int | None = self.session.session_id
        return session_id

    async def once(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return await self._or_pause(self.session.submit(name, *args, **kwargs))
        except DENIALS as error:
            raise denied(self.hosts, error, args[0]) from error

    async def insist(self, name: str, *args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                return await self.once(name, *args, **kwargs)
            except ConnectionLost:
                continue

    async def commit(self, creates: Iterable[tuple[str, bytes]]) -> list[Any]:
        results: list[Any] = await self._or_pause(self.session.commit(creates))
        return results

    async def children_of_each(self, paths: Sequence[str]) -> list[list[str]]:
        asking = [self.within(self._children(path)) for path in paths]
        try:
            return await gatherResults(asking, consumeErrors=True)
        except FirstError as error:
            error.subFailure.raiseException()

    async def _children(self, path: str) -> list[str]:
        try:
            children: list[str] = await self.insist("get_children", path)
        except exceptions.NoNodeError:
            return []
        return children

    async def _or_pause(self, answer: Deferred[Any]) -> Any:
        try:
            return await answer
        except ConnectionLost:
            await self.pause_after_loss()
            raise

    async def pause_after_loss(self) -> None:
        await self.pause(PAUSE_AFTER_LOSS_S)

    async def pause(self, delay_s: float) -> None:
        await deferLater(self._reactor, delay_s, lambda: None)

    async def turn(self) -> None:
        await self.pause(0)

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
            raise not_answered(self.hosts, timeout_s, self.session.why_not(timeout_s))

        running.addTimeout(timeout_s, self._reactor, timed_out)
        return running.addBoth(ended).addErrback(self._explain)

    def stop(self) -> None:
        """Fail all sequences that run."""
        self.stopped = True
        for running in list(self._running):
            running.cancel()

    def _explain(self, failure: Any) -> Any:
        if self.stopped and failure.check(CancelledError):
            raise MetadataUnavailable("the metadata store was stopped")
        if failure.check(exceptions.KazooException):
            raise refused(self.hosts, failure.value)
        return failure
