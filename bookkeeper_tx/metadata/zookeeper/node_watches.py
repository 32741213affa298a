"""Watches on ZooKeeper nodes that last: after each event, each lost connection, each new session.

A ZooKeeper watch fires once, and kazoo fires all watches when the connection breaks.  So after each event the node is
read anew, which sets the watch again, and :class:`Watches` finds out whether it has changed.  kazoo cannot withdraw a
watch: after the last watcher has gone, it stays until it fires once.
"""

from collections.abc import Callable
from typing import Any

from kazoo import exceptions
from twisted.logger import Logger

from bookkeeper_tx.errors import MetadataError
from bookkeeper_tx.metadata.watches import Key, Watches
from bookkeeper_tx.metadata.zookeeper.twisted_requests import TwistedRequests

_AGAIN_AFTER_S = 1.0
"""How long to wait after a look that failed."""


class NodeWatches:
    """Watches on nodes, and on the children of nodes."""

    _log = Logger()

    def __init__(self, requests: TwistedRequests, reactor: Any) -> None:
        self._requests = requests
        self._reactor = reactor
        self._watches = Watches(self._log.failure)
        self._looking: set[Key] = set()
        self._look_again: set[Key] = set()

    def node(self, path: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed()`` when the node is created, set or deleted, until the returned callable is called."""
        return self._watch((path, False), changed)

    def children(self, path: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed()`` when a child is created or deleted, until the returned callable is called."""
        return self._watch((path, True), changed)

    def connected_again(self) -> None:
        """Look at all nodes: kazoo's watches are gone."""
        for key in self._watches.keys:
            self._look(key)

    def clear(self) -> None:
        """Forget all watchers."""
        self._watches.clear()

    def _watch(self, key: Key, changed: Callable[[], None]) -> Callable[[], None]:
        end = self._watches.add(key, changed)
        self._look(key)  # reads after this call are not older than the first stamp
        return end

    def _look(self, key: Any) -> None:
        if key not in self._watches.keys or self._requests.stopped:
            return
        if key in self._looking:
            self._look_again.add(key)
            return
        self._looking.add(key)
        self._requests.within(self._stamp(*key)).addCallbacks(
            lambda stamp: self._watches.saw({key: stamp}), self._failed, errbackArgs=(key,)
        ).addBoth(self._looked, key)

    def _looked(self, _: Any, key: Key) -> None:
        self._looking.discard(key)
        if key in self._look_again:
            self._look_again.discard(key)
            self._look(key)

    def _failed(self, failure: Any, key: Key) -> None:
        if not failure.check(MetadataError):
            self._log.failure("looking at {path}", failure, path=key)
        self._watches.missed([key])
        if not self._requests.stopped:
            self._reactor.callLater(_AGAIN_AFTER_S, self._look, key)

    async def _stamp(self, path: str, children: bool) -> Any:
        """Return a stamp that differs after each change, and set kazoo's watch for the next change."""
        watcher = self._requests.session.watcher(self._look, (path, children))
        if children:
            try:
                _, stat = await self._requests.insist("get_children", path, watch=watcher, include_data=True)
                return stat.czxid, stat.cversion
            except exceptions.NoNodeError:
                pass
        stat = await self._requests.insist("exists", path, watch=watcher)
        return stat and (stat.czxid, stat.mzxid)
