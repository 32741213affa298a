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
) -> CookiePlan:
    """Compare ``expected`` with the cookies found; return those to write: at the first start all of them.

    ``stored`` is the metadata store's cookie; ``files`` maps each cookie's path to its content or None; ``filled`` are
    those of them whose directories hold more than cookies; ``expands`` says whether new, empty ledger and index
    directories are taken.  Raises RefusedToStart, as CookiesDiffer if a loss may be the reason.
    """
    expands = expands and stored is not None
    found = {path: Cookie.decode(data, path) for path, data in files.items() if data is not None}
    missing = tuple(path for path in files if path not in found)
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
    in_store = Cookie.decode(stored, "the metadata store")
    expected.verify(in_store, "the metadata store", expands)
    new = [path for path in files if not in_store.has_directory(_owner(path))] if expands else []
    # Cookies of other new directories do not count: they are written before all are there.
    old = [in_store, *(cookie for path, cookie in found.items() if path not in new)]
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
    if not missing and all(expected.is_same(each, expands) for each in (in_store, *found.values())):
        return CookiePlan(stored)
    data = expected.encode()
    return CookiePlan(data, (*missing, *(path for path in found if files[path] != data)), stored != data)


def _owner(path: str) -> str:
    """Return the directory, as it is configured, of a cookie."""
    return os.path.dirname(os.path.dirname(path))
