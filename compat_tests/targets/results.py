"""The table at the end of a run: case by release, passed, failed or *not checked here*."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from compat_tests.targets.lockfile import RELEASES

PASSED = "passed"
FAILED = "failed"
NOT_CHECKED = "not checked"

#: The column of cases that are about no release.
NO_RELEASE = "any"

#: Of the outcomes of a case's parts, the worst counts.
_WORSE = {PASSED: 0, NOT_CHECKED: 1, FAILED: 2}


@attrs.define
class Results:
    """Outcomes as they come in; rendered once, at the end."""

    _cells: dict[tuple[str, str], str] = attrs.field(factory=dict)
    _reasons: dict[str, list[str]] = attrs.field(factory=dict)

    def record(self, case: str, release: str, outcome: str, reason: str = "") -> None:
        """Note an outcome; of several for one cell (set-up, call, tear-down) the worst stays."""
        before = self._cells.get((case, release), PASSED)
        self._cells[case, release] = max(before, outcome, key=_WORSE.__getitem__)
        if outcome == NOT_CHECKED:
            places = self._reasons.setdefault(reason or "no reason given", [])
            if f"{case} on {release}" not in places:
                places.append(f"{case} on {release}")

    def expect(self, case: str, releases: Iterable[str], reason: str) -> None:
        """Name releases that a case is also for; those without a record are *not checked here*."""
        for release in releases:
            if (case, release) not in self._cells:
                self.record(case, release, NOT_CHECKED, reason)

    @property
    def empty(self) -> bool:
        """Whether nothing was recorded."""
        return not self._cells

    def render(self) -> list[str]:
        """The lines of the table, then why cases were not checked, then the counts."""
        cases = sorted({case for case, _ in self._cells})
        columns = [r for r in (*RELEASES, NO_RELEASE) if any(release == r for _, release in self._cells)]
        width = max(len(case) for case in cases)
        lines = ["  ".join([" " * width, *(column.ljust(len(NOT_CHECKED)) for column in columns)]).rstrip()]
        for case in cases:
            cells = [self._cells.get((case, column), "-").ljust(len(NOT_CHECKED)) for column in columns]
            lines.append("  ".join([case.ljust(width), *cells]).rstrip())
        for reason, places in sorted(self._reasons.items()):
            lines.append(f"not checked here ({len(places)}): {reason}")
        lines.append(", ".join(f"{self._count(outcome)} {outcome}" for outcome in (PASSED, FAILED, NOT_CHECKED)))
        return lines

    def _count(self, outcome: str) -> int:
        return sum(found == outcome for found in self._cells.values())
