"""Records that cannot be understood: they are named, and the others are gone on with."""

import pytest
from twisted.logger import LogLevel, capturedLogs, formatEvent

from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLog
from bookkeeper_tx.replicated_log import DLSN
from tests.replicated_log.logs import LOG, Logs, outcome, payloads

NAMES = "logs"
"""The folder of the records of logs."""


def with_leftovers(count: int) -> tuple[Logs, list[int]]:
    """Return a log, and the ledgers that killed writers have left, all made for the same place in its list."""
    logs = Logs()
    for _ in range(count):
        outcome(logs.logs(logs.client()).open_log_writer(LOG))
        logs.cluster.network.deliver_until("request store write record list")
        logs.cluster.network.messages.clear()
    return logs, list(logs.cluster.state.ledgers)


def test_a_leftover_that_cannot_be_understood_does_not_keep_the_others() -> None:
    logs, (corrupt, *others) = with_leftovers(3)
    logs.cluster.state.corrupt.add(corrupt)
    with capturedLogs() as events:
        writer = logs.open(logs.client())
    (text,) = [formatEvent(each) for each in events if each["log_level"] is LogLevel.warn]
    assert f"ledger {corrupt} may have been made for log orders or by somebody else, and stays" in text
    assert logs.write(writer, b"a") == [DLSN(0, 0)]
    assert sorted(logs.cluster.state.ledgers) == [corrupt, *logs.ledger_ids]
    assert not set(others) & set(logs.cluster.state.ledgers)
    assert logs.noted == [f"made-0-{corrupt}"]


def test_a_log_with_such_a_leftover_is_deleted_but_for_that_and_then_wholly() -> None:
    """Whose the ledger is cannot be told, so it is left, and named, until somebody has decided."""
    logs, (corrupt, *_) = with_leftovers(3)
    logs.cluster.state.corrupt.add(corrupt)
    for _ in range(2):
        with pytest.raises(MetadataCorrupt, match=f"log orders .* ledger {corrupt} .*delete the log again"):
            logs.result(logs.logs().delete_log(LOG))
        assert list(logs.cluster.state.ledgers) == [corrupt]
        assert logs.noted == [f"made-0-{corrupt}"]
        assert logs.result(logs.logs().log_state(LOG)).deleting
    logs.result(logs.first.delete_ledger(corrupt))
    logs.result(logs.logs().delete_log(LOG))
    assert logs.result(logs.logs().list_logs()) == []
    assert [path[-1] for path in logs.cluster.state.records] == [LOG]


def test_such_a_leftover_is_deleted_with_the_log_once_its_record_is_mended() -> None:
    logs, (corrupt, *_) = with_leftovers(1)
    logs.cluster.state.corrupt.add(corrupt)
    with pytest.raises(MetadataCorrupt):
        logs.result(logs.logs().delete_log(LOG))
    logs.cluster.state.corrupt.clear()
    logs.result(logs.logs().delete_log(LOG))
    assert logs.cluster.state.ledgers == {}


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_ledger_of_the_list_that_cannot_be_understood(which: int) -> None:
    """The last two must be fenced before a log is deleted; what is before them is deleted unread."""
    logs = Logs()
    writer = logs.open()
    for payload in (b"a", b"b", b"c"):
        logs.write(writer, payload)
        if payload != b"c":
            logs.result(writer.roll())
    logs.result(writer.close())
    before, corrupt = dict(logs.cluster.state.ledgers), logs.ledger_ids[which]
    logs.cluster.state.corrupt.add(corrupt)
    if which > 0:
        with pytest.raises(MetadataCorrupt, match=f"log orders is not deleted: its ledger {corrupt} .*log again"):
            logs.result(logs.logs().delete_log(LOG))
        assert logs.cluster.state.ledgers == before
        logs.result(logs.first.delete_ledger(corrupt))
    logs.result(logs.logs().delete_log(LOG))
    assert logs.cluster.state.ledgers == {}
    with pytest.raises(NoSuchLog):
        logs.open()


@pytest.mark.parametrize("part", ["logs", "log-lists"])
def test_a_log_that_cannot_be_understood_is_listed_with_the_others_and_whoever_looks_at_it_is_told(part: str) -> None:
    logs = Logs()
    logs.result(logs.logs().create_log("bad", 1, 1, 1))
    records = logs.cluster.state.records
    (path,) = [each for each in records if each[:2] == (part, "bad")]
    records[path] = b"{", records[path][1]
    assert logs.result(logs.logs().list_logs()) == ["bad", LOG]
    for use in (logs.logs().log_state, logs.logs().open_log_writer, logs.logs().delete_log):
        with pytest.raises(MetadataCorrupt, match="of log bad cannot be understood"):
            logs.result(use("bad"))
    assert logs.result(logs.logs().log_state(LOG)).segment_count == 0
    writer = logs.open()
    logs.write(writer, b"a")
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"a"]


def test_who_cannot_create_a_log_because_of_such_a_record_leaves_nothing() -> None:
    logs = Logs()
    before = dict(logs.cluster.state.records)
    logs.cluster.state.records[NAMES, "bad"] = b"{", 0
    with pytest.raises(MetadataCorrupt, match="the properties of log bad"):
        logs.result(logs.logs().create_log("bad", 1, 1, 1))
    assert logs.cluster.state.records == {**before, (NAMES, "bad"): (b"{", 0)}
