"""What every handle of a ledger has, on each face of the client."""

import pytest

import bookkeeper_tx
from bookkeeper_tx import aio
from bookkeeper_tx.blocking import handles
from bookkeeper_tx.client.ledger_handle import LedgerHandle
from bookkeeper_tx.model import LedgerId

HANDLES = [
    getattr(face, name)
    for face in (bookkeeper_tx, aio, handles)
    for name in ("LedgerWriter", "LedgerWriterAdv", "LedgerReader")
]


@pytest.mark.parametrize("handle", HANDLES, ids=lambda each: f"{each.__module__}.{each.__name__}")
@pytest.mark.parametrize(
    ("ledger_id", "scope_id"), [(7, 0), (LedgerId(7), 0), (LedgerId(7, -5), -5), (int(LedgerId(-7, 12)), 12)]
)
def test_a_handle_tells_the_scope_of_its_ledger(handle: type[LedgerHandle], ledger_id: int, scope_id: int) -> None:
    opened = handle.__new__(handle)
    opened.ledger_id = ledger_id
    assert opened.scope_id == scope_id
