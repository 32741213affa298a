"""Requests to ZooKeeper over broken connections: repeated where that does no harm, else their fate is unknown.

What is made of them here and in the files of ledgers, ids, cookies and so on, is written as coroutines that know of no
reactor.  ``twisted_requests`` lets them wait, ``blocking_requests`` blocks inside each request, so that there is one of
each sequence for both kinds of store.
"""

from collections.abc import Awaitable, Coroutine, Iterable, Sequence
from typing import Any, Protocol

from kazoo import exceptions

from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost


class Requests(Protocol):
    """The requests of one session.  They wait and repeat without limit; :meth:`within` gives a sequence its limit."""

    @property
    def hosts(self) -> str:
        """The servers, for the text of errors."""

    def once(self, name: str, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Make a request once; raises ConnectionLost when its outcome is unknown."""

    def insist(self, name: str, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """Make a request until there is an answer: for what does no harm if done twice."""

    def commit(self, creates: Iterable[tuple[str, bytes]]) -> Awaitable[list[Any]]:
        """Create all these nodes or none, once; gives a list of paths, or of the errors if there is one."""

    def children_of_each(self, paths: Sequence[str]) -> Awaitable[list[list[str]]]:
        """Return the children of each node, none of one that is gone; the time limit holds for each."""

    def within(self, coroutine: Coroutine[Any, Any, Any], extra_timeout_s: float = 0) -> Awaitable[Any]:
        """Run ``coroutine``; after the operation timeout it fails with MetadataUnavailable."""


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
            results = await requests.commit([(path, b"") for path in chain])
        except ConnectionLost:
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
