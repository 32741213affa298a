"""What a leader has: it can be asked, waited for, given back, and dropped."""

import gc

import pytest
from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_tx.errors import (
    ClientClosed,
    LogFenced,
    MetadataUnavailable,
)
from bookkeeper_tx.replicated_log import DLSN
from tests.replicated_log.candidates import LEASE_S, Election
from tests.replicated_log.logs import LOG, outcome


def test_who_resigns_is_followed_at_the_next_look() -> None:
    election = Election("ann", "ben")
    ann, _ = election.candidates
    assert ann.leadership is not None
    lost = outcome(ann.leadership.until_lost())
    election.result(ann, ann.leadership.resign())
    assert lost == [None]
    assert outcome(ann.leadership.until_lost()) == [None]
    election.pass_time(LEASE_S / 10)
    assert election.leading == ["ben"]
    election.result(ann, ann.leadership.resign())  # again: that is nothing to do
    election.pass_time(LEASE_S)
    assert election.leading == ["ben"]


def test_a_closed_client_leads_no_longer_and_soon_waits_no_longer() -> None:
    election = Election("ann", "ben")
    ann, ben = election.candidates
    assert ann.leadership is not None
    lost = outcome(ann.leadership.until_lost())
    ann.client.close()
    ben.client.close()
    assert not ann.leads
    election.pass_time(LEASE_S / 10)
    assert lost == [None]
    assert isinstance(ben.told[0], ClientClosed)
    assert ann.clock.getDelayedCalls() == ben.clock.getDelayedCalls() == []
    assert outcome(ann.leadership.close()) == [None]
    assert isinstance(outcome(ann.leadership.resign())[0], ClientClosed)


def test_a_lead_that_nobody_has_is_given_back() -> None:
    election = Election("ann", "ben")
    ann, _ = election.candidates
    ann.told.clear()
    ann.waiting = Deferred()
    gc.collect()
    election.pass_time(LEASE_S / 5)
    assert election.leading == ["ben"]
    assert ann.clock.getDelayedCalls() == []


def test_a_lead_is_kept_while_somebody_waits_for_its_end() -> None:
    election = Election("ann", "ben")
    ann, ben = election.candidates
    lost = outcome(ann.told.pop().until_lost())
    ann.waiting = Deferred()
    gc.collect()
    election.pass_time(5 * LEASE_S)
    assert lost == []
    assert election.result(ben, ben.logs.leader(LOG)) == "ann"


def test_who_waits_for_the_end_may_cease_to() -> None:
    election = Election("ann")
    [ann] = election.candidates
    assert ann.leadership is not None
    waiting = ann.leadership.until_lost()
    told = outcome(waiting)
    waiting.cancel()
    assert isinstance(told[0], CancelledError)
    election.result(ann, ann.leadership.resign())


def test_where_the_store_is_away_a_lead_is_closed_and_not_resigned() -> None:
    election = Election("ann")
    [ann] = election.candidates
    assert ann.leadership is not None
    election.state.away = True
    with pytest.raises(MetadataUnavailable):
        election.result(ann, ann.leadership.resign())
    assert election.result(ann, ann.leadership.close()) is None
    assert not ann.leads
    election.state.away = False
    election.result(ann, ann.leadership.resign())
    assert election.result(ann, ann.logs.leader(LOG)) is None


def test_a_leader_that_leads_no_longer_does_not_take_the_log_again() -> None:
    election = Election("ann", "ben")
    ann, ben = election.candidates
    assert ann.leadership is not None
    opened = outcome(ann.logs.open_log_writer(LOG, still_leads=ann.leadership.leads))
    write = ann.network.messages.pop(ann.network.deliver_until("request store write record list"))
    election.result(ann, ann.leadership.resign())
    writer = election.result(ben, ben.logs.open_log_writer(LOG))
    write.arrive()
    ann.network.run()
    [error] = opened
    assert isinstance(error, LogFenced)
    assert election.result(ben, writer.write(b"a")) == DLSN(0, 0)
