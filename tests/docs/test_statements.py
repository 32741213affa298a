"""Each statement of the documents has its state, and the files, tests and errata that it names are there."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from docs.drawing.statements import STATES, load

ROOT = Path(__file__).parents[2]
STATEMENTS = load(ROOT)
DOCUMENTS = {"bp-62": (1, 49), "protocol": (50, 116), "bp-34": (117, 175), "concepts": (176, 242), "plan": (243, 265)}
"""Document → its first and last statement."""
KEYS = {"number", "document", "says", "state", "note", "errata", "code", "tests"}

of_each = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: str(each["number"]))


@cache
def functions_in(path: str) -> dict[str, set[str]]:
    """The functions at the top of a file, which is not run for that, and the last names of their decorators."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {each.name: {_last_name(decorator) for decorator in each.decorator_list} for each in functions}


def _last_name(decorator: ast.expr) -> str:
    """``skip`` of ``@pytest.mark.skip`` and of ``@pytest.mark.skip("why")``."""
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(name).rpartition(".")[2]


@cache
def errata() -> set[tuple[str, str]]:
    """Section and first cell of each row of the errata."""
    found, section = set(), ""
    for line in (ROOT / "docs/protocol/errata.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("(sec-"):
            section = line.strip("()=")
        elif line.startswith("| "):
            found.add((section, line[2:].partition(" |")[0]))
    return found


def test_no_statement_is_missing_and_none_is_new() -> None:
    expected = [(number, name) for name, (first, last) in DOCUMENTS.items() for number in range(first, last + 1)]
    assert [(each["number"], each["document"]) for each in STATEMENTS] == expected


@of_each
def test_a_statement_has_its_state(statement: dict[str, Any]) -> None:
    assert set(statement) <= KEYS
    assert statement["says"]
    assert "|" not in statement["says"] + statement.get("note", "")
    assert statement["state"] in STATES


@of_each
def test_what_is_here_has_tests_that_are_run(statement: dict[str, Any]) -> None:
    tests = statement.get("tests", [])
    assert tests or statement["state"] not in ("works", "differs")
    for path, name in (test.split("::") for test in tests):
        decorators = functions_in(path)[name]
        if path.startswith("tests/"):
            assert name.startswith("test_")
            assert decorators.isdisjoint({"skip", "skipif", "xfail"})
        else:
            assert path.startswith("compat_tests/")
            assert "case" in decorators


@of_each
def test_its_code_exists(statement: dict[str, Any]) -> None:
    assert [path for path in statement.get("code", []) if not (ROOT / path).is_file()] == []


@of_each
def test_what_differs_stands_in_the_errata(statement: dict[str, Any]) -> None:
    assert "errata" in statement or statement["state"] != "differs"
    if "errata" in statement:
        section, row = statement["errata"]
        assert (section, row) in errata()
