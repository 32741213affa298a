"""Requests to ZooKeeper over broken connections: repeated if that does no harm, else their outcome is unknown.

The sequences of requests, here and in the files of ledgers, ids, cookies and so on, are coroutines without a reactor.
``twisted_requests`` suspends them in a request, ``blocking.requests`` blocks in it; so both kinds of store share each
sequence.
"""

from collections.abc import Awaitable, Coroutine, Iterable, Sequence
from typing import Any, Protocol

from kazoo import exceptions

from bookkeeper_tx.metadata.zookeeper.kazoo_client import DENIALS, ConnectionLost, denied


class Requests(Protocol):
    """The requests of one session.  They wait and repeat without limit; :meth:`within` gives a sequence its limit."""

    @property
    def hosts(self) -> str:
        """The servers, for the text of errors."""

    @property
    def session_id(self) -> int | None:
        """The session that there is now."""

    def once(self, name: str, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Make a request once; raises ConnectionLost when its outcome is unknown."""

    def insist(self, name: str, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """Repeat a request until there is an answer; for requests that do no harm when done twice."""

    def commit(self, creates: Iterable[tuple[str, bytes]]) -> Awaitable[list[Any]]:
        """Create all these nodes or none, once; gives a list of paths, or a list of errors if any failed."""

    def children_of_each(self, paths: Sequence[str]) -> Awaitable[list[list[str]]]:
        """Return the children of each node, none for a node that is gone; the time limit holds for each."""

    def pause_after_loss(self) -> Awaitable[None]:
        """Wait as after a connection that was lost."""

    def turn(self) -> Awaitable[None]:
        """Let what else waits on this thread have its turn."""

    def within(self, coroutine: Coroutine[Any, Any, Any], extra_timeout_s: float = 0) -> Awaitable[Any]:
        """Run ``coroutine``; after the operation timeout it fails with MetadataUnavailable."""


async def looked_at(requests: Requests, path: str) -> tuple[Any, int]:
    """Return the stat of a node, None if there is none, and the session in which it was read."""
    while True:
        session_id = requests.session_id
        stat = await requests.insist("exists", path)
        if session_id is not None and session_id == requests.session_id:
            return stat, session_id
        if requests.session_id is None:  # the connection is down: nobody knows which nodes are ours
            await requests.pause_after_loss()


async def delete_own(requests: Requests, path: str) -> None:
    """Delete an ephemeral node if it is of this session.

    Another session may have made it anew when a request is repeated whose answer was lost.
    """
    while True:
        stat, session_id = await looked_at(requests, path)
        if stat is None or stat.ephemeralOwner != session_id:
            return
        try:
            await requests.once("delete", path)
            return
        except ConnectionLost:
            continue
        except exceptions.NoNodeError:
            return


def refusal(results: Sequence[Any]) -> tuple[int, Exception] | None:
    """Return which request has ended a transaction, and its error; None if all is done."""
    for index, result in enumerate(results):
        if isinstance(result, Exception) and not isinstance(
            result, (exceptions.RolledBackError, exceptions.RuntimeInconsistency)
        ):
            return index, result
    return None


def said(requests: Requests, path: str, error: Exception) -> Exception:
    """Return the error of a transaction in which the node at ``path`` could not be made."""
    return denied(requests.hosts, error, path) if isinstance(error, DENIALS) else error


async def create_with_parents(requests: Requests, path: str, data: bytes, parents: list[str], **kwargs: Any) -> Any:
    """Create a node once, and its ``parents`` (nearest first) whenever they turn out to be missing.

    Another client that deletes the last ledger of a range may be removing them at the same time.
    """
    while True:
        try:
            return await requests.once("create", path, data, **kwargs)
        except exceptions.NoNodeError:
            if not parents:
                raise
        await _ensure_all(requests, parents[::-1])


async def _ensure_all(requests: Requests, chain: list[str]) -> None:
    """Create the missing nodes of ``chain``, in which each is the parent of the next.

    They are created in one transaction, since each transaction waits for the server's disk once.  If a node above them
    vanishes meanwhile, none is created.
    """
    while chain:
        try:
            results = await requests.commit([(path, b"") for path in chain])
        except ConnectionLost:
            continue  # the next transaction finds the nodes that were made
        failed = refusal(results)
        if failed is None or isinstance(failed[1], exceptions.NoNodeError):
            return
        index, error = failed
        # Below a node where we may make none, a server says so of those that are there, too.
        is_there = isinstance(error, exceptions.NodeExistsError) or await requests.insist("exists", chain[index])
        if not is_there:
            raise said(requests, chain[index], error)
        chain = chain[index + 1 :]


async def ensure(requests: Requests, path: str) -> None:
    """Create a persistent empty node unless it exists, or its parent is gone again."""
    try:
        await requests.insist("create", path, b"")
    except (exceptions.NodeExistsError, exceptions.NoNodeError):
        pass
