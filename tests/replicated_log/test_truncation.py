"""Truncating a log, and deleting it."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.errors import (
    AlreadyTruncated,
    InvalidArgument,
    LogExists,
    LogFenced,
    MetadataUnavailable,
    NoSuchLog,
    Unauthorized,
)
from bookkeeper_tx.replicated_log import DLSN, Namespace
from bookkeeper_tx.replicated_log.segment_list import CHUNK_COUNT
from tests.client.puppet_store import AnswerLost
from tests.replicated_log.logs import LOG, Logs, outcome, payloads


def filled(count: int) -> Logs:
    """Return a log of ``count`` ledgers of a record each, all closed."""
    logs = Logs()
    writer = logs.open()
    for number in range(count):
        if number:
            logs.result(writer.roll())
        logs.write(writer, b"%d" % number)
    logs.result(writer.close())
    return logs


def chunks(logs: Logs) -> set[str]:
    return {path[-1] for path in logs.cluster.state.records if path[0] == "log-lists" and path[-1] != "list"}


def left(logs: Logs) -> tuple[list[int], list[str]]:
    """Return the ledgers that there are, and the last name of each record: that of a log stays for ever."""
    return list(logs.cluster.state.ledgers), [path[-1] for path in logs.cluster.state.records]


def test_whole_ledgers_go_and_positions_stay() -> None:
    logs = filled(4)
    before = logs.read()
    ledger_ids = logs.ledger_ids
    assert logs.result(logs.logs().truncate(LOG, DLSN(2, 0))) == DLSN(2, 0)
    assert logs.read() == logs.read(DLSN(2, 0)) == before[2:]
    assert sorted(logs.cluster.state.ledgers) == ledger_ids[2:]
    for position in (DLSN(0, 0), DLSN(1, 0), DLSN(1, 0).next()):
        with pytest.raises(AlreadyTruncated, match=f"position {position.log_segment_sequence_no}:0 of log orders"):
            logs.read(position)
    assert logs.result(logs.logs().first_dlsn(LOG)) == DLSN(2, 0)
    writer = logs.open()
    assert logs.write(writer, b"next") == [DLSN(4, 0)]
    assert logs.result(logs.logs().truncate(LOG, DLSN(0, 0))) == DLSN(2, 0)


def test_the_last_ledger_stays_and_a_later_one_is_refused() -> None:
    logs = filled(2)
    assert logs.result(logs.logs().truncate(LOG, DLSN(1, 77))) == DLSN(1, 0)
    with pytest.raises(InvalidArgument, match="no ledger 2 yet"):
        logs.result(logs.logs().truncate(LOG, DLSN(2, 0)))
    assert payloads(logs.read()) == [b"1"]


@pytest.mark.parametrize("position", ["1:0", (1, 0), 1, DLSN(-1, 0)])
def test_what_is_no_position_is_refused(position: Any) -> None:
    logs = filled(2)
    with pytest.raises(InvalidArgument, match="no position"):
        logs.result(logs.logs().truncate(LOG, position))
    with pytest.raises(InvalidArgument, match="no position"):
        logs.logs().read(LOG, position)


def test_an_empty_log_is_truncated_to_its_start() -> None:
    logs = Logs()
    assert logs.result(logs.logs().truncate(LOG, DLSN(0, 5))) == DLSN(0, 0)


def test_a_ledger_that_may_still_be_written_is_kept() -> None:
    logs = Logs()
    writer = logs.open()
    network = logs.cluster.network
    writer.roll()
    first = writer.write(b"first")
    held = network.messages.pop(network.find("add"))
    while len(logs.segments.segments) < 2:
        network.deliver()
    network.run()
    assert logs.result(logs.logs(logs.client()).truncate(LOG, DLSN(1, 0))) == DLSN(0, 0)
    held.arrive()
    assert logs.result(first) == DLSN(0, 0)
    network.run()
    assert logs.result(logs.logs().truncate(LOG, DLSN(1, 0))) == DLSN(1, 0)


def test_full_parts_of_the_list_go_with_their_ledgers() -> None:
    logs = filled(4 * CHUNK_COUNT + 3)
    assert chunks(logs) == {"0", "1", "2"}
    middle = CHUNK_COUNT + 5
    logs.result(logs.logs().truncate(LOG, DLSN(middle, 0)))
    assert chunks(logs) == {"1", "2"}
    assert payloads(logs.read())[0] == b"%d" % middle
    assert len(logs.cluster.state.ledgers) == 3 * CHUNK_COUNT + 3 - 5
    end = 4 * CHUNK_COUNT + 2
    logs.result(logs.logs().truncate(LOG, DLSN(end, 0)))
    assert chunks(logs) == set()
    assert len(logs.cluster.state.ledgers) == 1
    assert payloads(logs.read()) == [b"%d" % end]


def test_no_part_of_the_list_is_stored_for_ledgers_that_are_gone() -> None:
    logs = Logs()
    writer = logs.open()
    for number in range(3 * CHUNK_COUNT):
        logs.write(writer, b"x")
        logs.result(writer.roll())
        logs.result(logs.logs().truncate(LOG, DLSN(max(0, number - 3), 0)))
    assert chunks(logs) == set()
    assert len(logs.read()) == 4
    logs.result(writer.close())
    logs.result(logs.logs().delete_log(LOG))
    assert left(logs) == ([], [LOG])


def test_what_was_interrupted_is_ended_by_the_next() -> None:
    logs = filled(3 * CHUNK_COUNT)
    network, state = logs.cluster.network, logs.cluster.state
    truncating: Deferred[DLSN] = logs.logs(logs.client()).truncate(LOG, DLSN(CHUNK_COUNT + 2, 0))
    truncating.addErrback(lambda failure: failure.trap(MetadataUnavailable))
    while len(state.ledgers) > 2 * CHUNK_COUNT + 20:
        network.deliver()
    while network.messages:
        network.lose()
    assert logs.result(logs.logs().first_dlsn(LOG)) == DLSN(CHUNK_COUNT + 2, 0)
    logs.result(logs.logs().truncate(LOG, DLSN(CHUNK_COUNT + 2, 0)))
    assert len(state.ledgers) == 2 * CHUNK_COUNT - 2
    assert chunks(logs) == set() or chunks(logs) == {"1"}


def test_a_deleted_log_is_gone_with_its_ledgers_and_its_writer() -> None:
    logs = filled(3 * CHUNK_COUNT)
    writer = logs.open(logs.client())
    logs.write(writer, b"x")
    logs.result(logs.logs().delete_log(LOG))
    assert left(logs) == ([], [LOG])
    with pytest.raises((LogFenced, NoSuchLog)):
        logs.write(writer, b"y")
    for use in (logs.logs().delete_log, logs.logs().open_log_writer):
        with pytest.raises(NoSuchLog):
            logs.result(use(LOG))


def test_a_writer_that_was_opening_a_deleted_log_adds_nothing_to_one_of_the_same_name() -> None:
    logs = filled(1)
    network = logs.cluster.network
    opening = logs.logs(logs.client()).open_log_writer(LOG)
    failures: list[type[BaseException]] = []
    opening.addErrback(lambda failure: failures.append(failure.type))
    held = network.messages.pop(network.deliver_until("request store write record list"))
    logs.result(logs.logs().delete_log(LOG))
    logs.result(logs.logs().create_log(LOG, 1, 1, 1))
    logs.write(logs.open(), b"new")
    held.arrive()
    network.run()
    assert failures == [NoSuchLog]
    assert len(logs.ledger_ids) == len(logs.cluster.state.ledgers) == 1


STEPS_OF_A_DELETION = 30
"""So many messages go to and fro while a log of one ledger is deleted."""


@pytest.mark.parametrize("answer_lost", [False, True])
@pytest.mark.parametrize("new_is_deleted", [False, True])
@pytest.mark.parametrize("steps", range(1, STEPS_OF_A_DELETION))
def test_a_deleter_that_sleeps_at_any_step_leaves_a_new_log_of_the_same_name(
    steps: int, new_is_deleted: bool, answer_lost: bool
) -> None:
    """It has read the name when it begins to sleep: else the new log is what it deletes."""
    logs = filled(1)
    network = logs.cluster.network
    deleting = outcome(logs.logs(logs.client()).delete_log(LOG))
    for _ in range(steps):
        network.deliver()
    (asleep,) = network.messages
    network.messages.clear()
    if logs.result(logs.logs().list_logs()):
        logs.result(logs.logs().delete_log(LOG))
    logs.result(logs.logs().create_log(LOG, 1, 1, 1))
    writer = logs.open()
    logs.write(writer, b"new")
    half_deleted: list[Any] = []
    if new_is_deleted:
        half_deleted = outcome(logs.logs().delete_log(LOG))
        held = network.messages.pop(network.deliver_until("request store delete"))
    if answer_lost:
        asleep.lost(AnswerLost())
    else:
        asleep.arrive()
    network.run()
    assert deleting
    assert logs.result(logs.logs().list_logs()) == [LOG]
    if new_is_deleted:
        with pytest.raises(LogExists, match="delete it again"):
            logs.result(logs.logs().create_log(LOG, 1, 1, 1))
        held.arrive()
        network.run()
        assert half_deleted == [None]
        assert left(logs) == ([], [LOG])
    else:
        logs.result(writer.close())
        assert payloads(logs.read()) == [b"new"]


def test_the_steps_of_a_deletion_are_all_tried() -> None:
    logs = filled(1)
    network = logs.cluster.network
    deleting = outcome(logs.logs(logs.client()).delete_log(LOG))
    count = 0
    while not deleting:
        network.deliver()
        count += 1
    assert count == STEPS_OF_A_DELETION


def test_a_wrong_password_deletes_nothing() -> None:
    logs = Logs()
    logs.result(Namespace(logs.first, b"right").open_log_writer(LOG))
    writer = logs.result(Namespace(logs.first, b"right").open_log_writer(LOG))
    assert logs.write(writer, b"a") == [DLSN(1, 0)]
    with pytest.raises(Unauthorized):
        logs.result(Namespace(logs.first, b"wrong").delete_log(LOG))
    assert logs.write(writer, b"b") == [DLSN(1, 1)]
    assert not logs.result(logs.logs().log_state(LOG)).deleting
    logs.result(Namespace(logs.first, b"right").delete_log(LOG))
    assert left(logs) == ([], [LOG])


def test_a_log_that_is_half_deleted_is_seen() -> None:
    logs = filled(2)
    deleting = logs.logs(logs.client()).delete_log(LOG)
    deleting.addErrback(lambda failure: failure.trap(MetadataUnavailable))
    network = logs.cluster.network
    while len(logs.cluster.state.ledgers) > 1:
        network.deliver()
    while network.messages:
        network.lose()
    assert logs.result(logs.logs().list_logs()) == [LOG]
    state = logs.result(logs.logs().log_state(LOG))
    assert (state.deleting, state.segment_count) == (True, 2)
    with pytest.raises(LogExists, match="delete it again"):
        logs.result(logs.logs().create_log(LOG, 1, 1, 1))
    # The list is gone, the name is not.
    deleting = logs.logs(logs.client()).delete_log(LOG)
    deleting.addErrback(lambda failure: failure.trap(MetadataUnavailable))
    while len(logs.cluster.state.records) > 1:  # that of the name stays
        network.deliver()
    while network.messages:
        network.lose()
    state = logs.result(logs.logs().log_state(LOG))
    assert (state.deleting, state.segment_count) == (True, 0)
    logs.result(logs.logs().delete_log(LOG))
    assert logs.result(logs.logs().list_logs()) == []


def test_deleting_goes_on_where_it_was_interrupted() -> None:
    logs = filled(5)
    deleting = logs.logs(logs.client()).delete_log(LOG)
    deleting.addErrback(lambda failure: failure.trap(MetadataUnavailable))
    while len(logs.cluster.state.ledgers) > 3:
        logs.cluster.network.deliver()
    while logs.cluster.network.messages:
        logs.cluster.network.lose()
    with pytest.raises(NoSuchLog, match="it was deleted"):
        logs.open()
    logs.result(logs.logs().delete_log(LOG))
    assert left(logs) == ([], [LOG])
