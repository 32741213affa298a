"""The cookies of a bookie that checks its data: it may write those anew that are gone with a disk.

Java's ``DataIntegrityCookieValidation`` writes them over those of any bookie, of any cluster; here only over its own.
"""

from collections.abc import Mapping

from attrs import frozen

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.errors import RefusedToStart


@frozen
class Stamps:
    """Cookies to be written once the ledgers are marked: first that in the store, then the files.

    So a crash before the last of them leaves one that differs, and the next start begins anew.
    """

    data: bytes
    files: tuple[str, ...]
    version: int
    """The version of the cookie in the store."""
    reason: str
    """What is missing, or differs."""
    named: frozenset[str] = frozenset()
    """The directories that the cookies name which are there."""


def lost_cookies(
    expected: Cookie, stored: bytes, version: int, files: Mapping[str, bytes | None], stamped: bool
) -> Stamps | None:
    """Compare the cookies of a bookie that the store knows with ``expected``; return None if all of them fit.

    ``files`` maps each cookie's path to its content or None; ``stamped``: whether they may be written anew.  Raises
    RefusedToStart: if they may not, and for cookies of another bookie or another cluster.
    """
    if not expected.instance_id:
        raise RefusedToStart(
            "the cluster has no instance id, by which a wiped directory is told from that of another cluster: "
            "leave out dataIntegrityChecking"
        )
    named: set[str] = set()
    differing = [f"there is no cookie {path}" for path, data in files.items() if data is None]
    for source, data in [("the metadata store", stored), *files.items()]:
        if data is not None:
            found = Cookie.decode(data, source)
            named |= found.paths
            if (found.bookie_id, found.instance_id) != (expected.bookie_id, expected.instance_id):
                expected.verify(found, source)
            if expected.differing(found):
                differing.append(f"the cookie in {source} names other directories")
    if not differing:
        return None
    reason = "; ".join(differing)
    if not stamped:
        raise RefusedToStart(
            f"{reason}: bring back the data, or, if it is lost, set dataIntegrityStampMissingCookies=true, and this "
            f"bookie {expected.bookie_id} copies it from other bookies"
        )
    return Stamps(expected.encode(), tuple(files), version, reason, frozenset(named))


def refuse_left_out(expected: Cookie, left_out: Mapping[str, bytes]) -> None:
    """Raise RefusedToStart if a cookie in a directory that is not configured any more, by path, is of this bookie.

    What is in it is not lost, and would be erased from the indexes.
    """
    for path, data in left_out.items():
        found = Cookie.decode(data, path)
        if (found.bookie_id, found.instance_id) == (expected.bookie_id, expected.instance_id):
            raise RefusedToStart(
                f"{path} is a cookie of this bookie {expected.bookie_id}, but its directory is not configured any "
                "more, and what is in it would count as lost: name it again, or move it away"
            )
