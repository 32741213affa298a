"""Looks for changes in etcd, for those who watch: one at a time, each at all keys that were asked for meanwhile."""

from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from bookkeeper_tx.errors import MetadataError, MetadataUnavailable
from bookkeeper_tx.metadata.etcd.records import EtcdRecords
from bookkeeper_tx.metadata.watches import Key, Watches

_LOOK_AGAIN_AFTER_S = 1.0
"""How long to wait after a look that failed."""


class EtcdLooks:
    """Calls watchers when their key has changed; ``run(function, *args)`` calls what blocks on a thread for looks."""

    _log = Logger()

    def __init__(self, records: EtcdRecords, reactor: Any, timeout_s: float, run: Callable[..., Deferred[Any]]) -> None:
        self._records = records
        self._reactor = reactor
        self._timeout_s = timeout_s
        self._run = run
        self._watches = Watches(self._log.failure)
        self._asked: set[Key] = set()
        """The keys of the next look."""
        self._next: Deferred[None] = Deferred()
        """Fires when the next look is over, whatever came of it."""
        self._is_looking = False
        self._first_looks: list[Deferred[None]] = []
        self._stopped = False

    def watch(self, key: Key, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed()`` after each change of ``key``, until the returned callable is called."""
        end = self._watches.add(key, changed)
        looked = self._look({key})
        self._first_looks.append(looked)
        looked.addCallback(lambda _: self._first_looks.remove(looked))

        def end_watch() -> None:
            end()
            self._forget({key})

        return end_watch

    def told(self, key: Key | None) -> None:
        """Take that ``key`` may have changed; None stands for all."""
        self._look(self._watches.keys if key is None else {key})

    def after_first_looks(self) -> Deferred[None]:
        """Fire when all that was watched before this call has been looked at: what is read then is not older.

        Fails with MetadataUnavailable if that takes longer than an operation may take.
        """
        if not self._first_looks:
            return succeed(None)
        looked: Deferred[None] = Deferred()
        self._first_looks[-1].addCallback(lambda _: looked.callback(None))
        return looked.addTimeout(self._timeout_s, self._reactor, self._too_late)

    def stop(self) -> None:
        """Call nobody any more."""
        self._stopped = True
        self._watches.clear()

    def _look(self, keys: Iterable[Key]) -> Deferred[None]:
        """Look for changes of ``keys``, after the look that is under way; fires when that is done, or has failed."""
        self._asked.update(keys)
        looked = self._next
        if not self._is_looking:
            self._begin()
        return looked

    def _begin(self) -> None:
        keys, self._asked = self._watches.keys & self._asked, set()
        looked, self._next = self._next, Deferred()
        if not keys or self._stopped:
            looked.callback(None)
            return
        self._is_looking = True
        seen = self._run(self._records.stamps, keys)
        seen.addCallbacks(self._watches.saw, self._failed, errbackArgs=(keys,))
        seen.addBoth(lambda _: self._ended(keys, looked))

    def _ended(self, keys: frozenset[Key], looked: Deferred[None]) -> None:
        self._is_looking = False
        self._forget(keys)
        looked.callback(None)
        if self._asked and not self._is_looking:
            self._begin()

    def _failed(self, failure: Any, keys: frozenset[Key]) -> None:
        if not failure.check(MetadataError):
            self._log.failure("looking for changes in etcd", failure)
        self._watches.missed(keys)
        if not self._stopped:
            self._reactor.callLater(_LOOK_AGAIN_AFTER_S, lambda: self._look(keys))

    def _forget(self, keys: Iterable[Key]) -> None:
        """End the watches in etcd that nobody wants any more."""
        for key in set(keys) - self._watches.keys:
            self._records.watches.unwatch(key)

    def _too_late(self, _: Any, timeout_s: float) -> Any:
        raise MetadataUnavailable(f"etcd at {self._records.client.hosts} did not answer within {timeout_s:g} s")
