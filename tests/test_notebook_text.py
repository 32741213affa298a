"""The tutorial notebook as a file; ``tests/integration/published/test_notebook.py`` executes it."""

import ast
import configparser
import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/spark-tutorial.ipynb"

INSTALL = re.compile(r"pip install '\.\[([\w,]+)\]'")
LINK = re.compile(r"\]\(([^)#\s]+)\)")
REQUIREMENT = re.compile(r"^[\w-]+", re.MULTILINE)


@pytest.fixture(scope="module")
def notebook() -> nbformat.NotebookNode:
    return nbformat.read(PAGE, as_version=nbformat.NO_CONVERT)


@pytest.fixture(scope="module")
def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def prose(notebook: nbformat.NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def extras_of(prose: str) -> list[str]:
    """Return the extras that the page says to install."""
    (extras,) = INSTALL.findall(prose)
    return str(extras).split(",")


def test_jupyter_loads_it_as_it_is(notebook: nbformat.NotebookNode) -> None:
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"


def test_nothing_of_a_run_is_stored(code: list[nbformat.NotebookNode]) -> None:
    assert [cell.id for cell in code if cell.outputs or cell.execution_count is not None or cell.metadata] == []


def test_it_names_no_place_on_the_machine_it_was_written_on() -> None:
    text = PAGE.read_text(encoding="utf-8")
    private = {str(ROOT), str(Path.home()), "/home/", "/root/", "/Users/", "/tmp/"} - {"/"}
    assert [place for place in sorted(private) if place in text] == []


def test_the_extras_that_it_installs_have_what_its_cells_import(code: list[nbformat.NotebookNode], prose: str) -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    known = settings["options.extras_require"]
    installed = {name for extra in extras_of(prose) for name in REQUIREMENT.findall(known[extra])}
    nodes = [node for cell in code for node in ast.walk(ast.parse(cell.source))]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    imported = {str(module).partition(".")[0] for module in modules} - sys.stdlib_module_names - {"bookkeeper_tx"}
    assert imported
    assert imported <= installed


def test_it_is_opened_by_the_name_that_it_has(prose: str) -> None:
    assert f"jupyter lab {PAGE.relative_to(ROOT)}\n" in prose


def test_links_lead_to_pages(prose: str) -> None:
    links = LINK.findall(prose)
    assert links
    assert [link for link in links if not (PAGE.parent / link).is_file()] == []
