"""Which entry logs a path names, and how they are shared out among tasks."""

import os
from collections.abc import Iterable, Sequence
from glob import glob, has_magic
from typing import Final

from attrs import frozen

from bookkeeper_tx.errors import InvalidConfig
from protocol_specs.disk import entry_log as spec
from protocol_specs.disk.cookie import DIRECTORY as CURRENT

PART_SIZE: Final = 256 * 1024 * 1024
"""Bytes of a log for one task.  A task steps over all records before its part, so parts are large."""

PART_SIZE_MIN: Final = 4 * 1024 * 1024

_SUFFIXES = (spec.LOG_SUFFIX, spec.SCOPED_LOG_SUFFIX)
_FILE_SCHEME = "file:"


@frozen
class LogPart:
    """The records that start at the offsets ``first`` … ``end - 1`` of a log."""

    path: str
    first: int
    end: int | None
    """None: the end of the file at the time when it is read."""


def find_logs(paths: Iterable[str]) -> list[str]:
    """Return the entry logs that files, directories and patterns (``*``, ``?``, ``**``) name, each once.

    A directory stands for all files in it, and in its ``current``, that have the name of a log; a file may have any
    name.  Raises InvalidConfig for a path without logs, and for file systems that are not mounted here.
    """
    found: list[str] = []
    for given in paths:
        path = _local(given)
        matches = sorted(glob(path, recursive=True)) if has_magic(path) else [path]
        logs = [log for match in matches for log in _logs_at(match, bool(has_magic(path)))]
        if not logs:
            raise InvalidConfig(
                f"option path: no entry log at {given!r}: write a file, a directory with files named "
                f"*{_SUFFIXES[0]} or *{_SUFFIXES[1]} (or with {CURRENT!r} in it), or a pattern that matches some"
            )
        found += logs
    return list(dict.fromkeys(found))


def log_id_of(path: str) -> int | None:
    """Return the id in a log's file name, None if it has none."""
    stem = os.path.basename(path).partition(".")[0]
    try:
        return int(stem, 16)
    except ValueError:
        return None


def share_out(logs: Sequence[tuple[str, int]], tasks_min: int | None = None) -> list[list[LogPart]]:
    """Cut large logs, given as path and size, into parts and put small ones together: a list for each task.

    There are at least ``tasks_min`` tasks if the logs are large enough for that.
    """
    size_wanted = PART_SIZE
    if tasks_min:
        size_wanted = max(min(PART_SIZE, sum(size for _, size in logs) // tasks_min), PART_SIZE_MIN)
    tasks: list[list[LogPart]] = []
    room = 0
    for path, size in logs:
        count = max(-(-size // size_wanted), 1)
        cuts = [size * index // count for index in range(count)]
        ends: list[int | None] = [*cuts[1:], None]
        for first, end in zip(cuts, ends, strict=True):
            if room < size // count or not tasks:
                tasks.append([])
                room = size_wanted
            tasks[-1].append(LogPart(path, first, end))
            room -= max(size // count, PART_SIZE_MIN // 64)
    return tasks


def _local(path: str) -> str:
    if path.startswith(_FILE_SCHEME):
        return os.path.normpath("/" + path.removeprefix(_FILE_SCHEME).lstrip("/"))
    if "://" in path:
        raise InvalidConfig(
            f"option path: {path!r} names another file system: mount it, or copy the logs, "
            "where every executor sees them"
        )
    return os.path.abspath(path)


def _logs_at(path: str, matched: bool) -> list[str]:
    if os.path.isdir(path):
        inner = os.path.join(path, CURRENT)
        folders = [folder for folder in (path, inner) if os.path.isdir(folder)]
        return sorted(
            os.path.join(folder, name) for folder in folders for name in os.listdir(folder) if name.endswith(_SUFFIXES)
        )
    # A pattern such as `current/*` means the logs, not the index files beside them.
    if os.path.isfile(path) and (not matched or ".log" in os.path.basename(path)):
        return [path]
    return []
