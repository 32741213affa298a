"""Whether all ledger and index directories of a bookie are named: what is in the others would be told as missing."""

import os
from collections.abc import Sequence

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.errors import InvalidArgument, RefusedToStart
from protocol_specs.disk.cookie import FILE_NAME


def require_all_ledgers(
    disk: Disk, ledger_currents: Sequence[str], index_currents: Sequence[str], indexes_named: bool
) -> None:
    """Raise InvalidArgument if these directories are not as many as the cookies in them say, or not of those kinds.

    ``indexes_named``: those of the indexes are not by default those of the ledgers.  Raises OSError.
    """
    for current in dict.fromkeys((*ledger_currents, *index_currents)):
        path = os.path.join(current, FILE_NAME)
        try:
            cookie = Cookie.decode(disk.read(path), path) if disk.exists(path) else None
        except RefusedToStart:
            continue
        if cookie is None:
            continue
        _check("ledger", current, cookie.paths_of_ledgers, ledger_currents, "--data")
        if indexes_named:
            _check("index", current, cookie.paths_of_indexes, index_currents, "--index-dir")
        elif _real(cookie.paths_of_indexes) != _real(cookie.paths_of_ledgers):
            raise InvalidArgument(
                f"the cookie in {current} is of a bookie with index directories, {', '.join(cookie.paths_of_indexes)}: "
                "name them, with --index-dir or --config"
            )


def require_order(disk: Disk, ledger_currents: Sequence[str], index_currents: Sequence[str]) -> None:
    """Raise InvalidArgument if the cookie has a ledger or index directory at another place: by it ledgers are found.

    However a path is spelled, it is that of its directory.  One that the cookie does not have may have been moved.
    """
    path = os.path.join(ledger_currents[0], FILE_NAME)
    if not disk.exists(path):
        return
    cookie = Cookie.decode(disk.read(path), path)
    _check_order("ledger", path, cookie.paths_of_ledgers, ledger_currents)
    _check_order("index", path, cookie.paths_of_indexes, index_currents)


def _real(paths: Sequence[str]) -> list[str]:
    return sorted(map(os.path.realpath, paths))


def _check_order(kind: str, path: str, known: Sequence[str], currents: Sequence[str]) -> None:
    places = {os.path.realpath(directory): at for at, directory in enumerate(known)}
    given = [os.path.realpath(os.path.dirname(current)) for current in currents]
    if any(places.get(directory, at) != at for at, directory in enumerate(given)):
        raise InvalidArgument(f"name the {kind} directories in the order of the cookie {path}: {','.join(known)}")


def _check(kind: str, current: str, known: Sequence[str], given: Sequence[str], option: str) -> None:
    if known and len(known) != len(given):
        raise InvalidArgument(
            f"the cookie in {current} is of a bookie with {len(known)} {kind} directories, {', '.join(known)}; given: "
            f"{', '.join(map(os.path.dirname, given))}.  Name all of them, with {option} or --config"
        )
