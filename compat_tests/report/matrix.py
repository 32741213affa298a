"""Runs side by side: a row for each case, a column for each target."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from attrs import field, frozen

from compat_tests.judge.result import KnownDivergence, Result, Run
from compat_tests.judge.verdict import Verdict
from compat_tests.report.annotate import AnnotatedEvent, annotate
from compat_tests.report.rerun_command import rerun_command
from compat_tests.report.sections import Section, section
from compat_tests.report.verdict_style import STYLES, badness, worst

LINES_OF_A_PASS = 28
LINES_OF_THE_REST = 120
"""Lines of an exchange that a page shows: so that six targets and 300 cases fit in 5 MB."""


@frozen
class Column:
    """A target."""

    number: int
    run: Run

    @property
    def counts(self) -> list[tuple[Verdict, int]]:
        """How many cases have which verdict, in the order of :data:`STYLES`; a case counts by its worst result."""
        found: dict[str, list[Verdict]] = {}
        for result in self.run.results:
            found.setdefault(result.case, []).append(result.verdict)
        counted = Counter(worst(verdicts) for verdicts in found.values())
        return [(verdict, counted[verdict]) for verdict in STYLES]


@frozen
class Cell:
    """The verdicts on one target in one case."""

    column: Column
    verdicts: tuple[tuple[str, Verdict], ...]
    """Protocol version and verdict; one without a version if all agree, none if the case was not run."""

    @property
    def worst(self) -> Verdict | None:
        """The verdict that says most."""
        return worst(verdict for _, verdict in self.verdicts)


@frozen
class Outcome:
    """One outcome of a case in one protocol version; targets that share it are shown together."""

    dialect: str
    verdict: Verdict
    targets: tuple[str, ...]
    expected: str
    seen: str
    message: str
    known: KnownDivergence | None
    exchange: tuple[AnnotatedEvent, ...]
    left_out: int
    """Frames and remarks of the exchange that are not shown."""
    whose: str
    """The target with which the exchange was."""

    @property
    def difference(self) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
        """What was expected and what was seen, in stretches, each with whether it differs."""
        return difference(self.expected, self.seen)


@frozen
class Row:
    """A case."""

    case: Mapping[str, Any]
    section: Section
    cells: tuple[Cell, ...]
    outcomes: tuple[Outcome, ...]
    commands: tuple[tuple[str, str], ...]
    """Target, and how to run this case against it again."""


@frozen
class Matrix:
    """All runs of one role."""

    role: str
    columns: tuple[Column, ...]
    areas: Mapping[str, tuple[Row, ...]] = field(factory=dict)

    @property
    def used(self) -> list[Verdict]:
        """The verdicts that occur, and pass and fail in any case."""
        occur = {verdict for column in self.columns for verdict, count in column.counts if count}
        return [verdict for verdict in STYLES if verdict in {*occur, Verdict.PASS, Verdict.FAIL}]

    @property
    def features(self) -> dict[str, list[str]]:
        """Whether each target has a feature, by feature."""
        names = sorted({name for column in self.columns for name in column.run.features})
        return {name: [column.run.features.get(name, "") for column in self.columns] for name in names}


def matrices(runs: Iterable[Run]) -> list[Matrix]:
    """Return the runs of bookies and those of clients, side by side."""
    runs = list(runs)
    return [_matrix(role, [run for run in runs if run.role == role]) for role in sorted({run.role for run in runs})]


def _matrix(role: str, runs: Sequence[Run]) -> Matrix:
    columns = tuple(Column(number, run) for number, run in enumerate(runs))
    cases: dict[str, Mapping[str, Any]] = {}
    results: dict[tuple[str, int], list[Result]] = {}
    for column in columns:
        for case in column.run.cases:
            cases.setdefault(case["id"], case)
        for result in column.run.results:
            results.setdefault((result.case, column.number), []).append(result)
    areas: dict[str, list[Row]] = {}
    for case_id, case in sorted(cases.items()):
        of_case = {column.number: results.get((case_id, column.number), []) for column in columns}
        areas.setdefault(case["area"], []).append(_row(role, case, columns, of_case))
    return Matrix(role, columns, {area: tuple(rows) for area, rows in sorted(areas.items())})


def _row(role: str, case: Mapping[str, Any], columns: Sequence[Column], results: Mapping[int, Sequence[Result]]) -> Row:
    cells = tuple(_cell(column, results[column.number]) for column in columns)
    groups: dict[tuple[Any, ...], list[tuple[Column, Result]]] = {}
    for column in columns:
        for result in results[column.number]:
            groups.setdefault(_grouping_key(result), []).append((column, result))
    outcomes = sorted((_outcome(role, group) for group in groups.values()), key=_urgency)
    commands = [
        (cell.column.run.target.name, rerun_command(cell.column.run, case["id"])) for cell in _to_look_at(cells)
    ]
    return Row(case, section(case["section"]), cells, tuple(outcomes), tuple(each for each in commands if each[1]))


def _to_look_at(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cells that a reader may want to run again: those that do not pass, or the first if all do."""
    bad = [cell for cell in cells if cell.verdicts and cell.worst not in (Verdict.PASS, Verdict.NOT_CHECKED)]
    return bad or [cell for cell in cells if cell.verdicts][:1]


