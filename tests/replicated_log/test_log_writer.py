"""Opening a log, writing it, and taking it from another writer."""

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    InvalidArgument,
    LogClosed,
    LogExists,
    LogFenced,
    MetadataUnavailable,
    NoSuchLog,
    TooManyOutstandingAdds,
)
from bookkeeper_tx.replicated_log import DLSN, LogWriter
from tests.client.puppet_store import AnswerLost
from tests.replicated_log.logs import LOG, SMALL_CONFIG, Logs, collected, outcome, payloads


def store_requests(logs: Logs) -> list[str]:
    """Deliver all messages; return what the store was asked."""
    asked = []
    while logs.cluster.network.messages:
        text = logs.cluster.network.messages[0].text
        if "store" in text and "request" in text:
            asked.append(text.removeprefix("request store "))
        elif "request" in text or "read" in text:
            asked.append(text.split()[0])
        logs.cluster.network.deliver()
    return asked


def test_records_are_read_in_the_order_in_which_they_were_written() -> None:
    logs = Logs()
    writer = logs.open()
    assert logs.write(writer, b"a", b"b", b"c") == [DLSN(0, 0), DLSN(0, 1), DLSN(0, 2)]
    assert logs.result(writer.write_bulk([b"d", b"e"])) == [DLSN(0, 3), DLSN(0, 4)]
    logs.result(writer.close())
    records = logs.read()
    assert payloads(records) == [b"a", b"b", b"c", b"d", b"e"]
    assert [each.dlsn for each in records] == [DLSN(0, number) for number in range(5)]
    assert payloads(logs.read(DLSN(0, 2).next())) == [b"d", b"e"]
    assert logs.read(DLSN(0, 5)) == logs.read(DLSN(1, 0)) == []


def test_a_new_writer_fences_the_one_before_and_writes_on_behind_it() -> None:
    logs = Logs(ensemble_size=3)
    old = logs.open()
    assert logs.write(old, b"a") == [DLSN(0, 0)]
    new = logs.open(logs.client())
    with pytest.raises(LogFenced, match="log orders: another writer has taken it"):
        logs.write(old, b"lost")
    logs.result(old.close())  # all that was acknowledged is in the log
    assert logs.write(new, b"b") == [DLSN(1, 0)]
    logs.result(new.close())
    assert payloads(logs.read()) == [b"a", b"b"]


def test_the_recipe_goes_in_its_order() -> None:
    logs = Logs()
    logs.open()
    logs.open(logs.client())
    client = logs.client()
    opening = outcome(logs.logs(client).open_log_writer(LOG))
    asked = store_requests(logs)
    assert opening[0].log_segment_sequence_no == 2
    listed, created, added = asked.index("read record"), asked.index("create"), asked.index("write record list")
    closed = [index for index, text in enumerate(asked) if text == "write CLOSED"]
    assert listed < closed[0] <= closed[-1] < created < added


def test_the_last_two_are_fenced() -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    logs.result(writer.roll())
    logs.write(writer, b"b")
    # The writer is killed after it has added a ledger, before it has closed the one before.
    rolling = outcome(writer.roll())
    network = logs.cluster.network
    while len(logs.segments.segments) < 3:
        network.deliver()
    late = outcome(writer.write(b"late"))
    held = [network.messages.pop() for _ in range(len(network.messages))]
    new = logs.open(logs.client())
    for message in held:
        message.arrive()
    network.run()
    assert isinstance(rolling[0], LogFenced)
    assert isinstance(late[0], LogFenced)
    assert logs.write(new, b"c") == [DLSN(3, 0)]
    logs.result(new.close())
    assert payloads(logs.read()) == [b"a", b"b", b"c"]
    assert all(logs.cluster.metadata(ledger_id).closed for ledger_id in logs.ledger_ids)


def test_who_finds_the_list_changed_starts_again() -> None:
    logs = Logs()
    network = logs.cluster.network
    slow = logs.client()
    opening = outcome(logs.logs(slow).open_log_writer(LOG))
    held = network.messages.pop(network.deliver_until("request store write record list"))
    fast = logs.open()
    logs.write(fast, b"a")
    held.arrive()
    network.run()
    (writer,) = opening
    with pytest.raises(LogFenced):
        logs.write(fast, b"lost")
    assert logs.write(writer, b"b") == [DLSN(1, 0)]
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"a", b"b"]
    assert len(logs.cluster.state.ledgers) == 2  # the ledger that was made at first was added in the end


