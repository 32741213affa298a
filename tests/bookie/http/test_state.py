"""bookkeeper_tx.bookie.http.state, state_readonly, is_ready: whether clients are served, and what they may write."""

from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.http.administered import Phase
from tests.bookie.http.asked import Asked

READONLY = "/api/v1/bookie/state/readonly"


def state_of(asked: Asked) -> tuple[bool, bool, bool, bool]:
    found = asked.ask("/api/v1/bookie/state").json
    assert list(found) == ["running", "readOnly", "shuttingDown", "availableForHighPriorityWrites"]
    running, read_only, shutting_down, high_priority = found.values()
    return running, read_only, shutting_down, high_priority


@pytest.mark.parametrize(
    ("phase", "status", "state"),
    [
        (Phase.STARTING, 503, (False, False, False, False)),
        (Phase.SERVING, 200, (True, False, False, True)),
        (Phase.STOPPING, 503, (False, False, True, False)),
    ],
)
def test_only_a_bookie_that_serves_is_ready(asked: Asked, phase: Phase, status: int, state: Any) -> None:
    asked.bookie.phase = phase
    assert asked.ask("/api/v1/bookie/is_ready").status == status
    assert state_of(asked) == state


def test_a_bookie_that_cannot_write_takes_no_adds_of_recovery_either(asked: Asked) -> None:
    asked.bookie.availability.note(Reason.DISK_FULL, True)
    assert state_of(asked) == (True, True, False, True)
    asked.bookie.availability.note(Reason.RESERVE_USED, True)
    assert state_of(asked) == (True, True, False, False)
    assert asked.ask("/api/v1/bookie/is_ready").status == 200


def test_an_operator_makes_it_read_only_and_writable_again(asked: Asked) -> None:
    assert asked.ask(READONLY).json == {"readOnly": False}
    assert asked.put(READONLY, {"readOnly": True}).json == {"readOnly": True}
    assert asked.bookie.availability.refuses_add(high_priority=False)
    assert not asked.bookie.availability.refuses_add(high_priority=True)
    assert asked.put(READONLY, {}).json == {"readOnly": False}


def test_what_the_disk_says_is_not_overruled(asked: Asked) -> None:
    asked.bookie.availability.note(Reason.DISK_FULL, True)
    assert asked.put(READONLY, {"readOnly": False}).json == {"readOnly": True}


def test_what_an_operator_wants_stays_when_the_disk_has_space_again(asked: Asked) -> None:
    availability = asked.bookie.availability
    availability.note(Reason.DISK_FULL, True)
    assert asked.put(READONLY, {"readOnly": True}).json == {"readOnly": True}
    availability.note(Reason.DISK_FULL, False)
    assert asked.ask(READONLY).json == {"readOnly": True}
    assert asked.put(READONLY, {"readOnly": False}).json == {"readOnly": False}


def test_a_bookie_that_may_not_be_read_only_stays_writable(asked: Asked) -> None:
    asked.bookie.availability = Availability(mode_enabled=False)
    refused = asked.put(READONLY, {"readOnly": True})
    assert (refused.status, refused.text) == (
        400,
        "Bookie is disabled ReadOnly mode, cannot transit to readOnly mode",
    )
    assert asked.put(READONLY, {"readOnly": False}).json == {"readOnly": False}


def test_a_body_without_end_is_refused(asked: Asked) -> None:
    for path in (READONLY, "/api/v1/bookie/gc", "/api/v1/config/server_config"):
        assert asked.ask(path, "PUT", b"[" * 50_000).status == 400


def test_a_bookie_that_is_configured_to_be_read_only_stays_so(tmp_path: Path) -> None:
    asked = Asked(tmp_path, read_only=True)
    refused = asked.put(READONLY, {"readOnly": False})
    assert (refused.status, refused.text) == (
        400,
        "Bookie is in forceReadOnly mode, cannot transit to writable mode",
    )
    assert asked.put(READONLY, {"readOnly": True}).json == {"readOnly": True}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"readOnly": "x"}', b'{"readOnly": 1}', b'{"other": true}'])
def test_a_body_that_is_no_state_changes_nothing(asked: Asked, body: bytes) -> None:
    assert asked.ask(READONLY, "PUT", body).status == 500
    assert not asked.bookie.availability.read_only
