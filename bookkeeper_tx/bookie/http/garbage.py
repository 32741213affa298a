"""What the endpoints need of the garbage collection of a bookie."""

from typing import Protocol

from attrs import frozen


@frozen
class GarbageStatus:
    """The garbage collection of one ledger directory; times are in milliseconds since 1970."""

    force_compacting: bool
    """Whether a collection that was asked for is under way."""
    major_compacting: bool
    minor_compacting: bool
    last_major_compaction_ms: int
    last_minor_compaction_ms: int
    last_entry_location_compaction_ms: int
    major_compaction_count: int
    """How many there were since the start; so the others."""
    minor_compaction_count: int
    entry_location_compaction_count: int


class GarbageCollection(Protocol):
    """Collects garbage.  Called on the reactor thread; nothing here waits."""

    major_suspended: bool
    """Whether major compaction is suspended; may be set."""
    minor_suspended: bool
    """The same for minor compaction."""

    def force(self, major: bool, minor: bool) -> object:
        """Begin a collection soon, with or without major and minor compaction."""

    def statuses(self) -> list[GarbageStatus]:
        """Return the status of each ledger directory."""


class NoGarbageCollection:
    """Does nothing, and says so in its status, as a storage of Java's without garbage collection."""

    major_suspended = False
    minor_suspended = False

    def force(self, major: bool, minor: bool) -> None: ...

    def statuses(self) -> list[GarbageStatus]:
        return []
