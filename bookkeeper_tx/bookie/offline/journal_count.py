"""Whether all journals of a bookie are named: without one of them its entries would be told as missing."""

import os
from collections.abc import Sequence

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.directories import MARK
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.errors import InvalidArgument, RefusedToStart
from protocol_specs.disk.cookie import FILE_NAME as COOKIE_NAME
from protocol_specs.disk.last_mark import file_name


def require_all_journals(disk: Disk, journals: Sequence[str], ledger_currents: Sequence[str]) -> None:
    """Raise InvalidArgument if ``journals`` are not as many as the bookie had, or in another order.

    The cookies tell, or where there is none the names of the marks.  Raises OSError.
    """
    for current in ledger_currents:
        known = _in_cookie(disk, os.path.join(current, COOKIE_NAME))
        if known is None:
            _check_marks(current, disk.list_directory(current), len(journals))
        elif len(known) != len(journals) or (known != list(journals) and sorted(known) == sorted(journals)):
            raise InvalidArgument(
                f"the cookie in {current} is of a bookie with {len(known)} journal directories, {', '.join(known)}; "
                f"given: {', '.join(journals)}.  Name all of them in this order, with --journal-dir or --config"
            )


def _in_cookie(disk: Disk, path: str) -> list[str] | None:
    """Return the journal directories in a cookie; None if there is no cookie that can be read."""
    try:
        found = Cookie.decode(disk.read(path), path).journal_directories if disk.exists(path) else ""
    except RefusedToStart:
        return None
    return found.split(",") if found else None


def _check_marks(current: str, names: Sequence[str], count: int) -> None:
    expected = {file_name(index, count) for index in range(count)}
    marks = {name for name in names if MARK.fullmatch(name)}
    if marks - expected:
        raise InvalidArgument(
            f"{os.path.join(current, min(marks - expected))} was written by a bookie with another number of journal "
            f"directories than {count}: name all of them, in the same order, with --journal-dir or --config"
        )