def test_who_leads_no_longer_fences_nobody() -> None:
    logs = Logs()
    writer = logs.open()
    with pytest.raises(LogFenced, match="this writer leads no longer"):
        logs.open(logs.client(), still_leads=lambda: False)
    assert logs.write(writer, b"a") == [DLSN(0, 0)]
    assert list(logs.cluster.state.ledgers) == logs.ledger_ids


def test_who_leads_no_longer_does_not_start_again() -> None:
    logs = Logs()
    network = logs.cluster.network
    opening = outcome(logs.logs(logs.client()).open_log_writer(LOG, still_leads=iter([True, False]).__next__))
    held = network.messages.pop(network.deliver_until("request store write record list"))
    fast = logs.open()
    held.arrive()
    network.run()
    assert isinstance(opening[0], LogFenced)
    assert logs.write(fast, b"a") == [DLSN(0, 0)]
    assert list(logs.cluster.state.ledgers) == logs.ledger_ids  # what it had made is deleted


def test_who_leads_no_longer_keeps_the_ledger_that_is_in_the_list() -> None:
    """The answer of the store is lost, and before it is asked again another writer has come behind."""
    logs = Logs()
    network = logs.cluster.network
    opening = outcome(logs.logs(logs.client()).open_log_writer(LOG, still_leads=iter([True, False]).__next__))
    network.lose(network.deliver_until("reply store write record list"), AnswerLost())
    repeated = network.messages.pop()
    fast = logs.open()
    repeated.arrive()
    network.run()
    assert isinstance(opening[0], LogFenced)
    assert logs.ledger_ids == sorted(logs.cluster.state.ledgers)
    assert logs.write(fast, b"a") == [DLSN(1, 0)]
    logs.result(fast.close())
    assert payloads(logs.read()) == [b"a"]


def test_a_store_that_is_away_while_the_list_is_written() -> None:
    logs = Logs()
    network = logs.cluster.network
    opening = outcome(logs.logs(logs.client()).open_log_writer(LOG))
    network.lose(network.deliver_until("reply store write record list"))
    network.run()
    assert isinstance(opening[0], MetadataUnavailable)
    writer = logs.open(logs.client())
    assert logs.write(writer, b"a") == [DLSN(1, 0)]
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"a"]


def test_a_log_is_rolled_by_size_and_written_meanwhile() -> None:
    logs = Logs()
    writer = logs.open(roll_size_bytes=10)
    found = []
    for start in range(0, 100, 10):
        writes = [writer.write(b"%05d" % number) for number in range(start, start + 10)]
        found += [logs.result(each) for each in writes]
        logs.cluster.clock.advance(0)
        logs.cluster.network.run()
    assert found == sorted(found)
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"%05d" % number for number in range(100)]
    assert all(logs.cluster.metadata(ledger_id).closed for ledger_id in logs.ledger_ids)
    assert len(logs.ledger_ids) == writer.log_segment_sequence_no + 1 > 5


def test_a_ledger_that_grows_while_the_one_before_is_closed_is_rolled_as_well() -> None:
    logs = Logs()
    writer = logs.open(roll_size_bytes=10)
    network = logs.cluster.network
    logs.write(writer, b"x" * 10)
    writer.write(b"x" * 10)
    logs.cluster.clock.advance(0)
    held = network.messages.pop(network.deliver_until("write CLOSED"))  # the store is slow
    assert logs.write(writer, *[b"y" * 10] * 5)[0] == DLSN(1, 0)
    held.arrive()
    network.run()
    logs.cluster.clock.advance(0)
    network.run()
    assert logs.write(writer, b"z") == [DLSN(2, 0)]


def test_a_log_is_rolled_by_time_if_anything_was_written() -> None:
    logs = Logs()
    writer = logs.open(roll_interval_s=60)
    logs.cluster.clock.advance(60)
    logs.cluster.network.run()
    assert len(logs.ledger_ids) == 1
    logs.write(writer, b"a")
    logs.cluster.clock.advance(60)
    logs.cluster.network.run()
    assert len(logs.ledger_ids) == 2
    assert logs.cluster.metadata(logs.ledger_ids[0]).closed
    assert logs.write(writer, b"b") == [DLSN(1, 0)]


