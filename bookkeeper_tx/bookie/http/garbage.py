"""What the endpoints need of the garbage collection of a bookie."""

from collections.abc import Sequence
from typing import Any, Protocol


class GarbageStatus(Protocol):
    """What it has done since the start, and does; times are in seconds since 1970, None before the first one."""

    @property
    def forced(self) -> bool:
        """Whether a collection that was asked for is under way, or waits for the one that is."""

    @property
    def major_running(self) -> bool:
        """Whether a major compaction is under way."""

    @property
    def minor_running(self) -> bool: ...

    @property
    def major_suspended(self) -> bool: ...

    @property
    def minor_suspended(self) -> bool: ...

    @property
    def last_major_s(self) -> float | None:
        """When the last major compaction ended."""

    @property
    def last_minor_s(self) -> float | None: ...

    @property
    def major_count(self) -> int:
        """Major compactions that have ended."""

    @property
    def minor_count(self) -> int: ...


class GarbageCollection(Protocol):
    """Collects garbage.  Called on the reactor thread; nothing here waits."""

    @property
    def status(self) -> GarbageStatus:
        """What all of it has done."""

    @property
    def statuses(self) -> Sequence[GarbageStatus]:
        """What was done in each storage, one or one for each ledger directory."""

    def force(self, major: bool | None = None, minor: bool | None = None) -> Any:
        """Begin a collection, with or without major and minor compaction; None: with it, unless it is suspended."""

    def suspend(self, major: bool = False, minor: bool = False) -> None:
        """Compact no more until that is resumed."""

    def resume(self, major: bool = False, minor: bool = False) -> None: ...
