"""A run on a terminal, or in a log: progress, failures in full, and a table of verdicts."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console as Terminal
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from compat_tests.judge.recording import NOTE
from compat_tests.judge.result import Result, Run
from compat_tests.judge.verdict import Verdict
from compat_tests.report import annotate
from compat_tests.report.rerun_command import rerun_command
from compat_tests.report.sections import section
from compat_tests.report.verdict_style import STYLES

FRAMES_SHOWN = 4
"""Frames and remarks of a failed case that are shown, the last ones."""

ROWS_SHOWN = 24
"""Fields of a frame that are shown."""

HEX_WIDTH = 16
"""The widest column of hex digits, those of an id; names after longer bytes do not stand in line."""

LINES_SHOWN = 25
"""Results of one verdict that are shown in short."""

REASONS_SHOWN = 12
"""Reasons why cases are unsupported that are shown, the most common ones."""

LOG_WIDTH = 200
"""The width where there is no terminal: only very long lines are broken."""

IN_FULL = (Verdict.FAIL, Verdict.ERROR)

IN_SHORT = (Verdict.KNOWN_DIVERGENCE, Verdict.PASS_NONSTRICT, Verdict.NOT_REACHED, Verdict.NOT_CHECKED)


class Console:
    """Shows a run while it goes on, and its outcome."""

    def __init__(self, verbose: bool = False, docs_url: str = "", file: TextIO | None = None) -> None:
        """
        :param verbose: show where the suite itself failed
        :param docs_url: where the reference stands on the web
        :param file: standard output if not given
        """
        file = file or sys.stdout
        self._verbose, self._docs_url = verbose, docs_url
        self._out = Terminal(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)
        if not self._out.is_terminal:
            self._out.width = LOG_WIDTH
        self._counts: Counter[Verdict] = Counter()
        self._progress: Progress | None = None
        self._task = TaskID(0)

    # While it runs ---------------------------------------------------------------------------------------------------

    def begin(self, run: Run, count: int) -> None:
        """Say what is judged; ``count`` results will come."""
        self._counts.clear()
        target = run.target
        name = target.name if target.name.startswith(f"{run.role} ") else f"{run.role} {target.name}"
        how = f", {target.how}" if target.how not in ("", target.name) else ""
        self._out.print(f"{name}{how}: {count} to run, seed {run.seed}")
        if self._out.is_terminal:
            columns = (BarColumn(24), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
            counts = TextColumn("{task.fields[counts]}", markup=False)
            self._progress = Progress(*columns, counts, console=self._out, transient=True)
            self._task = self._progress.add_task("", total=count, counts="")
            self._progress.start()

    def result(self, result: Result) -> None:
        """Count a result, and show a failure at once."""
        self._counts[result.verdict] += 1
        if result.verdict in IN_FULL or self._verbose:
            self._out.print(_line(result))
        if self._progress is not None:
            self._progress.update(self._task, advance=1, counts=_counts_text(self._counts))

    def end(self, run: Run) -> None:
        """Show failures in full, the rest in short, and the table."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        cases = {case["id"]: case for case in run.cases}
        for result in run.results:
            if result.verdict in IN_FULL:
                self._in_full(run, result, cases.get(result.case, {}))
        self._in_short(run)
        if run.results:
            self._out.print()
            self._out.print(self._table(run, cases))
            self._by_reason(run, Verdict.UNSUPPORTED, REASONS_SHOWN)
        for line in _conclusion(run):
            self._out.print(line)

    # The outcome -----------------------------------------------------------------------------------------------------

    def _in_full(self, run: Run, result: Result, case: Any) -> None:
        style = STYLES[result.verdict]
        self._out.print()
        name = f"{result.case} {result.dialect}".rstrip()
        signed = (f"{style.sign} {style.word}", style.colour)
        self._out.print(Text.assemble(signed, " ", (name, "bold"), f"  {case.get('title', '')}"))
        where = section(case.get("section", ""))
        link = where.link(self._docs_url)
        for name, text in (
            ("requires", f"{case.get('requirement', '')} ({case.get('level', '')})" if case else ""),
            ("section", f"{where.text} ({where.label})" + (f" {link}" if link else "") if case else ""),
            ("sends", case.get("sends", "")),
            ("expected", result.expected or case.get("accepts", "")),
            ("seen", result.seen),
            ("error" if result.verdict is Verdict.ERROR else "in", _reason(result, self._verbose)),
            ("again", rerun_command(run, result.case)),
        ):
            if text:
                self._out.print(Text.assemble((f"  {name:9}", "dim"), text))
        self._exchange(result, run.role)

    def _exchange(self, result: Result, role: str) -> None:
        shown = annotate.annotate(result.exchange, role)
        if len(shown) > FRAMES_SHOWN:
            self._out.print(f"  … {len(shown) - FRAMES_SHOWN} frames before these; the reports have all")
        for each in shown[-FRAMES_SHOWN:]:
            style = {"suite": "cyan", "target": "yellow"}.get(each.sender, "dim")
            text = each.title if each.sender == NOTE else f"{each.sender}: {each.title}"
            self._out.print(Text(f"  {each.time_s:8.3f} s  {each.line}  {text}", style=style))
            for line in lines(each.rows[:ROWS_SHOWN]):
                self._out.print(f"    {line}")
            if len(each.rows) > ROWS_SHOWN:
                self._out.print(f"    … {len(each.rows) - ROWS_SHOWN} more fields")
            if each.broken:
                self._out.print(f"    {each.broken}")

    def _in_short(self, run: Run) -> None:
        for verdict in IN_SHORT:
            some = [result for result in run.results if result.verdict is verdict]
            if some:
                self._out.print()
            if verdict is Verdict.NOT_REACHED and len(some) > LINES_SHOWN:
                self._by_reason(run, verdict, LINES_SHOWN)
                continue
            for result in some[:LINES_SHOWN]:
                self._out.print(_line(result))
            if len(some) > LINES_SHOWN:
                self._out.print(f"  … and {len(some) - LINES_SHOWN} more {STYLES[verdict].word}; the reports have all")

    def _by_reason(self, run: Run, verdict: Verdict, at_most: int) -> None:
        reasons = Counter(_first_line(result.message) for result in run.results if result.verdict is verdict)
        style, shown = STYLES[verdict], reasons.most_common(at_most)
        for reason, number in shown:
            self._out.print(Text(f"{style.sign} {number} {style.word}  {reason}".rstrip(), style=style.colour))
        if len(reasons) > len(shown):
            left = reasons.total() - sum(number for _, number in shown)
            self._out.print(f"  … and {left} more {style.word} for {len(reasons) - len(shown)} other reasons")

    def _table(self, run: Run, cases: dict[str, Any]) -> Table:
        areas: dict[str, Counter[Verdict]] = {}
        for result in run.results:
            area = cases.get(result.case, {}).get("area") or result.case.split("-")[1]
            areas.setdefault(area, Counter())[result.verdict] += 1
        used = [verdict for verdict in STYLES if run.counts[verdict]]
        table = Table("area", box=None, pad_edge=False)
        for verdict in used:
            table.add_column(STYLES[verdict].word, justify="right", header_style=STYLES[verdict].colour)
        rows = sorted(areas.items())
        for area, counts in [*rows, ("all", run.counts)] if len(rows) > 1 else rows:
            table.add_row(area, *(str(counts[verdict] or "") for verdict in used))
        return table


