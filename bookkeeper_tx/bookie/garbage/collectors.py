"""The garbage collectors of a bookie: one for each of its storages, as with Java, where each has its own thread."""

from collections.abc import Sequence
from typing import Any

from attrs import fields
from twisted.internet.defer import Deferred, gatherResults

from bookkeeper_tx.bookie.garbage.collector import GarbageCollector
from bookkeeper_tx.bookie.garbage.status import GarbageStatus


class GarbageCollectors:
    """Has the interface of one :class:`GarbageCollector`."""

    def __init__(self, collectors: Sequence[GarbageCollector]) -> None:
        self._collectors = collectors

    @property
    def status(self) -> GarbageStatus:
        """What they have done together."""
        return together(self.statuses)

    @property
    def statuses(self) -> Sequence[GarbageStatus]:
        """What each of them has done, in the order of the ledger directories."""
        return [each.status for each in self._collectors]

    def start(self) -> None:
        for each in self._collectors:
            each.start()

    def stop(self) -> Deferred[None]:
        return _all([each.stop() for each in self._collectors])

    def force(self, major: bool | None = None, minor: bool | None = None) -> Deferred[None]:
        return _all([each.force(major, minor) for each in self._collectors])

    def suspend(self, major: bool = False, minor: bool = False) -> None:
        for each in self._collectors:
            each.suspend(major, minor)

    def resume(self, major: bool = False, minor: bool = False) -> None:
        for each in self._collectors:
            each.resume(major, minor)

    def disk_filled(self) -> None:
        for each in self._collectors:
            each.disk_filled()


def together(statuses: Sequence[GarbageStatus]) -> GarbageStatus:
    """Return one status: counts and logs are added, times are the latest; what is so in one is so."""
    values = {field.name: [getattr(each, field.name) for each in statuses] for field in fields(GarbageStatus)}
    return GarbageStatus(**{name: _together(each) for name, each in values.items()})


def _together(values: Sequence[Any]) -> Any:
    known = [each for each in values if each is not None]
    if not known:
        return None
    match known[0]:
        case bool():
            return any(known)
        case int():
            return sum(known)
        case float():
            return max(known)
        case tuple():
            return tuple(each for several in known for each in several)
        case _:
            return next((each for each in known if each), "")


def _all(waiting: Sequence[Deferred[None]]) -> Deferred[None]:
    return gatherResults(waiting).addCallback(lambda _: None)
