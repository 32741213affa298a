"""Divergences on record: which release of which implementation fails which case, and in what way.

Those of Java are in ``compat_tests/implementations/java/*.toml``; a user's own are in the feature file.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from compat_tests.judge.result import KnownDivergence

FOLDER = Path(__file__).parent.parent / "implementations"

_FIRST, _LAST = "0", "999"
_DIALECTS = ("V2", "V3")
_FIELDS = {"case", "dialects", "since", "until", "code", "reference", "seen", "text", "shows"}
_ALWAYS, _SOMETIMES = "always", "sometimes"


@frozen
class Divergence:
    """One case that some releases fail."""

    case: str
    code: str
    reference: str
    seen: str
    """A part of the failure's text: a failure without it is not excused."""
    text: str
    dialects: tuple[str, ...] = _DIALECTS
    since: str = _FIRST
    until: str = _LAST
    shows: str = _ALWAYS
    """``sometimes``: in a race, so that a pass is no surprise."""

    def concerns(self, release: str) -> bool:
        """Whether it is on record for this release; for any, if the release is not known."""
        return within(release, self.since, self.until)

    def certain(self, release: str) -> bool:
        """Whether it must show.

        It need not if it shows in a race only, or if only some releases have it and the target's is not known.
        """
        if self.shows == _SOMETIMES:
            return False
        return bool(release) or (self.since, self.until) == (_FIRST, _LAST)

    def excuses(self, failure: str) -> bool:
        """Whether a failure is the one on record: ``seen`` stands in it as whole words and numbers, 1 not in 17."""
        return re.search(rf"(?<!\w){re.escape(self.seen)}(?!\w)", failure) is not None

    @property
    def known(self) -> KnownDivergence:
        return KnownDivergence(self.code, self.reference, self.text)


def within(release: str, since: str, until: str) -> bool:
    """Whether a release lies in this range; a release that is not known lies in any.

    ``until`` includes all releases that begin with it, as 4.17 includes 4.17.3.
    """
    number, last = _number(release), _number(until)
    return not release or (_number(since) <= number and number[: len(last)] <= last)


def of_implementation(name: str) -> list[Divergence]:
    """The divergences that the suite itself has on record for an implementation."""
    found: list[Divergence] = []
    for path in sorted((FOLDER / name).glob("*.toml")) if name else ():
        found += parse(tomllib.loads(path.read_text(encoding="utf-8")).get("divergence", ()), path.name)
    return found


def parse(entries: Iterable[Mapping[str, Any]], source: str) -> list[Divergence]:
    """Read the ``[[divergence]]`` tables of a file.  Raises ValueError naming the source and the case."""
    found = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise ValueError(f"{source}: divergences are tables, as [[divergence]]")
        where = f"{source}: divergence of {entry.get('case', '(no case)')}"
        unknown = entry.keys() - _FIELDS
        if unknown:
            raise ValueError(f"{where}: no such field: {', '.join(sorted(unknown))}")
        values = {**entry, "dialects": tuple(entry.get("dialects", _DIALECTS))}
        if not set(values["dialects"]) <= set(_DIALECTS) or isinstance(entry.get("dialects"), str):
            raise ValueError(f"{where}: dialects are a list of {' and '.join(_DIALECTS)}")
        for name in entry.keys() - {"dialects"}:
            if not isinstance(values[name], str) or (name == "seen" and not values[name].strip()):
                raise ValueError(f"{where}: {name} = {values[name]!r} is no text")
        if values.get("shows", _ALWAYS) not in (_ALWAYS, _SOMETIMES):
            raise ValueError(f"{where}: shows is {_ALWAYS} or {_SOMETIMES}")
        values.setdefault("text", "")
        values.setdefault("code", "")
        try:
            found.append(Divergence(**values))
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from None
    return found


def lookup(divergences: Sequence[Divergence], case: str, dialect: str, release: str) -> list[Divergence]:
    """The divergences on record for a case; there may be several if the release is not known."""
    return [each for each in divergences if each.case == case and dialect in each.dialects and each.concerns(release)]


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())
