"""The space of a disk: whether it is full, and whether what is kept for recovery is left (Java's rules)."""

from bookkeeper_tx.config import BookieConfig


class Space:
    """Judges the space of a disk by the thresholds of ``config``; each look begins where the one before has ended."""

    def __init__(self, config: BookieConfig) -> None:
        self._config = config
        self.full = False
        """Whether it was used above the threshold, and since then not below the low-water mark."""
        self.short = False
        """Whether it is nearly full."""
        self.reserve_used = False
        """Whether it is full, and has no room for adds of high priority either."""

    def look(self, total_bytes: int, free_bytes: int) -> None:
        """Take notice of a disk's size, and of the bytes that may be written to it."""
        config = self._config
        used = 1 - free_bytes / total_bytes if total_bytes else 0.0
        low_water = config.disk_usage_low_water or config.disk_usage_threshold
        self.short = used > config.disk_usage_warn_threshold
        self.full = used > config.disk_usage_threshold or (self.full and used > low_water)
        self.reserve_used = self.full and free_bytes <= config.high_priority_free_bytes_min
