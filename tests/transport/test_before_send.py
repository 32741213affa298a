"""What is to be sent at the end of a turn of the reactor goes with its bytes, also when the connection ends first."""

from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from bookkeeper_tx.errors import ClientClosed, RequestTimedOut
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.client_link import SWEEP_INTERVAL_S
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from tests.transport.puppet import CONFIG, Puppet

KEY = bytes(20)
ENTRY = bytes(7) + b"\1" + bytes(32)


def connected() -> Puppet:
    puppet = Puppet()
    puppet.channel = BookieChannel(TwistedDriver(puppet.reactor), puppet.resolve, CONFIG)
    puppet.channel.add_entry(1, 0, ENTRY, KEY, puppet.token("first"))
    assert not puppet.channel.before_send(lambda: None), "there is no connection yet"
    puppet.accept()
    puppet.sent()
    return puppet


def test_requests_made_before_the_bytes_go_with_them() -> None:
    puppet = connected()
    channel = puppet.channel
    assert channel.before_send(lambda: channel.add_entry(1, 1, ENTRY, KEY, puppet.token("second")))
    assert puppet.transport.value() == b""
    assert puppet.sent().endswith(ENTRY)
    assert puppet.sent() == b"", "it is called once"


def test_a_call_that_fails_takes_no_other_with_it() -> None:
    puppet = connected()
    channel = puppet.channel
    channel.before_send(lambda: 1 / 0)
    channel.before_send(lambda: channel.add_entry(1, 1, ENTRY, KEY, puppet.token("second")))
    assert puppet.sent().endswith(ENTRY)


def test_requests_of_a_call_made_while_the_calls_are_made_go_as_well() -> None:
    puppet = connected()
    channel = puppet.channel

    def add() -> None:
        channel.add_entry(1, 1, ENTRY, KEY, puppet.token("second"))

    channel.before_send(lambda: channel.before_send(add))
    assert puppet.sent().endswith(ENTRY)


def test_a_request_made_while_time_outs_are_looked_for_has_one() -> None:
    puppet = connected()
    channel = puppet.channel
    puppet.protocol.dataReceived(bytes.fromhex("00000018 02010000 00000000") + ENTRY[:16])

    def add() -> None:
        channel.add_entry(1, 1, ENTRY, KEY, puppet.token("second"))

    puppet.reactor.callLater(SWEEP_INTERVAL_S, channel.before_send, add)
    puppet.reactor.advance(SWEEP_INTERVAL_S)
    puppet.reactor.pump([SWEEP_INTERVAL_S] * 8)
    assert puppet.done == [("first", None, None), ("second", RequestTimedOut, None)]


def test_requests_of_the_turn_in_which_the_client_is_closed_fail_before_that_is_done() -> None:
    puppet = connected()
    channel = puppet.channel
    channel.before_send(lambda: channel.add_entry(1, 1, ENTRY, KEY, puppet.token("second")))
    channel.close().addCallback(lambda _: puppet.done.append(("closed", None, None)))
    puppet.protocol.connectionLost(Failure(ConnectionDone()))
    assert sorted(puppet.done) == [
        ("closed", None, None),
        ("first", ClientClosed, None),
        ("second", ClientClosed, None),
    ]


def test_a_lost_connection_makes_the_requests_all_the_same() -> None:
    puppet = connected()
    channel = puppet.channel
    channel.before_send(lambda: channel.add_entry(1, 1, ENTRY, KEY, puppet.token("second")))
    puppet.lose()
    assert [name for name, *_ in puppet.done] == ["first"]
    puppet.accept()
    assert puppet.sent().endswith(ENTRY)