def lines(rows: Sequence[annotate.Row]) -> list[str]:
    """Return fields as lines: offset, bytes, name and value."""
    width = min(max((len(row.hex) for row in rows), default=0), HEX_WIDTH)
    found = []
    for row in rows:
        named = f"{'  ' * row.depth}{row.name}  " if row.name else ""
        found.append(f"{row.offset:5}  {row.hex:{width}}  {named}{row.value}".rstrip())
    return found


def _line(result: Result) -> Text:
    style = STYLES[result.verdict]
    name = f"{result.case} {result.dialect}".rstrip()
    reason = f"{result.known.code}: {result.known.text}" if result.known else result.message or result.note
    text = f"  {_first_line(reason)}".rstrip()
    return Text.assemble((f"{style.sign} {style.word:11}", style.colour), " ", (name, "bold"), text)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _reason(result: Result, verbose: bool) -> str:
    """Return the thing that was compared; for a fault of the suite one line, or with ``verbose`` the traceback."""
    if result.verdict is not Verdict.ERROR:
        return result.message.removesuffix(f": expected {result.expected}, seen {result.seen}")
    if not result.note:
        return result.message
    return f"{result.message}\n{result.note}" if verbose else f"{result.message} (--verbose shows where)"


def _counts_text(counts: Counter[Verdict]) -> str:
    return "  ".join(
        f"{style.sign} {counts[verdict]} {style.word}" for verdict, style in STYLES.items() if counts[verdict]
    )


def _conclusion(run: Run) -> list[str]:
    """Return the last lines: the outcome, and its meaning."""
    sentences = []
    if run.not_checked is not None:
        sentences.append(f"not checked: {run.not_checked}")
    if run.interrupted:
        sentences.append("interrupted: what is missing was not run")
    if run.results:
        sentences.append(f"{_counts_text(run.counts)}  in {run.duration_s:.1f} s, seed {run.seed}")
    if run.not_checked is None and not run.results:
        sentences.append("nothing was run")
    elif run.results and run.nothing_supported:
        sentences.append("nothing is supported: no case says that the target conforms")
    return sentences
