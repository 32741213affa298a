"""Cases are well formed, and all of them."""

import re
from collections import Counter
from pathlib import Path

import pytest

from compat_tests.judge.case import CATALOGUE, Role, enter
from compat_tests.judge.catalogue import load, select, with_dependencies
from compat_tests.judge.features import FEATURES
from tests.compat_tests.judge.fake_environment import BASE, make_case

ROOT = Path(__file__).parents[3]
LABELS = set(
    re.findall(r"^\((sec-[\w-]+)\)=$", "\n".join(map(Path.read_text, ROOT.glob("docs/**/*.md"))), re.MULTILINE)
)
CASES = load()
_REQUIREMENT = re.compile(r"\b(MUST|SHOULD|MAY)\b")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_a_case_says_of_itself(case):
    assert case.section in LABELS
    assert _REQUIREMENT.search(case.requirement), "the requirement has no MUST, SHOULD or MAY"
    assert case.provenance, "where does the fact come from?"
    assert set(case.after) <= CATALOGUE.keys()
    assert {need.removesuffix("-{dialect}") for need in case.needs} <= FEATURES.keys() | {"batch-read"}
    assert f".{case.role}." in case.module


def test_no_two_cases_have_one_requirement():
    twice = [text for text, count in Counter(case.requirement for case in CASES).items() if count > 1]
    assert not twice


def test_there_are_cases_of_both_roles():
    assert {case.role for case in CASES} == set(Role)


def test_patterns():
    assert [case.id for case in select(CASES, ["BKW-BASE-*"], ["BKW-BASE-002"])] == ["BKW-BASE-001"]
    assert {case.area for case in select(CASES, ["BASE"])} == {"BASE"}
    assert {case.section for case in select(CASES, ["sec-framing"])} == {"sec-framing"}
    assert [case.id for case in select(CASES, ["bkw-base-002"])] == ["BKW-BASE-002"]
    with pytest.raises(ValueError, match="BKW-BSAE"):
        select(CASES, ["BKW-BSAE-*"])


def test_what_others_depend_on_comes_along():
    found = with_dependencies([CATALOGUE["BKW-BASE-002"]], BASE)
    assert [case.id for case in found] == ["BKW-BASE-001", "BKW-BASE-002"]


@pytest.mark.parametrize(
    ("options", "error"),
    [({"case_id": "BKW-X-1"}, "no case id"), ({"case_id": BASE}, "taken"), ({"site": "moon"}, "no site 'moon'")],
)
def test_a_case_that_is_not_well_formed_is_refused(options, error):
    with pytest.raises(ValueError, match=error):
        enter(make_case(**{"case_id": "BKW-X-001", **options}))
