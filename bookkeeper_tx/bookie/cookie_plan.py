"""Which cookies are to be written before a bookie may serve: none, the first ones, or those of new directories.

New directories are taken in this order, each step durable before the next: their own cookies, those of the directories
that are there, that of the metadata store, which Java writes last, too.  So a crash leaves what fits the former
configuration, or what the next start completes; and whatever directory may have entries is named by cookies elsewhere.
"""

import os
from collections.abc import Collection, Mapping

from attrs import frozen

from bookkeeper_tx.bookie.cookie import Cookie, CookiesDiffer
from bookkeeper_tx.errors import RefusedToStart


@frozen
class CookiePlan:
    """The cookies to write before the bookie may serve: the files first, in this order, then the one in the store."""

    data: bytes
    files: tuple[str, ...] = ()
    to_store: bool = False


def plan_cookie(
    expected: Cookie,
    stored: bytes | None,
    files: Mapping[str, bytes | None],
    filled: Collection[str] = (),
    expands: bool = False,
    homes: bool = False,
) -> CookiePlan:
    """Compare ``expected`` with the cookies found; return those to write: at the first start all of them.

    ``stored`` is the metadata store's cookie; ``files`` maps each cookie's path to its content or None; ``filled`` are
    those of them whose directories hold more than cookies; ``expands`` says whether new, empty ledger and index
    directories are taken; ``homes``, that a ledger is found by the number and the order of the directories.  Raises
    RefusedToStart, as CookiesDiffer if a loss may be the reason.
    """
    expands = expands and stored is not None
    found = {path: Cookie.decode(data, path) for path, data in files.items() if data is not None}
    missing = tuple(path for path in files if path not in found)
    if homes:
        in_files = [(cookie, f"the cookie in {path}") for path, cookie in found.items()]
        in_store = [] if stored is None else [(Cookie.decode(stored, "the metadata store"), "the metadata store")]
        for cookie, source in (*in_store, *in_files):
            _check_homes(expected, cookie, source)
    for path, cookie in found.items():
        expected.verify(cookie, path, expands)
    if stored is None:
        if filled:
            raise RefusedToStart(
                f"the directories hold data, but the metadata store does not know bookie {expected.bookie_id}: "
                "check that the metadata URI is that of their cluster"
            )
        # No cookie anywhere, or a first start that did not get to its end: the same bytes go everywhere.
        first = next((data for data in files.values() if data is not None), None)
        return CookiePlan(first or expected.encode(), missing, True)
    kept = Cookie.decode(stored, "the metadata store")
    expected.verify(kept, "the metadata store", expands)
    new = [path for path in files if not kept.has_directory(_owner(path))] if expands else []
    # Cookies of other new directories do not count: they are written before all are there.
    old = [kept, *(cookie for path, cookie in found.items() if path not in new)]
    for path in missing:
        if path not in new or any(cookie.has_directory(_owner(path)) for cookie in old):
            raise CookiesDiffer(
                f"the metadata store knows bookie {expected.bookie_id}, but there is no cookie {path}: the directory "
                "is empty or not this bookie's.  Bring back its data; or, if it is lost, let the cluster recover it "
                "from other bookies and delete the cookie in the metadata store"
            )
    for path in new:
        if path in filled:
            raise RefusedToStart(f"{_owner(path)} is new, but holds data: storage expands to empty directories only")
    if not missing and all(expected.is_same(each, expands) for each in (kept, *found.values())):
        return CookiePlan(stored)
    data = expected.encode()
    return CookiePlan(data, (*missing, *(path for path in found if files[path] != data)), stored != data)


def _check_homes(expected: Cookie, found: Cookie, source: str) -> None:
    """Raise RefusedToStart if a ledger that is here would be looked for in another directory.

    A directory in the place of one that is gone is another matter: nobody finds there what is elsewhere.
    """
    if expected.bookie_id != found.bookie_id:
        return
    for kind, ours, theirs in (
        ("ledgerDirectories", expected.paths_of_ledgers, found.paths_of_ledgers),
        ("indexDirectories", expected.paths_of_indexes, found.paths_of_indexes if found.names_indexes else []),
    ):
        places = {path: at for at, path in enumerate(theirs)}
        if theirs and (len(ours) != len(theirs) or any(places.get(path, at) != at for at, path in enumerate(ours))):
            raise RefusedToStart(
                f"DbLedgerStorage finds a ledger by the number and the order of {kind}: {source} has "
                f"{', '.join(theirs)}, here are {', '.join(ours)}.  Ledgers would be looked for where they are not, "
                "also with allowStorageExpansion, so name the directories as they were.  For more room make another "
                "bookie, or convert this one with bktx bookie convert, and expand that"
            )


def _owner(path: str) -> str:
    """Return the directory, as it is configured, of a cookie."""
    return os.path.dirname(os.path.dirname(path))