def _cell(column: Column, results: Sequence[Result]) -> Cell:
    verdicts = [(result.dialect, result.verdict) for result in results]
    if not verdicts and column.run.not_checked is not None:
        verdicts = [("", Verdict.NOT_CHECKED)]
    if len({verdict for _, verdict in verdicts}) == 1:
        verdicts = [("", verdicts[0][1])]
    return Cell(column, tuple(verdicts))


def _grouping_key(result: Result) -> tuple[Any, ...]:
    """Return a key that equal outcomes share; passes are equal even if their bytes differ."""
    if result.verdict is Verdict.PASS:
        return (result.dialect, str(result.verdict))
    events = [(event.line, event.sender, event.data, event.text) for event in result.exchange]
    return (
        result.dialect,
        str(result.verdict),
        result.expected,
        result.seen,
        result.message,
        result.note,
        tuple(events),
    )


def _urgency(outcome: Outcome) -> tuple[int, str]:
    return badness(outcome.verdict), outcome.dialect


def _outcome(role: str, group: Sequence[tuple[Column, Result]]) -> Outcome:
    column, result = group[0]
    shown, left_out = _last_events(
        annotate(result.exchange, role), LINES_OF_A_PASS if result.verdict is Verdict.PASS else LINES_OF_THE_REST
    )
    details = f": expected {result.expected}, seen {result.seen}"
    return Outcome(
        result.dialect,
        result.verdict,
        tuple(each.run.target.name for each, _ in group),
        result.expected,
        result.seen,
        result.note or result.message.removesuffix(details),
        result.known,
        shown,
        left_out,
        column.run.target.name if len(group) > 1 else "",
    )


def _last_events(shown: Sequence[AnnotatedEvent], lines_max: int) -> tuple[tuple[AnnotatedEvent, ...], int]:
    """Return the last frames of an exchange, where the verdict was reached, and how many came before them."""
    lines = 0
    for index in range(len(shown) - 1, -1, -1):
        lines += 1 + len(shown[index].rows)
        if lines > lines_max and index < len(shown) - 1:
            return tuple(shown[index + 1 :]), index + 1
    return tuple(shown), 0


def difference(expected: str, seen: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return both texts in stretches, each with whether the other lacks it."""
    left, right = expected.split(" "), seen.split(" ")
    expected_parts, seen_parts = list[tuple[str, bool]](), list[tuple[str, bool]]()
    for kind, left_start, left_end, right_start, right_end in SequenceMatcher(None, left, right, False).get_opcodes():
        if left_start < left_end:
            expected_parts.append((" ".join(left[left_start:left_end]), kind != "equal"))
        if right_start < right_end:
            seen_parts.append((" ".join(right[right_start:right_end]), kind != "equal"))
    return expected_parts, seen_parts
