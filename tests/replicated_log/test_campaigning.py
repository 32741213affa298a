"""Campaigns: one candidate leads at a time, and when it is gone another one does."""

from typing import Any

import pytest

from bookkeeper_tx.errors import (
    InvalidArgument,
    MetadataCorrupt,
    MetadataUnavailable,
)
from tests.replicated_log.candidates import LEASE_S, Candidate, Election
from tests.replicated_log.logs import LOG, Logs


def test_the_first_candidate_leads_and_goes_on_to() -> None:
    election = Election("ann", "ben")
    assert election.leading == ["ann"]
    election.pass_time(10 * LEASE_S)
    assert election.leading == ["ann"]
    assert election.result(election.candidates[1], election.candidates[1].logs.leader(LOG)) == "ann"


def test_nobody_leads_where_nobody_stood_or_the_last_has_resigned() -> None:
    logs = Logs()
    assert logs.result(logs.logs().leader(LOG)) is None
    election = Election("ann")
    [ann] = election.candidates
    assert ann.leadership is not None
    election.result(ann, ann.leadership.resign())
    assert not ann.leads
    assert election.result(ann, ann.logs.leader(LOG)) is None


def test_who_dies_is_followed_when_its_lease_is_over() -> None:
    election = Election("ann", "ben")
    dead, _ = election.candidates
    election.pass_time(LEASE_S - 1.5, (dead,))
    assert election.result(election.candidates[1], election.candidates[1].logs.leader(LOG)) == "ann"
    election.pass_time(3.0, (dead,))
    assert "ben" in election.leading


def test_a_store_that_is_away_for_a_minute_ends_a_campaign() -> None:
    election = Election("ann", "ben")
    election.state.away = True
    election.pass_time(59.0)
    ben = election.candidates[1]
    assert ben.told == []
    election.pass_time(2.0)
    assert isinstance(ben.told[0], MetadataUnavailable)


def test_a_candidacy_whose_answer_is_lost_is_won_at_the_next_look() -> None:
    logs = Logs()
    candidate = Candidate(logs, "ann")
    network = candidate.network
    network.lose(network.deliver_until("reply store write record"))
    assert candidate.told == []
    candidate.clock.advance(LEASE_S / 10)
    network.run()
    assert candidate.leads


def test_a_campaign_that_is_cancelled_leaves_no_timer() -> None:
    election = Election("ann", "ben")
    ben = election.candidates[1]
    ben.waiting.cancel()
    assert ben.clock.getDelayedCalls() == []


def test_a_lead_that_is_over_before_it_is_known_is_won_again() -> None:
    logs = Logs()
    candidate = Candidate(logs, "ann", lease_s=1)
    candidate.network.deliver_until("reply store write record")
    candidate.clock.advance(1.2)
    candidate.network.deliver()
    assert candidate.told == []
    candidate.clock.advance(0.1)
    candidate.network.run()
    assert candidate.leads


def test_a_record_that_cannot_be_understood_is_named() -> None:
    election = Election("ann", "ben")
    [path] = [path for path in election.state.records if path[0] == "log-elections"]
    election.state.records[path] = b'{"format":2}', 99
    with pytest.raises(MetadataCorrupt, match="election orders"):
        election.result(election.candidates[1], election.candidates[1].logs.leader(LOG))
    election.pass_time(LEASE_S)
    assert isinstance(election.candidates[1].told[0], MetadataCorrupt)
    assert election.leading == []


@pytest.mark.parametrize(
    "arguments", [{"lease_s": 0.5}, {"lease_s": 3601}, {"lease_s": float("nan")}, {"lease_s": "1"}]
)
def test_a_lease_out_of_range_is_refused(arguments: dict[str, Any]) -> None:
    logs = Logs()
    with pytest.raises(InvalidArgument, match=r"lease_s .* must be a number from 1 to 3600"):
        logs.result(logs.logs().campaign(LOG, **arguments))


@pytest.mark.parametrize("candidate", ["", "a\nb", "x" * 256])
def test_a_candidate_that_is_no_text_for_people_is_refused(candidate: str) -> None:
    logs = Logs()
    with pytest.raises(InvalidArgument, match="must be printable text of 1 to 255 characters"):
        logs.result(logs.logs().campaign(LOG, candidate))


def test_a_candidate_without_a_name_has_that_of_its_process() -> None:
    logs = Logs()
    leadership = logs.result(logs.logs().campaign(LOG))
    assert ":" in leadership.candidate
    assert logs.result(logs.logs().leader(LOG)) == leadership.candidate