def test_no_record_is_stored_behind_one_that_failed() -> None:
    """The write that was sent to the ledger before fails while its follower is in the list already."""
    logs = Logs()
    writer = logs.open()
    network = logs.cluster.network
    rolling = outcome(writer.roll())
    lost = outcome(writer.write(b"lost"))
    index = network.find("add")
    held = network.messages.pop(index)
    while len(logs.segments.segments) < 2:
        network.deliver()
    network.run()
    behind = outcome(writer.write(b"behind"))
    network.run()
    assert lost == behind == rolling == []
    new = logs.open(logs.client())
    held.arrive()
    network.run()
    assert [type(each[0]) for each in (lost, behind, rolling)] == [LogFenced] * 3
    logs.result(new.close())
    assert logs.read() == []


def test_rolling_that_fails_is_tried_again_and_writing_goes_on() -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    logs.cluster.state.away = True
    with pytest.raises(MetadataUnavailable):
        logs.result(writer.roll())
    assert logs.write(writer, b"b") == [DLSN(0, 1)]
    logs.cluster.state.away = False
    logs.cluster.clock.advance(5)
    logs.cluster.network.run()
    assert logs.write(writer, b"c") == [DLSN(1, 0)]


def test_who_asks_while_the_ledger_before_is_closed_has_another_roll() -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    network = logs.cluster.network
    first = outcome(writer.roll())
    while writer.log_segment_sequence_no < 1:
        network.deliver()
    second, third = outcome(writer.roll()), outcome(writer.roll())
    network.run()
    assert first == second == third == [None]
    assert writer.log_segment_sequence_no == 2
    first = outcome(writer.roll())
    while writer.log_segment_sequence_no < 3:
        network.deliver()
    late = outcome(writer.roll())
    logs.result(writer.close())
    assert first == [None]
    assert isinstance(late[0], LogClosed)


@pytest.mark.parametrize("tried_again", [False, True])
def test_a_ledger_that_could_not_be_closed_is_closed_and_then_the_log_is_rolled(tried_again: bool) -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    network = logs.cluster.network
    rolling = outcome(writer.roll())
    while writer.log_segment_sequence_no < 1:
        network.deliver()
    logs.cluster.state.away = True
    network.run()
    assert isinstance(rolling[0], MetadataUnavailable)
    logs.cluster.state.away = False
    if tried_again:
        logs.cluster.clock.advance(5)
        network.run()
        assert logs.cluster.metadata(logs.ledger_ids[0]).closed
        assert writer.log_segment_sequence_no == 1  # it is rolled already
    logs.write(writer, b"b")
    logs.result(writer.roll())
    assert writer.log_segment_sequence_no == 2
    logs.result(writer.close())
    assert all(logs.cluster.metadata(each).closed for each in logs.ledger_ids)


def test_a_lost_answer_about_the_list_adds_no_ledger_twice() -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    network = logs.cluster.network
    rolling = outcome(writer.roll())
    network.lose(network.deliver_until("reply store write record list"))
    network.run()
    assert isinstance(rolling[0], MetadataUnavailable)
    assert logs.write(writer, b"b") == [DLSN(0, 1)]
    logs.cluster.clock.advance(5)
    network.run()
    assert logs.write(writer, b"c") == [DLSN(1, 0)]
    assert len(logs.ledger_ids) == 2
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"a", b"b", b"c"]


def test_a_roll_that_another_writer_is_ahead_of_leaves_no_ledger() -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    network = logs.cluster.network
    rolling = outcome(writer.roll())
    late = network.messages.pop(network.deliver_until("request store write record list"))
    logs.open(logs.client())
    late.arrive()
    network.run()
    assert isinstance(rolling[0], LogFenced)
    assert sorted(logs.cluster.state.ledgers) == logs.ledger_ids


def failed_roll(carried_out: bool) -> tuple[Logs, LogWriter]:
    """Return a writer whose change of the list has no answer."""
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    network = logs.cluster.network
    rolling = outcome(writer.roll())
    message = f"{'reply' if carried_out else 'request'} store write record list"
    network.lose(network.deliver_until(message))
    network.run()
    assert isinstance(rolling[0], MetadataUnavailable)
    return logs, writer


