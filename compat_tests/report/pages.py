"""Keeps the generated pages about the suite up to date: ``python -m compat_tests.report.pages [--check]``.

They are the cases by area, the sections of the reference with their cases, the known divergences, and the table of the
last matrix; and with them the list of sections that an installed suite has instead of the pages.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from attrs import asdict

from compat_tests import catalogue
from compat_tests.judge import divergences
from compat_tests.judge.case import Case, Role
from compat_tests.judge.result import Run
from compat_tests.report.docs_sections import sections_of
from compat_tests.report.markdown import cell, table, verdict_table
from compat_tests.report.mutants import read_mutants
from compat_tests.report.published import MUTANTS, REMARK, RUNS
from compat_tests.report.runs import read_json
from compat_tests.report.sections import FILE, Section
from protocol_specs.rendering import command

_MADE = "<!-- made by python -m compat_tests.report.pages; what is written here is lost -->"
_CODES = "[the errata](../protocol/errata.md#the-codes-of-the-conformance-suite) explain codes such as D14 and S1"
_ROLES = {Role.BOOKIE: "Cases for bookies", Role.CLIENT: "Cases for clients"}


def published_cases() -> list[Case]:
    """Return the cases of the suite itself, without those that somebody made up for a test."""
    return [case for case in catalogue.load() if case.module.startswith("compat_tests.")]


def fresh(root: Path) -> dict[Path, str]:
    """Return the right texts of all generated files."""
    docs, cases = root / "docs", published_cases()
    sections = sections_of(docs)
    pages: dict[str, Callable[[], list[str]]] = {
        "cases": lambda: _cases(cases, sections),
        "sections": lambda: _sections(cases, sections),
        "divergences": lambda: _divergences(cases, sections),
        "matrix": lambda: _matrix(cases, root),
    }
    found = {docs / "conformance" / f"{name}.md": "\n".join(make()) + "\n" for name, make in pages.items()}
    listed = {each.label: {name: value for name, value in asdict(each).items() if name != "label"} for each in sections}
    text = json.dumps(listed, ensure_ascii=False, indent=1) + "\n"
    return {**found, root / "compat_tests" / "report" / FILE: text}


def stale(root: Path) -> list[str]:
    """Return the generated files that are not up to date, each with the reason."""
    wrong = []
    for path, text in fresh(root).items():
        if not path.is_file():
            wrong.append(f"{path.relative_to(root)} is missing")
        elif path.read_text(encoding="utf-8") != text:
            wrong.append(f"{path.relative_to(root)} is not what the suite says")
    return wrong


def write(root: Path) -> list[Path]:
    """Bring everything up to date; return what was written."""
    written = []
    for path, text in fresh(root).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written


# Cases ---------------------------------------------------------------------------------------------------------------


def _cases(cases: Sequence[Case], sections: Sequence[Section]) -> list[str]:
    by_label = {section.label: section for section in sections}
    lines = [_MADE, "", "# The cases", ""]
    lines += [
        f"{len(cases)} requirements, by area. [Another page](sections.md) lists them by section of the reference. The"
        f" last column says where a case comes from; {_CODES}.",
        "",
    ]
    for role, title in _ROLES.items():
        of_role = sorted((case for case in cases if case.role is role), key=lambda case: case.id)
        lines += [f"## {title}", ""]
        for area, group in groupby(of_role, key=lambda case: case.area):
            found = list(group)
            lines += [f"### {area}", ""]
            lines += table(["case", "level", "requirement", "section", "from"], [])
            lines += [_case_row(case, by_label.get(case.section)) for case in found]
            lines.append("")
    return lines[:-1]


def _case_row(case: Case, section: Section | None) -> str:
    dialects = "" if len(case.dialects) != 1 else f" ({case.dialects[0]})"
    where = _link(section) if section is not None else f"`{case.section}`"
    level = f"{case.level}{_releases(case)}"
    cells = (f"{case.id}{dialects}", level, cell(case.requirement), where, cell(case.provenance))
    return f"| {' | '.join(cells)} |"


def _releases(case: Case) -> str:
    return (f", from {case.since}" if case.since else "") + (f", to {case.until}" if case.until else "")


def _link(section: Section) -> str:
    anchor = re.sub(r"[^\w -]", "", section.title.lower()).replace(" ", "-")
    anchored = "" if section.title == section.page_title else f"#{anchor}"
    return f"[{cell(section.text)}](../{section.page}.md{anchored})"


def _sections(cases: Sequence[Case], sections: Sequence[Section]) -> list[str]:
    lines = [_MADE, "", "# From the reference to the cases", ""]
    lines += ["The cases that check each section of the reference; the links lead to their requirements.", ""]
    rows = []
    for section in sections:
        of_section = sorted((case for case in cases if case.section == section.label), key=lambda case: case.id)
        if of_section:
            rows.append((section, of_section))
    lines += table(["section", "cases"], [])
    lines += [f"| {_link(section)} | {_ids(found)} |" for section, found in rows]
    return lines


def _ids(cases: Iterable[Case]) -> str:
    parts = []
    for area, group in groupby(cases, key=lambda case: case.area):
        numbers = ", ".join(case.id.rpartition("-")[2] for case in group)
        parts.append(f"[{area}](cases.md#{area.lower()}) {numbers}")
    return "; ".join(parts)


# Divergences ---------------------------------------------------------------------------------------------------------


def _divergences(cases: Sequence[Case], sections: Sequence[Section]) -> list[str]:
    by_label = {section.label: section for section in sections}
    by_id = {case.id: case for case in cases}
    lines = [_MADE, "", "# Known divergences", ""]
    lines += [
        "Where an implementation is known to deviate from the requirement of a case. Such a result does not fail a run;"
        " the same case failing in another way does, and so does a case that passes although it is listed. The last"
        f" column names it; {_CODES}.",
        "",
    ]
    for folder in sorted(path for path in divergences.FOLDER.iterdir() if path.is_dir()):
        found = sorted(divergences.of_implementation(folder.name), key=lambda each: (each.case, each.since))
        lines += [f"## {folder.name.capitalize()}", ""]
        lines += table(["case", "requires", "releases", "does instead", "known as"], [])
        for each in found:
            requires = cell(by_id[each.case].requirement) if each.case in by_id else ""
            where = f"{cell(each.code)}, {_reference(each.reference, by_label)}" if each.reference else cell(each.code)
            name = each.case if len(each.dialects) == 2 else f"{each.case} ({each.dialects[0]})"
            lines.append(f"| {name} | {requires} | {_span(each)} | {cell(each.text)} | {where.strip(', ')} |")
        lines.append("")
    return lines[:-1]


def _reference(reference: str, by_label: Mapping[str, Section]) -> str:
    if reference in by_label:
        return _link(by_label[reference])
    return f"<{reference}>" if reference.startswith("http") else cell(reference)


def _span(divergence: divergences.Divergence) -> str:
    since = "" if divergence.since == "0" else divergence.since
    until = "" if divergence.until == "999" else divergence.until
    if since and since == until:
        return since
    return " ".join(filter(None, (since and f"from {since}", until and f"to {until}"))) or "all"


# The matrix ----------------------------------------------------------------------------------------------------------


def _matrix(cases: Sequence[Case], root: Path) -> list[str]:
    lines = [_MADE, "", "# The matrix", ""]
    if not (root / RUNS).is_file():
        return [*lines, "Not made yet: `python -m compat_tests.report.publish` makes it of runs."]
    runs = read_json(root / RUNS)
    days = sorted({run.started[:10] for run in runs})
    lines += [
        f"The verdicts on targets, as of {' and '.join(days)}. A case that was run in both protocol versions counts"
        " once, by the worse verdict. [What the verdicts mean](index.md#verdicts)."
        f"{_since_then(cases, runs)}",
        "",
        *verdict_table(runs),
        "",
        f"[The results that are not a plain pass]({RUNS.name}) are in the repository. The page of every case and target"
        " is [built on demand](reports.md#the-matrix-of-these-pages).",
    ]
    if (root / MUTANTS).is_file():
        mutants = read_mutants(root / MUTANTS)
        lines += ["", "## Mutants", ""]
        lines.append(
            f"{mutants.killed} of {len(mutants.mutants)} deliberate defects of our bookie and our client are found by a"
            f" case: {mutants.score}. {mutants.form}"
        )
        if mutants.survivors:
            lines += ["", *table(["not found", "what is broken"], [[m.name, m.sentence] for m in mutants.survivors])]
        if mutants.cases_that_kill_none:
            named = ", ".join(mutants.cases_that_kill_none)
            lines += ["", f"Cases that find none of them ({len(mutants.cases_that_kill_none)}): {named}."]
    return lines


def _since_then(cases: Sequence[Case], runs: Sequence[Run]) -> str:
    """Say how the suite has changed since the runs, if it has."""
    ids, run = {case.id for case in cases}, {case["id"]: case for each in runs for case in each.cases}
    changed = sum(REMARK in case for case_id, case in run.items() if case_id in ids)
    parts = [
        f"{count} {'case' if count == 1 else 'cases'} {what}"
        for count, what in (
            (changed, "got another text"),
            (len(ids - run.keys()), "came into the suite"),
            (len(run.keys() - ids), "left it"),
        )
        if count
    ]
    return f" Since then {', '.join(parts)}." if parts else ""


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` say which are stale; return the exit code."""
    root = Path(__file__).parent.parent.parent
    return command.run("compat_tests.report.pages", root, arguments, stale=stale, write=write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
