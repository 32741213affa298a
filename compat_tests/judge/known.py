"""Divergences on record: which release of which implementation fails which case, and in what way.

Those of Java are in ``compat_tests/implementations/java/*.toml``; a user's own are in the feature file.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from compat_tests.judge.result import Known

FOLDER = Path(__file__).parent.parent / "implementations"

_FIELDS = {"case", "dialects", "since", "until", "code", "reference", "seen", "text"}


@frozen
class Divergence:
    """One case that some releases fail."""

    case: str
    code: str
    reference: str
    seen: str
    """Part of what is seen: another failure is not excused."""
    text: str
    dialects: tuple[str, ...] = ("V2", "V3")
    since: str = "0"
    until: str = "999"

    def concerns(self, release: str) -> bool:
        """Whether it is on record for this release; for any, if the release is not known."""
        return within(release, self.since, self.until)

    @property
    def known(self) -> Known:
        return Known(self.code, self.reference, self.text)


def within(release: str, since: str, until: str) -> bool:
    """Whether a release is one of those; any is, if it is not known.  ``until`` has all that begin with it."""
    number, last = _number(release), _number(until)
    return not release or (_number(since) <= number and number[: len(last)] <= last)


def of_implementation(name: str) -> list[Divergence]:
    """All that come with the suite for an implementation."""
    found: list[Divergence] = []
    for path in sorted((FOLDER / name).glob("*.toml")) if name else ():
        found += parse(tomllib.loads(path.read_text(encoding="utf-8")).get("divergence", ()), path.name)
    return found


def parse(entries: Iterable[Mapping[str, Any]], source: str) -> list[Divergence]:
    """Read the ``[[divergence]]`` tables of a file.  Raises ValueError naming the source and the case."""
    found = []
    for entry in entries:
        where = f"{source}: divergence of {entry.get('case', '(no case)')}"
        unknown = entry.keys() - _FIELDS
        if unknown:
            raise ValueError(f"{where}: no such field: {', '.join(sorted(unknown))}")
        values = dict(entry)
        values["dialects"] = tuple(values.get("dialects", ("V2", "V3")))
        values.setdefault("text", "")
        values.setdefault("code", "")
        try:
            found.append(Divergence(**values))
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from None
    return found


def lookup(divergences: Sequence[Divergence], case: str, dialect: str, release: str) -> Divergence | None:
    """The one on record, if there is one."""
    for each in divergences:
        if each.case == case and dialect in each.dialects and each.concerns(release):
            return each
    return None


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())
