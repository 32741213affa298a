"""Every name of ours in the tables for those who know other clients is there, in each face."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

import bookkeeper_tx
from bookkeeper_tx import aio, blocking
from bookkeeper_tx.blocking import handles
from bookkeeper_tx.client import ledger_reader, ledger_writer

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "from-other-clients.md"

TWISTED = {"bk": bookkeeper_tx.BookKeeper, "writer": bookkeeper_tx.LedgerWriter, "reader": bookkeeper_tx.LedgerReader}
ASYNCIO = {"bk": aio.BookKeeper, "writer": ledger_writer.LedgerWriter, "reader": ledger_reader.LedgerReader}
SCRIPTS = {"bk": blocking.BookKeeper, "writer": handles.LedgerWriter, "reader": handles.LedgerReader}


def _named() -> Iterator[tuple[str, str]]:
    """Yield each name of ours with the column that it stands in."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and not cells[0].startswith("in "):
            both, scripts = cells[1:]
            for column, cell in (("both", both), ("scripts", scripts)):
                for name in re.findall(r"`([^`]+)`", cell):
                    yield column, name


NAMES = sorted(set(_named()))


@pytest.mark.parametrize(("column", "name"), NAMES)
def test_a_name_is_there(column: str, name: str) -> None:
    for face in (TWISTED, ASYNCIO) if column == "both" else (SCRIPTS,):
        _check(name, face)


def test_the_tables_are_seen() -> None:
    assert len(NAMES) > 100


@pytest.mark.parametrize("name", ["bk.fly", "bk.create_ledger(fly=…)", "fly", "ClientConfig.fly", "Entry.fly"])
def test_a_name_that_is_not_there_is_noticed(name: str) -> None:
    for face in (TWISTED, ASYNCIO, SCRIPTS):
        with pytest.raises((AttributeError, AssertionError)):
            _check(name, face)


def _check(name: str, face: dict[str, Any]) -> None:
    path, _, arguments = name.rstrip(")").partition("(")
    head, _, member = path.partition(".")
    if not member:
        # A name of bookkeeper_tx, or an argument of create_ledger.
        parameters = inspect.signature(face["bk"].create_ledger).parameters
        assert path in parameters or getattr(bookkeeper_tx, path)
        return
    if head == "bookkeeper_tx":
        module, _, attribute = path.rpartition(".")
        assert getattr(importlib.import_module(module), attribute)
        return
    of = face.get(head) or getattr(bookkeeper_tx, head)
    fields = {field.name for field in attrs.fields(of)} if attrs.has(of) else set()
    found = member in fields or getattr(of, member)
    assert found
    if arguments:
        assert arguments.partition("=")[0] in inspect.signature(getattr(of, member)).parameters
