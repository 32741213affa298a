"""bookkeeper_tx.entry.entry_format: whose entry it is, by its first bytes."""

import pytest

from bookkeeper_tx.entry.entry_format import V1, V2, format_of
from tests.bookie.seams import SCOPED, entry


@pytest.mark.parametrize("ledger_id", [0, 7, 2**63 - 1, SCOPED, SCOPED + 2**100])
def test_an_entry_starts_with_its_ledger(ledger_id: int) -> None:
    form = format_of(ledger_id)
    owner = entry(3, 60, ledger_id)[: form.entry_id_at]
    assert form.is_of(ledger_id, owner)
    assert form.ledger_of(owner) == ledger_id
    assert not form.is_of(ledger_id + 1, owner)


def test_no_entry_starts_with_these() -> None:
    assert V1.ledger_of(b"\xff" * 8) is None
    scoped = entry(3, 60, SCOPED)[: V2.entry_id_at]
    assert V2.ledger_of(b"\0" + scoped[1:]) is None
    assert V2.ledger_of(scoped[:1] + (7).to_bytes(16, "big")) is None
