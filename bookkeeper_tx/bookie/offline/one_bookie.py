"""Whether the directories that are named are those of one bookie: what another one has must not be changed with it."""

import os
from collections.abc import Sequence

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.errors import InvalidArgument, RefusedToStart
from protocol_specs.disk.cookie import FILE_NAME


def require_one_bookie(disk: Disk, currents: Sequence[str]) -> None:
    """Raise InvalidArgument if the cookies in these directories are not of one bookie, in one cluster.

    A cookie that cannot be read says nothing, and one of an old release nothing of its cluster.  Raises OSError.
    """
    ids: dict[str, str] = {}
    clusters: dict[str, str] = {}
    for current in dict.fromkeys(currents):
        path = os.path.join(current, FILE_NAME)
        try:
            cookie = Cookie.decode(disk.read(path), path) if disk.exists(path) else None
        except RefusedToStart:
            continue
        if cookie is not None:
            ids.setdefault(cookie.bookie_id, current)
            if cookie.instance_id:
                clusters.setdefault(cookie.instance_id, current)
    _check("bookie", ids)
    _check("a bookie of cluster", clusters)


def _check(what: str, found: dict[str, str]) -> None:
    if len(found) > 1:
        said = "; ".join(f"{current} is of {what} {name}" for name, current in found.items())
        raise InvalidArgument(f"{said}, by the cookies in them.  Name the directories of one bookie only")
