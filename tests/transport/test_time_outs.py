"""Time-outs of requests: nothing ends while its answer is on the way, and every request ends."""

import socket
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, RequestTimedOut
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from protocol_specs.wire.operations import V3Operation
from tests.protocol.client.v3_answers import answer
from tests.transport.puppet import CONFIG, Puppet

KEY = bytes(20)
ENTRY = bytes(40)


def read_reply(entry_id: int, size: int = 40) -> bytes:
    frame = bytes.fromhex("0202000000000000") + (1).to_bytes(8, "big") + entry_id.to_bytes(8, "big") + bytes(size)
    return len(frame).to_bytes(4, "big") + frame


def add_reply(entry_id: int) -> bytes:
    return bytes.fromhex("0000001802010000000000000000000000000001") + entry_id.to_bytes(8, "big")


@pytest.fixture
def puppet() -> Puppet:
    """A bookie that is connected and has answered."""
    puppet = Puppet()
    puppet.read("first", 0)
    puppet.accept()
    puppet.protocol.dataReceived(read_reply(0))
    puppet.done.clear()
    return puppet


def pass_s(puppet: Puppet, seconds: float) -> None:
    puppet.reactor.pump([0.5] * int(seconds * 2))


def block_s(puppet: Puppet, seconds: float) -> None:
    """Let a callback take so long: no call of the clock is made meanwhile."""
    puppet.reactor.rightNow += seconds


def results(puppet: Puppet) -> list[tuple[str, Any]]:
    return [(name, error) for name, error, _ in puppet.done]


# Progress ------------------------------------------------------------------------------------------------------------


def test_a_request_waits_while_those_before_it_are_answered(puppet: Puppet) -> None:
    for entry_id in range(20):
        puppet.read(f"{entry_id}", entry_id)
    for entry_id in range(20):
        pass_s(puppet, 2)
        puppet.protocol.dataReceived(read_reply(entry_id))
    assert results(puppet) == [(f"{entry_id}", None) for entry_id in range(20)]


def test_a_large_reply_may_take_longer_than_the_time_out(puppet: Puppet) -> None:
    puppet.read("large", 1)
    puppet.read("next", 2)
    reply = read_reply(1, 40_000) + read_reply(2)
    for start in range(0, len(reply), 1000):
        pass_s(puppet, 0.5)
        puppet.protocol.dataReceived(reply[start : start + 1000])
    assert results(puppet) == [("large", None), ("next", None)]


def test_parts_of_a_range_are_progress(puppet: Puppet) -> None:
    puppet.channel.read_range(1, 0, 9, puppet.token("range"))
    puppet.read("later", 50)
    for entry_id in range(10):
        pass_s(puppet, 2)
        puppet.protocol.dataReceived(read_reply(entry_id))
    puppet.protocol.dataReceived(read_reply(50))
    assert results(puppet) == [("range", None), ("later", None)]


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_a_request_that_hangs_ends_though_later_ones_are_answered(protocol: str) -> None:
    puppet = Puppet()
    puppet.channel = BookieChannel(TwistedDriver(puppet.reactor), puppet.resolve, ClientConfig(protocol=protocol))
    puppet.channel.add_entry(1, 0, ENTRY, KEY, puppet.token("hangs"))
    puppet.accept()
    for number in range(30):
        pass_s(puppet, 0.5)
        puppet.read("served", number)
        reply = read_reply(number)
        if protocol == "v3":
            reply = answer(V3Operation.READ_ENTRY, number + 2, ledger_id=1, entry_id=number, body=ENTRY)
        puppet.protocol.dataReceived(reply)
    ended = results(puppet).index(("hangs", RequestTimedOut))
    assert results(puppet)[:ended] == [("served", None)] * 9, "after add_timeout_s"
    assert not puppet.transport.aborted


def test_when_nothing_goes_on_any_more_all_end(puppet: Puppet) -> None:
    for entry_id in range(3):
        puppet.read(f"{entry_id}", entry_id)
    pass_s(puppet, 4)
    puppet.protocol.dataReceived(read_reply(0))
    pass_s(puppet, 2)
    assert len(puppet.done) == 1
    pass_s(puppet, 4)
    assert results(puppet)[1:] == [("1", RequestTimedOut), ("2", RequestTimedOut)]


# A program that was busy, and a clock that was set -------------------------------------------------------------------


def test_answers_that_are_there_already_are_taken_before_anything_times_out(puppet: Puppet) -> None:
    puppet.read("a", 1)
    puppet.reactor.advance(0)
    block_s(puppet, 60)
    # As the reactor does it: calls that are due first, then the sockets.
    for call in [each for each in puppet.reactor.getDelayedCalls() if each.getTime() <= puppet.reactor.seconds()]:
        puppet.reactor.calls.remove(call)
        call.func(*call.args, **call.kw)
    puppet.protocol.dataReceived(read_reply(1))
    puppet.reactor.advance(0)
    assert results(puppet) == [("a", None)]


def test_a_request_after_long_work_in_the_same_turn_has_its_whole_time(puppet: Puppet) -> None:
    def work(error: BookKeeperError | None, value: Any) -> None:
        block_s(puppet, 60)
        puppet.read("after", 2)

    puppet.channel.read_entry(1, 1, work)
    puppet.reactor.advance(0)
    puppet.protocol.dataReceived(read_reply(1))
    pass_s(puppet, 4)
    assert puppet.done == []
    puppet.protocol.dataReceived(read_reply(2))
    assert results(puppet) == [("after", None)]