def test_close_deletes_what_was_made_for_a_roll_that_has_failed() -> None:
    logs, writer = failed_roll(carried_out=False)
    logs.cluster.state.away = True
    logs.cluster.clock.advance(5)
    logs.cluster.network.run()
    logs.cluster.state.away = False
    new = logs.open(logs.client())
    logs.result(writer.close())
    assert sorted(logs.cluster.state.ledgers) == logs.ledger_ids
    assert logs.write(new, b"b") == [DLSN(1, 0)]


@pytest.mark.parametrize("carried_out", [False, True])
def test_close_keeps_a_ledger_that_the_list_may_have(carried_out: bool) -> None:
    logs, writer = failed_roll(carried_out)
    logs.result(writer.close())
    assert len(logs.cluster.state.ledgers) == 2
    assert set(logs.ledger_ids) <= set(logs.cluster.state.ledgers)
    assert payloads(logs.read()) == [b"a"]


def test_close_waits_for_what_was_written_before_and_for_rolling() -> None:
    logs = Logs()
    writer = logs.open()
    rolling = outcome(writer.roll())
    network = logs.cluster.network
    before = outcome(writer.write(b"a"))
    held = network.messages.pop(network.find("add"))
    while len(logs.segments.segments) < 2:
        network.deliver()
    network.run()
    behind = outcome(writer.write(b"b"))
    closing = outcome(writer.close())
    refused = outcome(writer.write(b"c"))
    network.run()
    assert before == behind == closing == []
    assert isinstance(refused[0], LogClosed)
    held.arrive()
    network.run()
    assert (before, behind, rolling, closing) == ([DLSN(0, 0)], [DLSN(1, 0)], [None], [None])
    with pytest.raises(LogClosed):
        logs.result(writer.roll())
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"a", b"b"]


class InRoll:
    """A writer that has added a ledger, and waits for the answer to a write until it goes on there."""

    def __init__(self, config: ClientConfig | None = None) -> None:
        self.logs = Logs()
        self.writer = self.logs.open(self.logs.client(config))
        network = self.logs.cluster.network
        self.writer.roll()
        self.first = outcome(self.writer.write(b"first"))
        self._held = network.messages.pop(network.find("add"))
        while len(self.logs.segments.segments) < 2:
            network.deliver()
        network.run()

    def go_on(self) -> None:
        self._held.arrive()
        self.logs.cluster.network.run()


def test_as_many_writes_wait_for_the_next_ledger_as_it_takes() -> None:
    roll = InRoll(SMALL_CONFIG)
    waiting = [outcome(roll.writer.write(b"%d" % number)) for number in range(9)]
    assert isinstance(waiting[8][0], TooManyOutstandingAdds)
    roll.go_on()
    assert [roll.first, *waiting[:8]] == [[DLSN(0, 0)], *([DLSN(1, number)] for number in range(8))]


def test_a_window_that_a_ledger_takes_passes_a_roll() -> None:
    logs = Logs()
    writer = logs.open(logs.client(SMALL_CONFIG))
    numbers = iter(range(60))
    found: list[DLSN] = []

    async def write_on() -> None:
        for number in numbers:
            found.append(await writer.write(b"%d" % number))

    writing = [Deferred.fromCoroutine(write_on()) for _ in range(7)]
    for _ in range(4):
        logs.cluster.network.deliver()
    writer.roll()
    for each in writing:
        logs.result(each)
    assert len(found) == 60
    assert found == sorted(found)
    assert found[-1].log_segment_sequence_no == 1


def test_the_records_of_a_bulk_count_while_they_wait_for_the_next_ledger() -> None:
    roll = InRoll(SMALL_CONFIG)
    taken = outcome(roll.writer.write_bulk([b"x"] * 100))
    refused = outcome(roll.writer.write_bulk([b"y"] * 100))
    assert isinstance(refused[0], TooManyOutstandingAdds)
    roll.go_on()
    assert taken == [[DLSN(1, number) for number in range(100)]]


