"""Mutants: deliberate defects of a target, and the cases that find them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from compat_tests.report.runs import NotARun


@frozen
class Mutant:
    """One deliberate defect."""

    name: str
    role: str
    sentence: str
    """The behaviour that it breaks."""
    origin: str
    """``table``: made from a row of the tables of answers; ``hand``: written by hand."""
    killed_by: tuple[str, ...]
    """Ids of the cases that find it."""
    seconds: float = 0.0


@frozen
class Mutants:
    """All of them, and the cases that find none."""

    mutants: Sequence[Mutant]
    cases_that_kill_none: Sequence[str]
    full: bool = False
    """Whether each met all cases; otherwise it met those about it, and the first that found it ended its trial."""

    @property
    def killed(self) -> int:
        """How many are found."""
        return sum(bool(each.killed_by) for each in self.mutants)

    @property
    def survivors(self) -> list[Mutant]:
        """Those that no case finds."""
        return [each for each in self.mutants if not each.killed_by]

    @property
    def score(self) -> str:
        """The share that is found; 100 % is said of all only."""
        if not self.mutants:
            return "none tried"
        return f"{int(1000 * self.killed / len(self.mutants)) / 10:g} %"

    @property
    def form(self) -> str:
        """How they were tried."""
        if self.full:
            return "Each met all cases of its role, but those that restart a bookie only if it is about crashes."
        return "In the short form: each met the cases that are about it, and the first that found it ended its trial."

    def kills_of(self, case: str) -> list[str]:
        """Return the names of those that a case finds."""
        return [each.name for each in self.mutants if case in each.killed_by]

    def to_json(self, *, with_times: bool = True) -> dict[str, Any]:
        """Return the form that :func:`read_mutants` reads; the times of trials differ each time."""
        return {
            "full": self.full,
            "mutants": [
                asdict(each, filter=lambda field, _: with_times or field.name != "seconds") for each in self.mutants
            ],
            "cases_that_kill_none": [*self.cases_that_kill_none],
        }


def join(trials: Sequence[Mutants]) -> Mutants:
    """Return several trials, as one of bookies and one of clients, as one."""
    mutants = [mutant for trial in trials for mutant in trial.mutants]
    killing = {case for mutant in mutants for case in mutant.killed_by}
    idle = {case for trial in trials for case in trial.cases_that_kill_none} - killing
    return Mutants(mutants, tuple(sorted(idle)), all(trial.full for trial in trials))


def read_mutants(path: Path) -> Mutants:
    """Read the file that the trial of the mutants writes; raises :class:`NotARun` for what is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        mutants = [
            Mutant(
                each["name"],
                each.get("role", ""),
                each.get("sentence", ""),
                each.get("origin", ""),
                tuple(each["killed_by"]),
                float(each.get("seconds") or 0),
            )
            for each in data["mutants"]
        ]
        return Mutants(mutants, tuple(data.get("cases_that_kill_none", ())), data.get("full") is True)
    except OSError as error:
        raise NotARun(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NotARun(f"{path} says nothing of mutants that this version understands: {error!r}") from error
