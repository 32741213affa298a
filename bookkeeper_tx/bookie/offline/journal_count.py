"""Whether all journals of a bookie are named: without one of them its entries would be told as missing."""

import os
from collections.abc import Sequence

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.directories import MARK
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.errors import InvalidArgument, RefusedToStart
from protocol_specs.disk.cookie import DIRECTORY
from protocol_specs.disk.cookie import FILE_NAME as COOKIE_NAME
from protocol_specs.disk.last_mark import file_name


def require_all_journals(disk: Disk, journals: Sequence[str], ledger_currents: Sequence[str]) -> None:
    """Raise InvalidArgument if ``journals`` are not as many as the bookie had, or in another order, or not apart.

    The cookies tell, or where there is none the names of the marks.  Raises OSError.
    """
    for current in ledger_currents:
        cookie = _cookie(disk, os.path.join(current, COOKIE_NAME))
        if cookie is None:
            _check_marks(current, disk.list_directory(current), len(journals))
            continue
        known = cookie.journal_directories.split(",")
        apart = set(known).isdisjoint(cookie.ledger_directories.split("\t")[1:])
        is_other_order = known != list(journals) and sorted(known) == sorted(journals)
        is_left_out = apart and not {os.path.join(each, DIRECTORY) for each in journals}.isdisjoint(ledger_currents)
        if len(known) != len(journals) or is_other_order or is_left_out:
            raise InvalidArgument(
                f"the cookie in {current} is of a bookie with {len(known)} journal directories, {', '.join(known)}; "
                f"given: {', '.join(journals)}.  Name all of them in this order, with --journal-dir or --config"
            )


def _cookie(disk: Disk, path: str) -> Cookie | None:
    """Return a cookie; None if there is none that can be read, or that names a journal."""
    try:
        found = Cookie.decode(disk.read(path), path) if disk.exists(path) else None
    except RefusedToStart:
        return None
    return found if found is not None and found.journal_directories else None


def _check_marks(current: str, names: Sequence[str], count: int) -> None:
    expected = {file_name(index, count) for index in range(count)}
    marks = {name for name in names if MARK.fullmatch(name)}
    if marks - expected:
        raise InvalidArgument(
            f"{os.path.join(current, min(marks - expected))} was written by a bookie with another number of journal "
            f"directories than {count}: name all of them, in the same order, with --journal-dir or --config"
        )
