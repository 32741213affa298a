"""What clients are told is looked at: a ledger that is gone, what takes too long, appends in one call."""

from typing import Any

import pytest

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.errors import NoSuchLedger
from tests.simulation.world.simulation import Simulation


def _violation(seeds: range) -> str:
    violations = (Simulation(seed).run().violation for seed in seeds)
    return str(next(each for each in violations if each is not None))


def test_a_ledger_that_is_gone_for_its_readers_only_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(reader: Any, *_: Any, **named: Any) -> Any:
        return reader.context.driver.fail(NoSuchLedger("as if it were deleted"))

    monkeypatch.setattr(LedgerReader, "read", read)
    assert "and it is said to be none: as if it were deleted" in _violation(range(10))


@pytest.mark.parametrize("name", ["read", "read_batch"])
def test_a_read_that_takes_too_long_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(reader: Any, *_: Any, **named: Any) -> Any:
        late = reader.context.driver.promise()
        reader.context.clock.callLater(30.0, late.callback, [])
        return late

    monkeypatch.setattr(LedgerReader, name, read)
    assert "took 30.0 s, and may take 28.5 s" in _violation(range(10))


def test_a_close_that_takes_longer_than_the_changes_of_the_metadata_let_it_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def close(writer: Any) -> Any:
        late = writer._driver.promise()
        writer._context.clock.callLater(31.0, late.callback, None)
        return late

    monkeypatch.setattr(LedgerWriter, "close", close)
    assert "took 31.0 s, and may take 30.5 s" in _violation(range(10))


def test_ids_of_appends_in_one_call_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def append_many(writer: Any, payloads: Any) -> Any:
        writer._queue.append_many(list(payloads), 1)
        return writer._driver.succeed(range(1))

    monkeypatch.setattr(LedgerWriter, "append_many", append_many)
    assert "appends have got the ids range(0, 1)" in _violation(range(10))
