"""Ledgers that were made for a log and never came into its list are found and deleted, and no others."""

from typing import Any

import pytest

from bookkeeper_tx.errors import ClientClosed, MetadataUnavailable, NotEnoughBookies
from bookkeeper_tx.replicated_log import DLSN
from tests.replicated_log.logs import LOG, Logs, outcome, payloads

STEPS_OF_A_ROLL = 16
"""So many messages go to and fro while a log is rolled."""


def rolling(logs: Logs, steps: int) -> list[Any]:
    """Begin to roll a log that has a record; return what is on its way after so many messages."""
    writer = logs.open(logs.client())
    logs.write(writer, b"a")
    writer.roll().addErrback(lambda failure: failure.trap(MetadataUnavailable))
    network = logs.cluster.network
    for _ in range(steps):
        network.deliver()
    on_its_way = list(network.messages)
    network.messages.clear()
    return on_its_way


@pytest.mark.parametrize("steps", range(STEPS_OF_A_ROLL + 1))
def test_whoever_opens_a_log_deletes_what_a_killed_writer_has_made(steps: int) -> None:
    logs = Logs()
    rolling(logs, steps)
    writer = logs.open(logs.client())
    assert sorted(logs.cluster.state.ledgers) == logs.ledger_ids
    assert logs.noted == []
    logs.write(writer, b"b")
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"a", b"b"]


def test_the_steps_of_a_roll_are_all_tried() -> None:
    logs = Logs()
    assert rolling(logs, STEPS_OF_A_ROLL - 1)
    assert not rolling(logs, STEPS_OF_A_ROLL)


def test_some_of_the_killed_leave_a_ledger_that_is_in_no_list() -> None:
    left = 0
    for steps in range(STEPS_OF_A_ROLL):
        logs = Logs()
        rolling(logs, steps)
        left += sorted(logs.cluster.state.ledgers) != logs.ledger_ids
    assert left == 2


@pytest.mark.parametrize("steps", range(STEPS_OF_A_ROLL + 1))
def test_whoever_deletes_a_log_deletes_them_too(steps: int) -> None:
    logs = Logs()
    rolling(logs, steps)
    logs.result(logs.logs().delete_log(LOG))
    assert logs.cluster.state.ledgers == {}
    assert [path[-1] for path in logs.cluster.state.records] == [LOG]


@pytest.mark.parametrize("steps", range(STEPS_OF_A_ROLL + 1))
def test_a_writer_that_sleeps_meanwhile_and_wakes_up_leaves_nothing(steps: int) -> None:
    logs = Logs()
    asleep = rolling(logs, steps)
    new = logs.open(logs.client())
    for message in asleep:
        message.arrive()
    logs.cluster.network.run()
    assert logs.write(new, b"b")
    logs.result(new.close())
    logs.result(logs.open(logs.client()).close())
    assert payloads(logs.read()) == [b"a", b"b"]
    assert sorted(logs.cluster.state.ledgers) == logs.ledger_ids
    assert logs.noted == []


@pytest.mark.parametrize("taken_by", ["one", "other"])
def test_the_ledger_of_a_writer_that_may_still_add_it_is_kept(taken_by: str) -> None:
    """Two writers open the log at once: one has made its ledger and sleeps, and its place is still free."""
    logs = Logs()
    network = logs.cluster.network
    one = logs.logs(logs.client()).open_log_writer(LOG)
    asleep = network.messages.pop(network.deliver_until("request store write record list"))
    (made,) = logs.cluster.state.ledgers
    if taken_by == "one":
        asleep.arrive()
        assert logs.write(logs.result(one), b"a") == [DLSN(0, 0)]
        assert logs.ledger_ids == [made]
    other = logs.open(logs.client())
    logs.write(other, b"b")
    assert (made in logs.cluster.state.ledgers) == (taken_by == "one")
    if taken_by == "other":
        asleep.arrive()
        assert logs.write(logs.result(one), b"c") == [DLSN(1, 0)]
        assert made not in logs.ledger_ids


def test_a_ledger_of_somebody_else_who_has_chosen_the_same_id_is_kept() -> None:
    logs = Logs()
    network = logs.cluster.network
    logs.logs(logs.client()).open_log_writer(LOG).addErrback(lambda _: None)
    network.messages.pop(network.deliver_until("request store create"))
    (note,) = logs.noted
    chosen = int(note.split("-")[-1])
    logs.result(logs.first.create_ledger(1, 1, 1, ledger_id=chosen))
    logs.open(logs.client())
    assert chosen in logs.cluster.state.ledgers
    assert logs.noted == []


def test_an_id_that_somebody_has_chosen_meanwhile_is_not_taken() -> None:
    logs = Logs()
    network = logs.cluster.network
    opening = logs.logs(logs.client()).open_log_writer(LOG)
    late = network.messages.pop(network.deliver_until("request store create"))
    chosen = int(logs.noted[0].split("-")[-1])
    logs.result(logs.first.create_ledger(1, 1, 1, ledger_id=chosen))
    late.arrive()
    assert logs.write(logs.result(opening), b"a") == [DLSN(0, 0)]
    assert chosen not in logs.ledger_ids
    assert logs.noted == []


@pytest.mark.parametrize("made", [False, True])
def test_a_ledger_whose_maker_is_closed_meanwhile_is_found_by_the_next(made: bool) -> None:
    """Its client does not hear whether the store has made the ledger."""
    logs = Logs()
    network = logs.cluster.network
    client = logs.client()
    opening = outcome(logs.logs(client).open_log_writer(LOG))
    index = network.deliver_until(f"{'reply' if made else 'request'} store create")
    client.close()
    network.lose(index)
    network.run()
    assert isinstance(opening[0], ClientClosed)
    assert len(logs.cluster.state.ledgers) == made
    logs.open(logs.client())
    assert sorted(logs.cluster.state.ledgers) == logs.ledger_ids
    assert logs.noted == []


def test_a_ledger_that_could_not_be_made_leaves_no_note() -> None:
    logs = Logs()
    for bookie in logs.cluster.bookies.values():
        bookie.down = True
    logs.cluster.bookies_changed()
    with pytest.raises(NotEnoughBookies):
        logs.open(logs.client())
    assert logs.noted == []