def test_a_bulk_that_waits_for_the_next_ledger_is_what_it_was() -> None:
    roll = InRoll()
    batch = [b"a", b"b"]
    written = outcome(roll.writer.write_bulk(batch))
    bad = outcome(roll.writer.write_bulk([b"c", "text"]))  # type: ignore[list-item]
    batch.clear()
    assert isinstance(bad[0], InvalidArgument)
    roll.go_on()
    assert written == [[DLSN(1, 0), DLSN(1, 1)]]
    roll.logs.result(roll.writer.close())
    assert payloads(roll.logs.read()) == [b"first", b"a", b"b"]


def test_what_a_generator_raises_ends_its_bulk_alone() -> None:
    logs = Logs()
    writer = logs.open()

    def records() -> Iterator[bytes]:
        yield b"a"
        raise ValueError("a mistake")

    written = outcome(writer.write_bulk(records()))
    assert isinstance(written[0], ValueError)
    assert logs.write(writer, b"b") == [DLSN(0, 0)]


@pytest.mark.parametrize("protocol", ["v2", "v3"])
@pytest.mark.parametrize("outstanding_adds_max", [7, 1000])
def test_each_write_has_its_position_however_it_is_sent(protocol: str, outstanding_adds_max: int) -> None:
    logs = Logs(ensemble_size=2)
    config = ClientConfig(protocol=protocol, outstanding_adds_max=outstanding_adds_max)
    writer = logs.open(logs.client(config))
    writes = [writer.write(b"%d" % number) for number in range(10)]
    assert [logs.result(each) for each in writes] == [DLSN(0, number) for number in range(10)]
    assert all(type(logs.result(each)) is DLSN for each in [writer.write(b"x"), writer.write(b"y")])
    assert logs.result(writer.write_bulk([b"z"] * 3)) == [DLSN(0, number) for number in range(12, 15)]


def test_payloads_are_checked() -> None:
    logs = Logs()
    writer = logs.open()
    for write in (writer.write("text"), writer.write(bytes(2**23)), writer.write_bulk([b"a", "text"])):  # type: ignore[arg-type, list-item]
        with pytest.raises(InvalidArgument):
            logs.result(write)
    assert logs.write(writer, bytearray(b"a"), b"b") == [DLSN(0, 0), DLSN(0, 1)]  # type: ignore[list-item, arg-type]
    assert logs.result(writer.write_bulk([])) == []


@pytest.mark.parametrize("options", [{"roll_size_bytes": 0}, {"roll_interval_s": -1}, {"roll_size_bytes": "1"}])
def test_when_to_roll_is_checked(options: dict[str, Any]) -> None:
    logs = Logs()
    (name,) = options
    with pytest.raises(InvalidArgument, match=name):
        logs.open(**options)
    assert logs.cluster.state.ledgers == {}


def test_a_fenced_writer_whose_ledger_is_truncated_is_told_so_when_it_closes() -> None:
    logs = Logs()
    old = logs.open()
    logs.write(old, b"a")
    new = logs.open(logs.client())
    logs.result(logs.logs().truncate(LOG, DLSN(1, 0)))
    with pytest.raises(LogFenced, match="truncated"):
        logs.result(old.close())
    logs.result(logs.logs().delete_log(LOG))
    with pytest.raises(NoSuchLog):
        logs.result(new.close())


def test_logs_have_names() -> None:
    logs = Logs()
    namespace = logs.logs()
    with pytest.raises(LogExists, match="orders"):
        logs.result(namespace.create_log(LOG))
    for name in ("", "x" * 256, "a\nb", 7):
        with pytest.raises(InvalidArgument, match="name of a log"):
            logs.result(namespace.create_log(name))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        logs.result(namespace.create_log("other", 1, 2, 3))
    for use in (namespace.open_log_writer, namespace.delete_log, namespace.first_dlsn, namespace.last_dlsn):
        with pytest.raises(NoSuchLog, match="there is no log other"):
            logs.result(use("other"))
    logs.result(namespace.create_log("ä/b", 1, 1, 1))
    assert logs.result(namespace.list_logs()) == [LOG, "ä/b"]


def test_a_log_of_ledgers_with_a_password() -> None:
    logs = Logs()
    with_password = type(logs.logs())(logs.first, b"secret")
    writer = logs.result(with_password.open_log_writer(LOG))
    logs.write(writer, b"a")
    logs.result(writer.close())
    assert [each.name for each in [logs.result(with_password.log_state(LOG))]] == [LOG]
    with pytest.raises(Exception, match="wrong password"):
        collected(logs)
