"""bookkeeper_tx.bookie.availability: what makes a bookie read-only, and who may change it."""

import pytest

from bookkeeper_tx.bookie.availability import Availability, ModeFixed, Reason


def test_an_operator_and_a_disk_do_not_undo_each_other() -> None:
    availability = Availability()
    availability.set_manual(True)
    availability.note(Reason.DISK_FULL, True)
    availability.note(Reason.DISK_FULL, False)
    assert availability.read_only
    availability.note(Reason.DISK_FULL, True)
    availability.set_manual(False)
    assert availability.read_only
    availability.note(Reason.DISK_FULL, False)
    assert not availability.read_only


def test_a_bookie_that_an_operator_has_made_read_only_takes_recovery() -> None:
    availability = Availability()
    availability.set_manual(True)
    assert availability.refuses_add(high_priority=False)
    assert not availability.refuses_add(high_priority=True)


def test_changes_are_told_once() -> None:
    availability, told = Availability(), list[str]()
    availability.changed = lambda: told.append("mode")
    availability.reasons_changed = lambda: told.append("reasons")
    for _ in range(2):
        availability.set_manual(True)
    availability.note(Reason.DISK_FULL, True)
    assert told == ["reasons", "mode", "reasons"]
    assert availability.reasons == {Reason.MANUAL, Reason.DISK_FULL}


def test_an_operator_cannot_go_against_the_configuration() -> None:
    forced, never = Availability(read_only=True), Availability(mode_enabled=False)
    with pytest.raises(ModeFixed, match="forceReadOnlyBookie"):
        forced.set_manual(False)
    assert forced.read_only
    with pytest.raises(ModeFixed, match="readOnlyModeEnabled"):
        never.set_manual(True)
    assert not never.read_only
