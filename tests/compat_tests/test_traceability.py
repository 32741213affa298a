"""Every published defect is shown by a case, or has a reason why none can show it; the errata explain its code."""

import re
import tomllib
from itertools import groupby
from pathlib import Path

import pytest

from compat_tests import catalogue
from compat_tests.judge import divergences

PATH = Path(catalogue.__file__).with_name("traceability.toml")
DATA = tomllib.loads(PATH.read_text(encoding="utf-8"))

NUMBERS = {number: [number] for number in DATA["defects"]} | {
    number: lesson["issues"] for number, lesson in DATA["lessons"].items()
}
"""The names under which a case may say that it shows a defect."""

ERRATA = Path(__file__).parent.parent.parent / "docs/protocol/errata.md"
LEGEND = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in ERRATA.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [DSL]\d+ \|", line)
]
"""The rows of the errata that explain codes: first the code, last the cases that show it."""


@pytest.fixture(scope="module")
def provenances() -> dict[str, str]:
    return {case.id: case.provenance for case in catalogue.load()}


def _shown_by(names: list[str], provenances: dict[str, str]) -> list[str]:
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\d)" for name in names))
    return [case_id for case_id, provenance in provenances.items() if pattern.search(provenance)]


def _by_area(case_ids: list[str]) -> str:
    """Return case ids as the errata have them: ``BATCH 027; CBATCH 004, 007``."""
    parts = sorted(case_id.split("-")[1:] for case_id in case_ids)
    areas = groupby(parts, key=lambda part: part[0])
    return "; ".join(f"{area} {', '.join(number for _, number in group)}" for area, group in areas)


def test_all_numbers_are_there():
    counts = {"D": 15, "S": 16, "L": 36}
    wanted = {f"{kind}{number}" for kind, count in counts.items() for number in range(1, count + 1)}
    assert set(NUMBERS) == wanted
    assert DATA["not_on_the_wire"].keys() <= wanted


@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_shown_by_a_case_or_it_is_said_why_not(number, provenances):
    shown_by = _shown_by(NUMBERS[number], provenances)
    reason = DATA["not_on_the_wire"].get(number)
    assert bool(shown_by) != bool(reason), f"{number}: shown by {shown_by}, and the reason why not is {reason}"


def test_the_errata_have_one_line_for_each_code_in_order():
    assert [row[0] for row in LEGEND] == list(NUMBERS)


def test_the_errata_explain_every_code_that_cases_and_divergences_name(provenances):
    said = [*provenances.values(), *(divergence.code for divergence in divergences.of_implementation("java"))]
    assert {code for text in said for code in re.findall(r"(?<!\w)[DSL]\d+(?!\w)", text)} <= set(NUMBERS)


def test_the_errata_explain_every_name_of_a_divergence_and_its_cases():
    names = re.findall(r"^\| `([^`]+)` \|.* \| ([^|]+) \|$", ERRATA.read_text(encoding="utf-8"), re.M)
    found: dict[str, set[str]] = {}
    for each in divergences.of_implementation("java"):
        if not re.fullmatch(r"[DSL]\d+|(BK|PL)#\d+", each.code):
            found.setdefault(each.code, set()).add(each.case)
    assert dict(names) == {name: _by_area(list(cases)) for name, cases in found.items()}


@pytest.mark.parametrize("row", LEGEND, ids=lambda row: row[0])
def test_the_errata_name_the_cases_that_show_a_defect_and_the_issues_of_a_lesson(row, provenances):
    code, cases = row[0], row[-1]
    shown_by = _by_area(_shown_by(NUMBERS[code], provenances))
    assert cases == shown_by or (not shown_by and cases.startswith("none: "))
    if code in DATA["lessons"]:
        assert row[2] == ", ".join(NUMBERS[code])


def test_a_number_is_not_taken_for_a_longer_one():
    assert _shown_by(["D1"], {"a": "D14", "b": "BP-62, D1: x", "c": "BD1"}) == ["b"]
    assert _shown_by(["BK#719"], {"a": "BK#7190", "b": "BK#719/#720"}) == ["b"]
