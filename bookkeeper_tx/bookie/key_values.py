"""A store of keys and values, all bytes, in the order of the keys: what the bookie needs of RocksDB."""

import errno
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

NOT_OPEN: Final = errno.EBUSY
"""The number of the OSError of a store that is not open now; the next change tries to open it again."""

DAMAGED: Final = errno.EBADMSG
"""The number of the OSError of what is stored, but is not what was written, or is gone."""


class KeyValues(Protocol):
    """One store.  Calls block, and raise OSError; reads may come from any thread, changes from one at a time.

    After a change, or a sync, that has failed it may be opened anew: what is asked meanwhile fails with NOT_OPEN.
    What is damaged fails with DAMAGED.

    A change is there for reads at once, and durable after :meth:`sync`: a crash leaves the changes up to some moment
    after the last one.  What cannot be read is never taken for what is not there.
    """

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, None if there is none."""

    def keys(self) -> Iterator[bytes]:
        """Return all keys, ascending."""

    def values(self, first: bytes, end: bytes, count: int) -> list[bytes]:
        """Return the values from ``first`` on and before ``end``; ``count`` there can be at most."""

    def items(self, first: bytes, end: bytes, count: int) -> list[tuple[bytes, bytes]]:
        """Return keys and values from ``first`` on and before ``end``, ascending; ``count`` there can be at most."""

    def next_key(self, first: bytes, end: bytes) -> bytes | None:
        """Return the first key from ``first`` on and before ``end``, None if there is none."""

    def last_item(self, first: bytes, end: bytes) -> tuple[bytes, bytes] | None:
        """Return the last key from ``first`` on and before ``end``, and its value, None if there is none."""

    def estimated_count(self) -> int:
        """Return how many keys there are, more or less, without a look at them.

        A key that was put again may count twice, and one that was deleted still, until the files are written anew.
        """

    def put(self, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
        """Give each of the keys its value."""

    def delete_ranges(self, ranges: Sequence[tuple[bytes, bytes]]) -> None:
        """Delete what is in these ranges, each from its first key to before its end."""

    def sync(self) -> None:
        """Return when all changes are on the disk.

        After an OSError they can be made, and synced, again."""

    def compact(self) -> None:
        """Write the files anew without what was deleted or has another value now.

        May take minutes; other calls need not wait meanwhile, and :meth:`close` ends it.  Raises ENOSPC if the disk has
        less room than the files have bytes.
        """

    def close(self) -> None:
        """Close the files.  Later calls fail."""
