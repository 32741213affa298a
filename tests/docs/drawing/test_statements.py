"""The tables of statements say the state of each, and lead to the errata."""

from pathlib import Path

import pytest

from docs.drawing.statements import DATA, counts, statements

ERRATA = "(sec-errata-bp62)=\n## Batch read (X)\n\n| it says | in fact |\n|---|---|\n| a | b |\n"
SECTION = "statements-x"  # no name that a page has
PAGE = f"(sec-{SECTION})=\n## X: batch read\n"
STATEMENTS = """
[[statement]]
number = 1
document = "x"
says = "one"
state = "works"
code = ["a.py"]
tests = ["tests/test_a.py::test_one", "tests/test_a.py::test_two"]

[[statement]]
number = 2
document = "x"
says = "two"
state = "differs"
note = "three"
errata = ["sec-errata-bp62", "a"]

[[statement]]
number = 3
document = "y"
says = "four"
state = "absent"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in ((DATA, STATEMENTS), ("docs/protocol/errata.md", ERRATA), ("docs/protocol/statements.md", PAGE)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_document_has_a_row_for_each_of_its_statements(root: Path) -> None:
    assert statements(root, "x").splitlines()[2:] == [
        "| 1 | one | works | `a.py` | `tests/test_a.py::test_one` `tests/test_a.py::test_two` |",
        "| 2 | two | differs, see [errata](errata.md#batch-read-x); three |  |  |",
    ]


def test_states_are_counted(root: Path) -> None:
    assert counts(root, "x").splitlines()[2:] == [
        "| [X: batch read](#x-batch-read) | 1 | 1 | 0 | 0 | 2 |",
        "| all | 1 | 1 | 1 | 0 | 3 |",
    ]
