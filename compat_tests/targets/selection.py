"""The releases that a case is for, and those of them on which it runs this time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import attrs

from compat_tests.targets.lockfile import RELEASES, release_number

#: The newest before batch read, and the newest of all.
MAIN_RELEASES = ("4.16.6", "4.18.0")


class DefaultReleases(Enum):
    """The releases on which a case runs by default, out of those that it is for."""

    NEWEST = "newest"
    """On the newest of them."""
    MAIN = "main"
    """On those of :data:`MAIN_RELEASES`."""


@attrs.frozen
class ReleaseSelection:
    """The releases that the command line or the environment asks for."""

    full: bool = False
    """Every case on every release it is for."""
    releases: tuple[str, ...] = ()
    """If not empty, exactly these, whatever the case says."""


def parse_releases(text: str) -> tuple[str, ...]:
    """``"4.9.2,4.18.0"`` as releases; raises ``ValueError`` for one that has no lock file."""
    releases = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [release for release in releases if release not in RELEASES]
    if unknown:
        raise ValueError(f"unknown BookKeeper releases {unknown}; there are {list(RELEASES)}")
    return releases


def applicable_releases(since: str | None = None, until: str | None = None) -> tuple[str, ...]:
    """The releases a case is for: from ``since`` to ``until``, both included, as ``"4.17"`` or ``"4.16.6"``."""
    lowest = release_number(since) if since else (0,)
    highest = release_number(until) if until else (999,)
    return tuple(r for r in RELEASES if lowest <= release_number(r) and release_number(r)[: len(highest)] <= highest)


def select_releases(
    case: Sequence[str], selection: ReleaseSelection, default: DefaultReleases = DefaultReleases.NEWEST
) -> tuple[str, ...]:
    """The releases on which a case that is for the releases ``case`` runs now."""
    if selection.releases:
        return tuple(release for release in case if release in selection.releases)
    if selection.full:
        return tuple(case)
    if default is DefaultReleases.NEWEST:
        return tuple(case[-1:])
    found = tuple(release for release in case if release in MAIN_RELEASES)
    if case and not found:
        raise ValueError(f"none of {MAIN_RELEASES} is among {case}")
    return found
