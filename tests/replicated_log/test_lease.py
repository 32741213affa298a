"""The lease of a leader: never longer than others take it to be."""

from tests.client.puppet_store import AnswerLost
from tests.replicated_log.candidates import LEASE_S, Election, lose_a_renewal
from tests.replicated_log.logs import LOG, outcome


def test_who_was_asleep_for_its_lease_leads_no_longer_when_it_wakes_up() -> None:
    election = Election("ann", "ben")
    ann, _ = election.candidates
    assert ann.leadership is not None
    lost = outcome(ann.leadership.until_lost())
    election.pass_time(2 * LEASE_S, (ann,))
    ann.clock.rightNow = election.now_s  # what it does first, before any timer
    assert election.leading == ["ben"]
    election.wake(ann)
    assert lost == [None]
    election.pass_time(3 * LEASE_S)
    assert election.leading == ["ben"]


def test_a_store_that_is_away_for_less_than_the_lease_costs_nobody_the_lead() -> None:
    election = Election("ann", "ben")
    election.state.away = True
    election.pass_time(0.6 * LEASE_S)
    election.state.away = False
    election.pass_time(2 * LEASE_S)
    assert election.leading == ["ann"]


def test_a_store_that_is_away_for_longer_leaves_nobody_in_the_lead_and_then_somebody() -> None:
    election = Election("ann", "ben")
    election.state.away = True
    election.pass_time(1.1 * LEASE_S)
    assert election.leading == []
    election.state.away = False
    election.pass_time(0.2 * LEASE_S)
    assert election.leading == ["ben"]


def test_a_renewal_whose_answer_is_lost_is_no_other_leader() -> None:
    election = Election("ann", "ben")
    lose_a_renewal(election, election.candidates[0])
    election.pass_time(5 * LEASE_S)
    assert election.leading == ["ann"]


def test_who_hears_of_no_renewal_leads_no_longer() -> None:
    election = Election("ann")
    [ann] = election.candidates
    lose_a_renewal(election, ann)
    lose_a_renewal(election, ann)
    assert ann.leads
    ann.clock.advance(LEASE_S / 3 + 0.01)
    assert not ann.leads


def test_a_late_answer_makes_no_lease_longer() -> None:
    election = Election("ann", "ben")
    ann, _ = election.candidates
    election.pass_time(4.0, cut_off=(ann,))
    ann.network.deliver_until("reply store write record")
    election.pass_time(3.0, cut_off=(ann,))
    ann.network.deliver()
    election.pass_time(6.9, cut_off=(ann,))
    assert ann.leads
    election.pass_time(LEASE_S / 2, cut_off=(ann,))
    assert election.leading == ["ben"]


def test_nobody_takes_the_lead_from_who_is_cut_off_before_its_lease_is_over() -> None:
    election = Election("ann", "ben")
    ann, _ = election.candidates
    while ann.leads:
        election.pass_time(0.1, cut_off=(ann,))
    assert election.leading == []
    election.pass_time(LEASE_S / 5, cut_off=(ann,))
    assert election.leading == ["ben"]


def test_who_finds_another_one_leading_gives_up() -> None:
    election = Election("ann", "ben")
    ben = election.candidates[1]
    [path] = [path for path in election.state.records if path[0] == "log-elections"]
    data, version = election.state.records[path]
    election.state.records[path] = data.replace(b'"ann"', b'"cid"').replace(b'"token":"', b'"token":"x'), version + 1
    election.pass_time(LEASE_S / 2)
    assert election.leading == []
    assert election.result(ben, ben.logs.leader(LOG)) == "cid"


def test_a_lease_is_not_longer_by_a_renewal_that_the_store_takes_for_an_earlier_one() -> None:
    """The answer of a renewal is lost, and then the next one, which the store's client asks about again."""
    election = Election("ann", "ben")
    ann, ben = election.candidates
    lose_a_renewal(election, ann)
    election.wake(ben)
    ben.network.run()
    ann.clock.advance(LEASE_S / 3 + 0.01)
    election.now_s = ann.clock.seconds()
    ann.network.lose(ann.network.find("request store write record"), AnswerLost())
    ann.network.deliver_until("reply store")
    ann.network.deliver()
    election.pass_time(LEASE_S, cut_off=(ann,))
    assert election.leading == ["ben"]


def test_a_renewal_that_hangs_does_not_cost_the_lead() -> None:
    election = Election("ann", "ben")
    [ann, _] = election.candidates
    for _ in range(10):
        election.pass_time(LEASE_S / 3, cut_off=(ann,))
        ann.network.messages[:-1] = []  # they never arrive; the last one does
        ann.network.run()
        election.pass_time(LEASE_S / 10)
    assert election.leading == ["ann"]
