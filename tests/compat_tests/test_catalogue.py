"""All cases of the suite are well formed, and patterns select among them."""

import re
from collections import Counter
from pathlib import Path

import pytest

from compat_tests.catalogue import load, select
from compat_tests.judge.case import CATALOGUE, Role
from compat_tests.judge.features import FEATURES

ROOT = Path(__file__).parents[2]
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
