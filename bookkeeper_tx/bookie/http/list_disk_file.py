"""``/api/v1/bookie/list_disk_file``: the names of the bookie's files."""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer
from bookkeeper_tx.bookie.http.call import Call

INDEX_DEPTH_MAX: Final = 5
"""Directories that an index file of a scoped ledger is below."""

_ENDINGS: Final = {"journal": (".txn",), "entrylog": (".log", ".log128"), "index": (".idx",)}


async def list_disk_file(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Not found method. Should be GET method", NOT_FOUND)
    wanted = call.parameters.get("file_type", "")
    kinds = [wanted] if wanted in _ENDINGS else list(_ENDINGS)
    found = {}
    for kind in kinds:
        names = await bookie.threads.run(_listed, bookie.disk, _directories(bookie, kind), _ENDINGS[kind])
        found[f"{kind} files"] = "".join(f"{name}\t" for name in names)
    return await bookie.large_json(found)


def _directories(bookie: Administered, kind: str) -> Sequence[str]:
    if kind == "journal":
        return bookie.journal_directories
    return bookie.index_directories if kind == "index" else bookie.ledger_directories


def _listed(disk: Disk, directories: Sequence[str], endings: Sequence[str]) -> list[str]:
    names = (name for directory in directories for name in _names(disk, directory, INDEX_DEPTH_MAX))
    return sorted(name for name in names if name.endswith(tuple(endings)))


def _names(disk: Disk, directory: str, depth: int) -> Iterator[str]:
    """Give the names below ``directory``; files come and go meanwhile."""
    try:
        names = disk.list_directory(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if "." in name:
            yield name
        elif depth:
            yield from _names(disk, os.path.join(directory, name), depth - 1)
