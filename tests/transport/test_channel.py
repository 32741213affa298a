"""The life of a channel: connections made on demand, failures, time-outs."""

from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import deferLater
from twisted.internet.testing import MemoryReactorClock

from bookkeeper_tx.errors import BookieUnavailable, CannotConnect, ClientClosed, ProtocolViolation, RequestTimedOut
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.channel_pool import ChannelPool
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from protocol_specs.wire.operations import Flag
from tests.plain_auth import PlainClient
from tests.transport.puppet import CONFIG, Puppet

KEY = bytes(20)
ENTRY = (1).to_bytes(8, "big") + (2).to_bytes(8, "big") + bytes(16)
REFUSED_ADD = bytes.fromhex("00000018020100000000006800000000000000010000000000000002")
NO_SUCH_ENTRY = bytes.fromhex("00000018020200000000000200000000000000010000000000000002")


@pytest.fixture
def puppet() -> Puppet:
    return Puppet()


def test_nothing_is_connected_before_the_first_request(puppet: Puppet) -> None:
    assert puppet.attempts == 0
    puppet.read("a")
    puppet.read("b", 3)
    assert puppet.attempts == 1
    puppet.accept()
    assert len(puppet.sent()) == 48


def test_requests_of_one_turn_are_one_write(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.sent()
    puppet.channel.add_entry(1, 2, ENTRY, KEY, puppet.token("add"))
    puppet.read("b")
    assert puppet.transport.value() == b""
    assert len(puppet.sent()) == 28 + 32 + 24
    puppet.protocol.dataReceived(REFUSED_ADD)
    assert [name for name, _, _ in puppet.done] == ["add"]


def test_a_refused_connection_fails_what_waits_and_rests(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.refuse()
    assert puppet.done == [("a", CannotConnect, None)]
    puppet.read("b")
    assert puppet.done == [("a", CannotConnect, None)], "never before the call has returned"
    puppet.reactor.advance(0)
    assert (len(puppet.done), puppet.attempts) == (2, 1)
    assert puppet.channel.interruptions == 1, "it may be another process that takes connections again"
    puppet.reactor.advance(CONFIG.reconnect_delay_s)
    puppet.read("c")
    assert puppet.attempts == 2


def test_an_unknown_address_fails_what_waits(puppet: Puppet) -> None:
    puppet.resolve = lambda: fail(BookieUnavailable("not registered"))  # type: ignore[method-assign]
    channel = BookieChannel(TwistedDriver(puppet.reactor), puppet.resolve, CONFIG)
    channel.read_entry(1, 2, puppet.token("a"))
    puppet.reactor.advance(0)
    assert puppet.done == [("a", CannotConnect, None)]


def test_a_lost_connection_fails_what_is_in_flight_and_is_made_again(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.lose()
    assert puppet.done == [("a", BookieUnavailable, None)]
    assert puppet.channel.interruptions == 1
    puppet.read("b")
    assert puppet.attempts == 2
    puppet.accept()
    assert puppet.channel.interruptions == 1
    assert len(puppet.sent()) == 24


def test_a_bookie_that_is_silent_times_out_and_its_late_reply_is_inert(puppet: Puppet) -> None:
    puppet.channel.add_entry(1, 2, ENTRY, KEY, puppet.token("add"))
    puppet.accept()
    puppet.reactor.pump([0.5] * 6)
    assert puppet.done == [("add", RequestTimedOut, None)]
    puppet.protocol.dataReceived(REFUSED_ADD)
    assert len(puppet.done) == 1


def test_garbage_aborts_the_connection(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.protocol.dataReceived(b"\xff" * 8)
    assert puppet.transport.aborted
    puppet.lose()
    assert puppet.done == [("a", ProtocolViolation, None)]


def test_a_bookie_that_takes_nothing_is_unavailable_for_more(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.transport.producer.pauseProducing()
    for entry_id in range(20):
        puppet.channel.add_entry(1, entry_id, entry_id.to_bytes(16, "big") + bytes(84), KEY, puppet.token("add"))
    puppet.reactor.advance(0)
    puppet.read("b", 9)
    puppet.reactor.advance(0)
    assert puppet.done == [("b", BookieUnavailable, None)]
    puppet.transport.producer.resumeProducing()
    puppet.read("c", 9)
    puppet.reactor.advance(0)
    assert len(puppet.done) == 1


def test_a_probe_travels_on_a_connection_of_its_own(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    main = puppet.protocol
    puppet.channel.send(ReadBatch(1, 0, 10, 1000), puppet.token("batch"), own_connection=True)
    assert puppet.attempts == 2
    puppet.accept()
    puppet.lose()
    assert puppet.done == [("batch", BookieUnavailable, None)]
    main.dataReceived(NO_SUCH_ENTRY)
    assert [name for name, _, _ in puppet.done] == ["batch", "a"]


def test_closing_fails_what_waits_and_what_comes(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.channel.close()
    puppet.read("b")
    puppet.reactor.advance(0)
    assert puppet.done == [("a", ClientClosed, None), ("b", ClientClosed, None)]


def test_a_closed_pool_connects_to_nobody() -> None:
    puppet = Puppet()
    pool = ChannelPool(TwistedDriver(puppet.reactor), lambda _: puppet.resolve(), CONFIG)
    known = pool.channel("known")
    pool.close()
    pool.channel("new").read_entry(1, 2, puppet.token("read"))
    known.send(ReadBatch(1, 2, 10, 1000), puppet.token("batch"), own_connection=True)
    puppet.reactor.advance(0)
    assert puppet.done == [("read", ClientClosed, None), ("batch", ClientClosed, None)]
    assert puppet.attempts == 0


def test_the_answer_of_a_plain_read_is_never_that_of_a_fencing_one(puppet: Puppet) -> None:
    puppet.channel.read_entry(1, 2, puppet.token("fencing"), flags=Flag.FENCING, master_key=KEY)
    puppet.accept()
    puppet.read("plain")
    puppet.accept()
    puppet.protocol.dataReceived(NO_SUCH_ENTRY)
    assert [name for name, _, _ in puppet.done] == ["plain"]


def test_closing_fails_what_was_sent_as_closed_too(puppet: Puppet) -> None:
    """If a writer took this for a failure of the bookie, it would change its ensemble while its client is closed."""
    puppet.read("a")
    puppet.accept()
    puppet.sent()
    puppet.channel.close()
    assert puppet.transport.aborted
    puppet.lose()
    assert puppet.done == [("a", ClientClosed, None)]


def test_a_connection_made_after_close_is_dropped(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.channel.close()
    puppet.accept()
    assert puppet.transport.aborted


def test_one_callback_that_fails_does_not_keep_the_others_from_their_replies(puppet: Puppet) -> None:
    def broken(error: Any, value: Any) -> None:
        raise RuntimeError("a mistake of the caller")

    puppet.channel.read_entry(1, 2, broken)
    puppet.read("b", 3)
    puppet.accept()
    puppet.sent()
    puppet.lose()
    assert [name for name, _, _ in puppet.done] == ["b"]


def test_the_pool_gives_one_channel_a_bookie() -> None:
    reactor = MemoryReactorClock()
    asked: list[str] = []

    def resolve(bookie_id: str) -> Deferred[BookieServiceInfo]:
        asked.append(bookie_id)
        return succeed(BookieServiceInfo("127.0.0.1", 1))

    pool = ChannelPool(TwistedDriver(reactor), resolve, CONFIG)
    assert pool.channel("b1:3181") is pool.channel("b1:3181")
    pool.channel("b1:3181").read_entry(1, 2, lambda *_: None)
    assert asked == ["b1:3181"]
    assert pool.close().called


class LateDriver(TwistedDriver):
    """Tells of a connection a second after it was made, as a driver may whose promises fire in a later turn."""

    def connect(self, *arguments: Any) -> Deferred[Any]:
        return super().connect(*arguments).addCallback(lambda made: deferLater(self.clock, 1, lambda: made))


def test_a_connection_that_is_lost_before_it_is_told_of_was_never_there(puppet: Puppet) -> None:
    puppet.channel = BookieChannel(LateDriver(puppet.reactor), puppet.resolve, CONFIG)
    puppet.read("a")
    puppet.accept()
    puppet.lose()
    puppet.reactor.advance(1)
    puppet.reactor.advance(0)
    assert puppet.done == [("a", CannotConnect, None)]
    puppet.reactor.advance(CONFIG.reconnect_delay_s)
    puppet.read("b")
    assert puppet.attempts == 2
    puppet.accept()
    puppet.reactor.advance(1)
    assert len(puppet.sent()) == 24


def test_a_connection_that_is_lost_before_its_handshake_has_none(puppet: Puppet) -> None:
    config = evolve(CONFIG, auth=PlainClient())
    puppet.channel = BookieChannel(LateDriver(puppet.reactor), puppet.resolve, config)
    puppet.read("a")
    puppet.accept()
    puppet.lose()
    puppet.reactor.advance(1)
    puppet.reactor.advance(0)
    assert puppet.done == [("a", CannotConnect, None)]
    closed: list[Any] = []
    puppet.channel.close().addCallback(closed.append)
    assert closed == [None]
    assert [call for call in puppet.reactor.getDelayedCalls() if call.getTime() > CONFIG.reconnect_delay_s + 1] == []
