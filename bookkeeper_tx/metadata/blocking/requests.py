"""Requests to ZooKeeper that block, and many reads in flight at once."""

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from kazoo import exceptions

from bookkeeper_tx.metadata.blocking.session import BlockingSession
from bookkeeper_tx.metadata.zookeeper.kazoo_client import DENIALS, ConnectionLost, denied, refused, translated

WINDOW = 1000
"""Reads in flight at once: their answers are some 300 kB, or 10 MB if ledgers have hundreds of fragments."""


class BlockingRequests:
    """The :class:`~bookkeeper_tx.metadata.zookeeper.requests.Requests` of a BlockingSession.

    They block, so a coroutine made of them never suspends: :func:`run` runs it to its end.
    """

    def __init__(self, session: BlockingSession) -> None:
        self._session = session
        self._deadline = 0.0

    @property
    def hosts(self) -> str:
        return self._session.hosts

    @property
    def session_id(self) -> int | None:
        return self._session.session_id

    async def once(self, name: str, *args: Any, **kwargs: Any) -> Any:
        request = getattr(self._session.client, name + "_async")
        try:
            return self._or_pause(self._session.send(request, *args, deadline=self._deadline, **kwargs))
        except DENIALS as error:
            raise denied(self.hosts, error, args[0]) from error

    async def insist(self, name: str, *args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                return await self.once(name, *args, **kwargs)
            except ConnectionLost:
                continue

    async def commit(self, creates: Iterable[tuple[str, bytes]]) -> list[Any]:
        def commit() -> Any:
            transaction = self._session.client.transaction()
            for path, data in creates:
                transaction.create(path, data)
            return transaction.commit_async()

        results: list[Any] = self._or_pause(self._session.send(commit, deadline=self._deadline))
        return results

    def _or_pause(self, result: Any) -> Any:
        try:
            return self._session.answer(result, self._deadline)
        except ConnectionLost:
            self._session.pause_after_loss(self._deadline)
            raise

    async def pause_after_loss(self) -> None:
        self._session.pause_after_loss(self._deadline)

    async def turn(self) -> None:
        """Go on: nothing else waits on this thread."""

    async def within(self, coroutine: Coroutine[Any, Any, Any], extra_timeout_s: float = 0) -> Any:
        outer, self._deadline = self._deadline, self._session.deadline(extra_timeout_s)
        try:
            return await coroutine
        except exceptions.KazooException as error:
            raise refused(self.hosts, error) from error
        finally:
            self._deadline = outer

    # Many at once -------------------------------------------------------------------------------------------------

    async def children_of_each(self, paths: Sequence[str]) -> list[list[str]]:
        answers = self.each("get_children", paths)
        return [[] if isinstance(answer, exceptions.NoNodeError) else answer for answer in answers]

    def each(self, name: str, paths: Iterable[str], **kwargs: Any) -> Iterator[Any]:
        """Yield the answers to a read of each path, in order; a NoNodeError is yielded and not raised.

        The time limit holds for each answer by itself.  Reads that were lost with a connection are repeated.
        """
        request = partial(getattr(self._session.client, name + "_async"), **kwargs)
        source, sent = iter(paths), deque[tuple[str, Any]]()
        while True:
            if len(sent) <= WINDOW // 2:
                deadline = self._session.deadline()
                for path in islice(source, WINDOW - len(sent)):
                    sent.append((path, self._session.send(request, path, deadline=deadline)))
            if not sent:
                return
            yield self._first_answer(request, sent)

    def _first_answer(self, request: Callable[[str], Any], sent: deque[tuple[str, Any]]) -> Any:
        if sent[0][1].successful():
            return sent.popleft()[1].value
        deadline = self._session.deadline()
        while True:
            try:
                answer = self._session.answer(sent[0][1], deadline)
            except ConnectionLost:
                self._session.pause_after_loss(deadline)
                self._send_lost_again(request, sent, deadline)
                continue
            except exceptions.NoNodeError as error:
                answer = error
            except DENIALS as error:
                raise denied(self.hosts, error, sent[0][0]) from error
            except exceptions.KazooException as error:
                raise refused(self.hosts, error) from error
            sent.popleft()
            return answer

    def _send_lost_again(self, request: Callable[[str], Any], sent: deque[tuple[str, Any]], deadline: float) -> None:
        for index, (path, result) in enumerate(sent):
            if result.ready() and not result.successful() and isinstance(translated(result.exception), ConnectionLost):
                sent[index] = path, self._session.send(request, path, deadline=deadline)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine all of whose calls block, so that it never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise RuntimeError("a coroutine that may only block waits for what is not there")