def test_the_time_away_is_no_time_for_what_waits(puppet: Puppet) -> None:
    puppet.read("a", 1)
    pass_s(puppet, 2)
    block_s(puppet, 60)
    pass_s(puppet, 2)
    assert puppet.done == []
    pass_s(puppet, 2)
    puppet.lose()
    assert results(puppet) == [("a", RequestTimedOut)]


# A connection that brings nothing ------------------------------------------------------------------------------------


def test_a_silent_connection_is_given_up_and_made_again(puppet: Puppet) -> None:
    def again(error: BookKeeperError | None, value: Any) -> None:
        puppet.done.append(("again", error and type(error), value))
        puppet.read("on the new one", 3)

    puppet.channel.read_entry(1, 1, again)
    pass_s(puppet, 3)
    puppet.read("younger", 2)
    assert not puppet.transport.aborted
    pass_s(puppet, 2.5)
    assert puppet.transport.aborted
    assert (puppet.done, puppet.attempts) == ([], 1), "nothing new may go over it"
    puppet.lose()
    assert results(puppet) == [("again", RequestTimedOut), ("younger", BookieUnavailable)]
    assert puppet.attempts == 2
    puppet.accept()
    puppet.protocol.dataReceived(read_reply(3))
    assert results(puppet)[2:] == [("on the new one", None)]


def test_a_connection_that_brings_anything_stays(puppet: Puppet) -> None:
    puppet.read("hangs", 1)
    pass_s(puppet, 3)
    puppet.read("served", 2)
    puppet.protocol.dataReceived(read_reply(2))
    pass_s(puppet, 8)
    assert results(puppet) == [("served", None), ("hangs", RequestTimedOut)]
    assert not puppet.transport.aborted


def test_silence_while_nothing_is_asked_ends_no_connection(puppet: Puppet) -> None:
    pass_s(puppet, 60)
    puppet.channel.add_entry(1, 1, ENTRY, KEY, puppet.token("add"))
    pass_s(puppet, CONFIG.add_timeout_s + 0.5)
    assert results(puppet) == [("add", RequestTimedOut)]
    assert not puppet.transport.aborted, "a read would still have time"
    puppet.protocol.dataReceived(add_reply(1))
    puppet.read("read", 2)
    puppet.protocol.dataReceived(read_reply(2))
    assert results(puppet)[1:] == [("read", None)]


def test_keep_alive_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    switched: list[Any] = []
    monkeypatch.setattr("tests.transport.puppet.Handle.setsockopt", lambda _, *option: switched.append(option))
    puppet = Puppet()
    puppet.read("a")
    puppet.accept()
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in switched


def test_a_read_is_credited_beside_adds_that_are_answered_with_it(puppet: Puppet) -> None:
    puppet.channel = BookieChannel(TwistedDriver(puppet.reactor), puppet.resolve, ClientConfig())
    puppet.read("first", 0)
    puppet.accept()
    puppet.protocol.dataReceived(read_reply(0))
    puppet.done.clear()
    for entry_id in range(10):
        puppet.read(f"{entry_id}", entry_id)
    for entry_id in range(10):
        entry = (1).to_bytes(8, "big") + entry_id.to_bytes(8, "big") + bytes(24)
        puppet.channel.add_entry(1, entry_id, entry, KEY, lambda error, value: None)
        pass_s(puppet, 2)
        puppet.protocol.dataReceived(read_reply(entry_id) + add_reply(entry_id))
    assert results(puppet) == [(f"{entry_id}", None) for entry_id in range(10)]


def test_answers_that_nobody_waits_for_spare_no_request() -> None:
    """Polls that were given up are answered all the time, and a force hangs."""
    puppet = Puppet()
    puppet.channel = BookieChannel(TwistedDriver(puppet.reactor), puppet.resolve, ClientConfig(protocol="v3"))
    puppet.channel.send(ForceLedger(1), puppet.token("force"))
    puppet.accept()
    for number in range(30):
        forget = puppet.channel.send(AwaitLastAddConfirmed(1, number, 30_000, True), puppet.token("poll"))
        pass_s(puppet, 1)
        forget()
        reply = answer(V3Operation.READ_ENTRY, number + 2, ledger_id=1, entry_id=-1, max_lac=number + 1)
        puppet.protocol.dataReceived(reply)
    assert results(puppet) == [("force", RequestTimedOut)]


def test_a_request_made_after_a_long_callback_has_its_own_time_out(puppet: Puppet) -> None:
    """The callback belongs to another connection, and the sweep of this one has not come since."""
    other = Puppet()
    other.reactor = puppet.reactor
    other.channel = BookieChannel(TwistedDriver(puppet.reactor), other.resolve, CONFIG)
    other.read("first", 0)
    other.accept()
    other.read("waits", 1)
    puppet.reactor.advance(0)

    def work(error: Any, value: Any) -> None:
        block_s(puppet, 600)
        other.read("after", 2)

    puppet.channel.read_entry(1, 1, work)
    puppet.reactor.advance(0)
    puppet.protocol.dataReceived(read_reply(1))
    other.protocol.dataReceived(read_reply(1))
    pass_s(puppet, 60)
    assert other.transport.aborted
