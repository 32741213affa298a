"""bookkeeper_tx.bookie.operations.force_ledger: a force is answered after everything that was queued before it."""

from typing import Any

import pytest

from bookkeeper_tx.bookie.operations import force_ledger
from bookkeeper_tx.bookie.operations.force_ledger import ForceLedger
from protocol_specs.wire import status as statuses
from tests.bookie.crashing_disk import new_disk
from tests.bookie.journal.journals import new_journal, replayed
from tests.bookie.seams import EIO, KEY_RECORD, LEDGER, Client, Force, MemoryJournal, run_of


def test_an_unknown_ledger_is_forced_in_its_turn() -> None:
    journal, client = MemoryJournal(), Client()
    force: Any = ForceLedger(journal)  # type: ignore[arg-type]
    before: list[Any] = []
    journal.append([b"record"], before.append)
    force.serve(Force(99), client)
    assert client.take() == []
    journal.sync()
    assert (before, client.take(), journal.records) == ([None], [statuses.EOK], [b"record"])


def test_a_journal_that_fails_is_an_io_error() -> None:
    journal, client = MemoryJournal(), Client()
    force: Any = ForceLedger(journal)  # type: ignore[arg-type]
    force.serve(Force(), client)
    journal.sync(error=EIO)
    assert client.take() == [statuses.EIO]


def test_a_lost_add_is_its_own_ledgers_matter() -> None:
    journal, client = MemoryJournal(), Client()
    force: Any = ForceLedger(journal)  # type: ignore[arg-type]
    force.lost(7)
    force.serve(Force(7), client)
    force.serve(Force(8), client)
    journal.sync()
    assert client.take() == [statuses.EIO, statuses.EOK]


def test_too_many_that_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(force_ledger, "FORCES_MAX", 2)
    journal, client = MemoryJournal(), Client()
    force: Any = ForceLedger(journal)  # type: ignore[arg-type]
    for _ in range(3):
        force.serve(Force(), client)
    assert client.take() == [statuses.ETOOMANYREQUESTS]
    journal.sync()
    assert client.take() == [statuses.EOK] * 2
    force.serve(Force(), client)
    assert client.take() == []


def test_a_group_of_nothing_but_forces_leaves_a_journal_that_can_be_replayed() -> None:
    disk, client = new_disk(), Client()
    journal = new_journal(disk)
    journal.start()
    force: Any = ForceLedger(journal)
    synced: list[Any] = []
    for at in range(3):
        force.serve(Force(), client)
        journal.append([KEY_RECORD, run_of(at, 41).buffer], synced.append)
    assert (client.take(), synced) == ([statuses.EOK] * 3, [None] * 3)
    assert [found for found in replayed(disk)[0] if found[0] == LEDGER] == [(LEDGER, at) for at in range(3)]
