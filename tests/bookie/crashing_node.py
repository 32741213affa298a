"""The bytes of a file that a power cut may lose, and the power cut."""

from random import Random

SECTOR_SIZE = 512


class Node:
    """The bytes of a file: as the process sees them, and as they are on the disk, with the changes between."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable = bytearray()
        self.changes: list[tuple[int, bytes | None]] = []
        """(offset, bytes written) or (new size, None), since the last sync."""

    def change(self, offset: int, data: bytes | None) -> None:
        self.changes.append((offset, data))
        apply(self.data, offset, data)

    def sync(self) -> None:
        for offset, data in self.changes:
            apply(self.durable, offset, data)
        self.changes = []

    def fail_sync(self, random: Random) -> None:
        """Write some of the changes, and forget the others: all are read until a crash.  The size is not forgotten."""
        self._keep_some(random)
        self.changes = [(len(self.data), None)]

    def crash(self, random: Random) -> None:
        self._keep_some(random)
        self.changes = []
        self.data = bytearray(self.durable)

    def _keep_some(self, random: Random) -> None:
        kept = random.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for offset, data in self.changes:
            if data is None:
                if random.random() < kept:
                    apply(self.durable, offset, None)
                continue
            start = 0
            while start < len(data):
                end = min(len(data), start + SECTOR_SIZE - (offset + start) % SECTOR_SIZE)
                if random.random() < kept:
                    apply(self.durable, offset + start, data[start:end])
                start = end


def apply(target: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del target[offset:]
        target.extend(bytes(offset - len(target)))
    else:
        target.extend(bytes(max(offset - len(target), 0)))
        target[offset : offset + len(data)] = data
