"""What errors of RocksDB are: the binding gives their text only."""

import errno
import os
from collections.abc import Callable
from typing import Final, TypeVar

from bookkeeper_tx.bookie.key_values import DAMAGED, NOT_OPEN

TOLD_NUMBERS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.EIO)
"""Errors that others know by their number: no room, no writes, too many open files, a broken disk."""

NOT_OPEN_TEXTS: Final = ("closed", "borrowed", "shutdown in progress")
"""What the binding says of a database that was closed, is being closed in another thread, or ends its work before."""

_Result = TypeVar("_Result")


def raising(read: Callable[[], _Result], told: Callable[[Exception], str]) -> _Result:
    """Return the result of ``read``, whose errors are of no class of their own; ``told`` gives their text."""
    try:
        return read()
    except Exception as error:
        raise os_error(error, told=told) from error


def os_error(error: Exception, path: str = "", told: Callable[[Exception], str] = str) -> OSError:
    return OSError(number_of(str(error)), f"RocksDB: {told(error)}", path or None)


def number_of(text: str) -> int:
    """Return the number of an error of which there is the text only: EIO where that says nothing else."""
    for number in TOLD_NUMBERS:
        if os.strerror(number) in text:
            return number
    lower = text.lower()
    # Not ENOENT, which is for who asks a file that is not there.
    if lower.startswith("corruption") or os.strerror(errno.ENOENT) in text:
        return DAMAGED
    return NOT_OPEN if any(each in lower for each in NOT_OPEN_TEXTS) else errno.EIO
