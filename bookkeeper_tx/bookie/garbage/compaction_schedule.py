"""Which compaction is due: minor ones often, of nearly empty logs, major ones seldom, of all that have much garbage."""

from collections.abc import Callable

from bookkeeper_tx.bookie.garbage.status import GarbageStatus
from bookkeeper_tx.config import BookieConfig


class CompactionSchedule:
    """Java's rules; ``seconds`` gives the time.  A compaction is told by whether it is a major one, None is none."""

    def __init__(self, config: BookieConfig, seconds: Callable[[], float]) -> None:
        self._config = config
        self._seconds = seconds
        self._major_at_s = self._minor_at_s = seconds()

    def due(self, status: GarbageStatus) -> bool | None:
        """Return the compaction that is due and not suspended."""
        config, now_s = self._config, self._seconds()
        major_s, minor_s = config.major_compaction_interval_s, config.minor_compaction_interval_s
        if self._major_enabled and not status.major_suspended and now_s - self._major_at_s > major_s:
            return True
        if self._minor_enabled and not status.minor_suspended and now_s - self._minor_at_s > minor_s:
            return False
        return None

    def forced(self, status: GarbageStatus, major: bool | None, minor: bool | None) -> bool | None:
        """Return the compaction that somebody wants who says whether there shall be a major, and a minor one."""
        if self._config.major_compaction_threshold > 0 and (not status.major_suspended if major is None else major):
            return True
        if self._config.minor_compaction_threshold > 0 and (not status.minor_suspended if minor is None else minor):
            return False
        return None

    def limits(self, major: bool) -> tuple[float, float]:
        """Return the usage below which logs are compacted, and how long that may take, 0 for as long as it takes."""
        config = self._config
        if major:
            return config.major_compaction_threshold, config.major_compaction_s_max
        return config.minor_compaction_threshold, config.minor_compaction_s_max

    def done(self, status: GarbageStatus, major: bool, now_s: float) -> None:
        """Note a compaction that has ended at a time of day; a major one counts as a minor one, too."""
        self._minor_at_s = self._seconds()
        status.last_minor_s = now_s
        if major:
            self._major_at_s = self._seconds()
            status.last_major_s = now_s
            status.major_count += 1
        else:
            status.minor_count += 1

    @property
    def _major_enabled(self) -> bool:
        return self._config.major_compaction_threshold > 0 and self._config.major_compaction_interval_s > 0

    @property
    def _minor_enabled(self) -> bool:
        return self._config.minor_compaction_threshold > 0 and self._config.minor_compaction_interval_s > 0
