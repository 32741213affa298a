"""Each promise of the guides stands there as ``promises.toml`` has it, and the tests that hold it exist."""

import ast
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest

ROOT = Path(__file__).parents[2]
PROMISES = tomllib.loads(Path(__file__).with_name("promises.toml").read_text(encoding="utf-8"))["promise"]


@cache
def words_of(guide: str) -> str:
    return " ".join((ROOT / "docs" / "guides" / f"{guide}.md").read_text(encoding="utf-8").split())


@cache
def names_in(path: str) -> set[str]:
    """The functions of a file, which is not run for that."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def in_code(name: str) -> Any:
    """The constant, or the default of the field, that ``module:NAME`` or ``module:Class.field`` names."""
    module, _, attribute = name.partition(":")
    owner, _, field = attribute.partition(".")
    found = getattr(importlib.import_module(module), owner)
    return attrs.fields_dict(found)[field].default if field else found


def title(promise: dict[str, Any]) -> str:
    return f"{promise['guide']}: {promise['quote'][:50]}"


@pytest.mark.parametrize("promise", PROMISES, ids=title)
def test_a_promise_stands_in_its_guide_and_is_held(promise: dict[str, Any]) -> None:
    assert promise["quote"] in words_of(promise["guide"])
    assert promise["held_by"]
    for path, name in (test.split("::") for test in promise["held_by"]):
        assert name.startswith("test_")
        assert name in names_in(path)


@pytest.mark.parametrize("promise", [each for each in PROMISES if "numbers" in each], ids=title)
def test_its_numbers_are_those_of_the_code(promise: dict[str, Any]) -> None:
    assert {name: in_code(name) for name in promise["numbers"]} == promise["numbers"]


def test_no_promise_stands_there_twice() -> None:
    quotes = [(each["guide"], each["quote"]) for each in PROMISES]
    assert sorted(quotes) == sorted(set(quotes))


def section_of_the_bookie(heading: str) -> str:
    text = (ROOT / "docs" / "guides" / "bookie.md").read_text(encoding="utf-8")
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def guarantees() -> list[str]:
    """The bullets of the guide's guarantees, each in one line."""
    return [" ".join(each.split()) for each in section_of_the_bookie("Guarantees").split("\n- ")[1:]]


def refusals() -> list[str]:
    """The rows of the guide's table of refusals, without its head."""
    lines = section_of_the_bookie("When it refuses to start").splitlines()
    rows = [" ".join(each.split()) for each in lines if each.startswith("|")]
    assert rows[:2] == ["| reason given | why |", "|---|---|"]
    return rows[2:]


@pytest.mark.parametrize("guarantee", guarantees(), ids=lambda text: text[:50])
def test_each_guarantee_of_a_bookie_is_a_promise(guarantee: str) -> None:
    bold = re.match(r"\*\*(.+?)\*\*", guarantee)
    assert bold is not None
    assert any(each["quote"] in guarantee for each in PROMISES if each["guide"] == "bookie")


@pytest.mark.parametrize("refusal", refusals(), ids=lambda text: text[:50])
def test_each_reason_to_refuse_the_start_is_a_promise(refusal: str) -> None:
    assert any(each["quote"] in refusal for each in PROMISES if each["guide"] == "bookie")
