"""The public API and what it loads."""

import subprocess
import sys

import pytest

import bookkeeper_tx

HANDLES = {"LedgerEntries", "LedgerReader", "LedgerWriter", "LedgerWriterAdv"}
WITHOUT_TWISTED = sorted(set(bookkeeper_tx.__all__) - {"BookKeeper"} - HANDLES)


@pytest.mark.parametrize("name", bookkeeper_tx.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(bookkeeper_tx, name).__name__ == name
    assert name in dir(bookkeeper_tx)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Bookkeeper'"):
        bookkeeper_tx.Bookkeeper  # noqa: B018


def test_the_blocking_client_loads_no_twisted() -> None:
    program = (
        "import sys, bookkeeper_tx\n"
        f"for name in {WITHOUT_TWISTED!r}: getattr(bookkeeper_tx, name)\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('twisted', 'kazoo', 'rich')))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_client_on_asyncio_loads_no_twisted() -> None:
    program = (
        "import sys, bookkeeper_tx.aio, bookkeeper_tx.aio.replicated_log\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('twisted', 'zope', 'kazoo', 'rich')))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
