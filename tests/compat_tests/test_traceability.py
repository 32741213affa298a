"""Every published defect is shown by a case, or it is said why none can show it."""

import re
import tomllib
from pathlib import Path

import pytest

from compat_tests import catalogue

PATH = Path(catalogue.__file__).with_name("traceability.toml")
DATA = tomllib.loads(PATH.read_text(encoding="utf-8"))

NUMBERS = {number: [number] for number in DATA["defects"]} | {
    number: lesson["issues"] for number, lesson in DATA["lessons"].items()
}
"""Under which names a case may say that it shows a defect."""


@pytest.fixture(scope="module")
def provenances() -> dict[str, str]:
    return {case.id: case.provenance for case in catalogue.load()}


def _shown_by(names: list[str], provenances: dict[str, str]) -> list[str]:
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\d)" for name in names))
    return [case_id for case_id, provenance in provenances.items() if pattern.search(provenance)]


def test_all_numbers_are_there():
    wanted = {f"{kind}{number}" for kind in "DS" for number in range(1, 16)} | {f"L{n}" for n in range(1, 37)}
    assert set(NUMBERS) == wanted
    assert DATA["not_on_the_wire"].keys() <= wanted


@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_shown_by_a_case_or_it_is_said_why_not(number, provenances):
    shown_by = _shown_by(NUMBERS[number], provenances)
    reason = DATA["not_on_the_wire"].get(number)
    assert bool(shown_by) != bool(reason), f"{number}: shown by {shown_by}, and the reason why not is {reason}"


def test_a_number_is_not_taken_for_a_longer_one():
    assert _shown_by(["D1"], {"a": "D14", "b": "BP-62, D1: x", "c": "BD1"}) == ["b"]
    assert _shown_by(["BK#719"], {"a": "BK#7190", "b": "BK#719/#720"}) == ["b"]
