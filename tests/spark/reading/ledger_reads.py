"""Reading a range of the entries of a site, for tests."""

from typing import Any

import pytest

from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from tests.spark.bookies.stored_entries import PASSWORD, Site, payload_of

KINDS = pytest.mark.parametrize(("bookies", "write"), [(1, 1), (3, 3), (3, 2), (3, 1)])
"""Ensemble and write quorum: one bookie, replicated, striped, striped without a copy."""


def reader_of(site: Site, first: int, last: int, write: int | None = None, **options: Any) -> LedgerReader:
    return LedgerReader(site.channels(), site.ledger(first, last, write), PASSWORD, **options)


def read(reader: LedgerReader) -> dict[int, bytes]:
    """Return the payloads by entry id; the ids come in order, each once."""
    found: dict[int, bytes] = {}
    for run in reader.runs():
        assert run.digest_ok
        for entry_id, payload in enumerate(run.payloads(), run.first):
            assert entry_id > max(found, default=-1)
            found[entry_id] = payload
    return found


def payloads(first: int, last: int, size: int = 20) -> dict[int, bytes]:
    return {entry_id: payload_of(entry_id, size) for entry_id in range(first, last + 1)}
