"""Keys and values in memory that a crash takes back to some moment since the last sync: the double of RocksDB.

Fault model: changes reach the disk in their order, each whole; a crash, or a sync that fails, leaves those up to some
moment after the last sync that returned.  A change that fails has changed nothing.  A database that is no longer where
it was opened gives no answer.  What CrashingDisk lets fail, or crash, does so here, too.
"""

import errno
import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Protocol, TypeAlias

from bookkeeper_tx.bookie.key_values import KeyValues

Change: TypeAlias = "Callable[[Content], None]"


class Faults(Protocol):
    """The disk below."""

    life: int
    crashed: bool
    syncs_lie: bool
    random: Random

    def check_alive(self, life: int) -> None: ...

    def step(self) -> None: ...

    def admit_read(self, path: str) -> None: ...

    def admit_change(self) -> None: ...

    def admit_sync(self) -> None: ...

    def admit_batch(self, size: int) -> None: ...

    def database(self, path: str) -> "Stored | None": ...


class Content:
    """Keys in their order, and their values."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.keys: list[bytes] = []

    def copy(self) -> "Content":
        copied = Content()
        copied.values, copied.keys = dict(self.values), list(self.keys)
        return copied

    def put(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        for key, value in items:
            if key not in self.values:
                insort(self.keys, key)
            self.values[key] = value

    def delete(self, ranges: Sequence[tuple[bytes, bytes]]) -> None:
        for first, end in ranges:
            at = slice(bisect_left(self.keys, first), bisect_left(self.keys, end))
            for key in self.keys[at]:
                del self.values[key]
            del self.keys[at]

    def between(self, first: bytes, end: bytes) -> list[bytes]:
        return self.keys[bisect_left(self.keys, first) : bisect_left(self.keys, end)]


class Stored:
    """A database on the disk, whoever has it open."""

    def __init__(self) -> None:
        self.now = Content()
        self.durable = Content()
        self.unsynced: list[Change] = []

    def change(self, change: Change) -> None:
        change(self.now)
        self.unsynced.append(change)

    def sync(self) -> None:
        self.durable = self.now.copy()
        self.unsynced = []

    def crash(self, random: Random) -> None:
        for change in self.unsynced[: random.randint(0, len(self.unsynced))]:
            change(self.durable)
        self.now = self.durable.copy()
        self.unsynced = []


class CrashingKeyValues(KeyValues):
    """An open database of a CrashingDisk; it dies with the crash."""

    def __init__(self, path: str, stored: Stored, disk: Faults) -> None:
        self._path = path
        self._stored = stored
        self._disk = disk
        self._life = disk.life

    def get(self, key: bytes) -> bytes | None:
        return self._read().values.get(key)

    def keys(self) -> Iterator[bytes]:
        return iter(list(self._read().keys))

    def values(self, first: bytes, end: bytes, count: int) -> list[bytes]:
        return [value for _, value in self.items(first, end, count)]

    def items(self, first: bytes, end: bytes, count: int) -> list[tuple[bytes, bytes]]:
        content = self._read()
        found = [(key, content.values[key]) for key in content.between(first, end)]
        assert len(found) <= count
        return found

    def next_key(self, first: bytes, end: bytes) -> bytes | None:
        return next(iter(self._read().between(first, end)), None)

    def last_item(self, first: bytes, end: bytes) -> tuple[bytes, bytes] | None:
        content = self._read()
        found = content.between(first, end)
        return (found[-1], content.values[found[-1]]) if found else None

    def estimated_count(self) -> int:
        return len(self._read().values)

    def put(self, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
        items = list(zip(keys, values, strict=True))
        if items:
            self._change(lambda content: content.put(items), sum(len(key) + len(value) for key, value in items))

    def delete_ranges(self, ranges: Sequence[tuple[bytes, bytes]]) -> None:
        self._change(lambda content: content.delete(ranges), 0)

    def sync(self) -> None:
        self._content()
        try:
            self._disk.step()
            self._disk.admit_sync()
        except OSError:
            self._stored.crash(self._disk.random)  # it is opened anew
            raise
        if not self._disk.syncs_lie:
            self._stored.sync()

    def compact(self) -> None:
        self._content()

    def close(self) -> None: ...

    def _content(self) -> Content:
        self._disk.check_alive(self._life)
        if self._disk.database(self._path) is not self._stored:
            raise OSError(errno.EIO, os.strerror(errno.EIO), self._path)
        return self._stored.now

    def _read(self) -> Content:
        content = self._content()
        self._disk.admit_read(self._path)
        return content

    def _change(self, change: Change, size: int) -> None:
        self._content()
        self._disk.admit_change()
        self._disk.admit_batch(size)
        self._disk.step()
        self._stored.change(change)
