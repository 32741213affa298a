"""Watchers of keys, called when the stamp of their key has changed.

Both stores learn only that something may have changed (a poll, a ZooKeeper event, a lost connection).  So a key counts
as changed only when its *stamp* differs from the last one seen; else nobody is called.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final

Key = Hashable
BOOKIES: Final = "bookies"
"""The key of the registered bookies; that of a ledger is its id."""
_UNSEEN = object()
_MISSED = object()


class Watches:
    """Callbacks by key, for one thread.

    ``report`` is called, with a text, while an exception of a callback is handled.
    """

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report
        self._callbacks: dict[Key, dict[object, Callable[[], None]]] = {}
        self._stamps: dict[Key, Any] = {}

    @property
    def keys(self) -> frozenset[Key]:
        """The keys that somebody watches."""
        return frozenset(self._callbacks)

    def add(self, key: Key, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed()`` after each change of ``key``, until the returned callable is called.

        The first stamp seen is no change.
        """
        token = object()
        self._callbacks.setdefault(key, {})[token] = changed

        def end() -> None:
            callbacks = self._callbacks.get(key, {})
            callbacks.pop(token, None)
            if not callbacks:
                self._callbacks.pop(key, None)
                self._stamps.pop(key, None)

        return end

    def saw(self, stamps: Mapping[Key, Any]) -> bool:
        """Take the present stamps, and call the watchers of changed keys; keys that nobody watches are ignored.

        Returns whether any has changed.
        """
        changed = False
        for key, stamp in stamps.items():
            if key not in self._callbacks:
                continue
            before = self._stamps.get(key, _UNSEEN)
            self._stamps[key] = stamp
            if before is not _UNSEEN and before != stamp:
                changed = True
                self._call(key)
        return changed

    def missed(self, keys: Iterable[Key]) -> None:
        """Take that a look at ``keys`` has failed: of one that was never seen, the first stamp may be that of a change.

        Its watcher is called then, since it may have read what was there before.
        """
        for key in keys:
            if key in self._callbacks:
                self._stamps.setdefault(key, _MISSED)

    def clear(self) -> None:
        """Forget all watchers."""
        self._callbacks.clear()
        self._stamps.clear()

    def _call(self, key: Key) -> None:
        for token, changed in list(self._callbacks.get(key, {}).items()):
            if token not in self._callbacks.get(key, {}):
                continue  # a callback before it has ended it
            try:
                changed()
            except Exception:
                self._report("a metadata watch failed")
