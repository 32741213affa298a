"""The pages of the API: every public name is on one of them, and operations name their page of the protocol."""

import inspect
import pkgutil
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import bookkeeper_tx
from bookkeeper_tx import LedgerReader, LedgerWriter, LedgerWriterAdv
from bookkeeper_tx.client.core import Client
from bookkeeper_tx.client.write_handle import WriteHandle

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs/api").glob("*.md"))
SOURCES = sorted(path for room in ("bookkeeper_tx", "compat_tests") for path in (ROOT / room).rglob("*.py"))
HANDLES = (Client, WriteHandle, LedgerWriter, LedgerWriterAdv, LedgerReader)

SECTION = re.compile(r"\bdocs/([\w/-]+)\.md#(sec-[a-z0-9-]+)")
METADATA_ONLY = {"run", "start", "close", "delete_ledger", "list_ledgers", "ledger_metadata", "writable_bookies"}
"""Methods of the client that ask no bookie."""
AS_ANOTHER = {"read_unconfirmed", "read_batch_unconfirmed", "entries"}
"""Methods of a reader whose docstring refers to another one."""


def _documented() -> set[str]:
    directives = re.compile(r"^\.\. auto\w+:: ([\w.]+)", re.MULTILINE)
    return {name for page in PAGES for name in directives.findall(page.read_text(encoding="utf-8"))}


def _operations() -> list[Any]:
    found = []
    for handle in HANDLES:
        for name, value in vars(handle).items():
            if isinstance(value, FunctionType) and not name.startswith("_"):
                if (name in METADATA_ONLY and handle is Client) or name in AS_ANOTHER:
                    continue
                found.append(pytest.param(value, id=value.__qualname__))
    return found


@pytest.mark.parametrize("name", sorted(_documented()))
def test_every_name_on_a_page_is_there(name: str) -> None:
    assert pkgutil.resolve_name(name) is not None


def test_every_member_that_a_page_picks_is_there() -> None:
    picked = re.compile(
        r"^\.\. auto\w+:: ([\w.]+).*\n(?:   :(?!members: \w).*\n)*   :members: ((?:[\w, ]|\n      )+)", re.MULTILINE
    )
    found = {pick for page in PAGES for pick in picked.findall(page.read_text(encoding="utf-8"))}
    assert found
    for name, members in sorted(found):
        source = inspect.getsource(pkgutil.resolve_name(name))
        defined = r"(?:def |self\.|^    ){}\b"
        assert [each for each in re.findall(r"\w+", members) if not re.search(defined.format(each), source, re.M)] == []


@pytest.mark.parametrize("name", bookkeeper_tx.__all__)
def test_every_public_name_is_on_a_page(name: str) -> None:
    if name != "BookKeeperError":  # all errors are there, as members of their module
        assert f"bookkeeper_tx.{name}" in _documented()


def test_the_page_of_errors_is_made_of_their_module() -> None:
    assert "bookkeeper_tx.errors" in _documented()


@pytest.mark.parametrize("operation", _operations())
def test_every_operation_names_its_page_of_the_protocol(operation: FunctionType) -> None:
    assert re.search(r"docs/(protocol|formats)/[\w-]+\.md", inspect.getdoc(operation) or "")


def test_sections_stand_on_the_pages_that_docstrings_say() -> None:
    cited = {each for source in SOURCES for each in SECTION.findall(source.read_text(encoding="utf-8"))}
    assert len(cited) > 5
    for page, section in sorted(cited):
        assert f"({section})=" in (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")


def test_the_first_page_lists_the_others() -> None:
    index = (ROOT / "docs/api/index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.stem != "index" and f"({page.name})" not in index] == []
