"""A channel's requests over V3: long polls, force, lists, deferred sync, and requests on connections of their own."""

from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry import entry_list
from bookkeeper_tx.errors import (
    BookieUnavailable,
    ClientClosed,
    IllegalOperation,
    LedgerScopeNotSupported,
    ProtocolViolation,
    RequestTimedOut,
)
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from protocol_specs import ledger_id as ids
from protocol_specs.wire.operations import V3Operation
from tests.protocol.client.v3_answers import answer, requests
from tests.transport.puppet import Puppet

KEY = bytes(20)
ENTRY = bytes(40)
READ = V3Operation.READ_ENTRY
LIST = V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER


def puppet_of(protocol: str) -> Puppet:
    """A puppet whose client speaks ``protocol``."""
    puppet = Puppet()
    puppet.channel = BookieChannel(
        TwistedDriver(puppet.reactor), puppet.resolve, ClientConfig(protocol=protocol, read_timeout_s=5)
    )
    return puppet


@pytest.fixture(params=["v2", "v3"])
def puppet(request: Any) -> Puppet:
    return puppet_of(request.param)


def poll(puppet: Puppet, timeout_ms: int = 20_000) -> Any:
    return puppet.channel.send(AwaitLastAddConfirmed(1, 6, timeout_ms, True), puppet.token("poll"))


def test_a_long_poll_goes_over_v3_whatever_the_dialect(puppet: Puppet) -> None:
    poll(puppet)
    puppet.accept()
    assert isinstance(puppet.protocol._wrappedProtocol.link.connection, V3ClientConnection)
    ((request),) = requests(puppet.sent())
    assert request.read_request.time_out == 20_000
    puppet.protocol.dataReceived(answer(READ, 1, ledger_id=1, entry_id=7, body=ENTRY, max_lac=9))
    assert puppet.done == [("poll", None, (9, 7, ENTRY))]


def test_a_long_poll_may_take_its_time_and_that_of_a_read(puppet: Puppet) -> None:
    poll(puppet)
    puppet.accept()
    puppet.reactor.pump([1] * 24)
    assert puppet.done == []
    puppet.reactor.pump([1] * 2)
    assert puppet.transport.aborted, "nothing came on it"
    puppet.lose()
    assert puppet.done == [("poll", RequestTimedOut, None)]


def test_a_cancelled_long_poll_sends_nothing_and_keeps_nothing(puppet: Puppet) -> None:
    cancel = poll(puppet)
    puppet.accept()
    puppet.sent()
    cancel()
    cancel()
    assert not puppet.protocol._wrappedProtocol.link.connection.waiting
    puppet.protocol.dataReceived(answer(READ, 1, ledger_id=1, entry_id=7, body=ENTRY, max_lac=9))
    puppet.lose()
    assert puppet.sent() == b""
    assert puppet.done == []


def test_a_long_poll_cancelled_before_there_is_a_connection_is_never_sent(puppet: Puppet) -> None:
    cancel = poll(puppet)
    cancel()
    puppet.accept()
    assert puppet.sent() == b""
    assert puppet.done == []


def test_a_lost_connection_ends_a_long_poll(puppet: Puppet) -> None:
    cancel = poll(puppet)
    puppet.accept()
    puppet.lose()
    assert puppet.done == [("poll", BookieUnavailable, None)]
    cancel()
    assert len(puppet.done) == 1


def test_force_goes_over_v3(puppet: Puppet) -> None:
    puppet.channel.send(ForceLedger(1), puppet.token("force"))
    puppet.accept()
    assert requests(puppet.sent())[0].force_ledger_request.ledger_id == 1
    puppet.protocol.dataReceived(answer(V3Operation.FORCE_LEDGER, 1, ledger_id=1))
    assert puppet.done == [("force", None, None)]


@pytest.mark.parametrize("good", [True, False])
def test_a_list_of_entries_has_a_connection_of_its_own(puppet: Puppet, good: bool) -> None:
    puppet.channel.send(ForceLedger(1), puppet.token("force"))
    puppet.accept()
    puppet.channel.send(ListEntries(1), puppet.token("list"))
    puppet.accept()
    assert puppet.attempts == 2
    data = entry_list.encode([1, 2, 5]) if good else b"no list"
    puppet.protocol.dataReceived(answer(LIST, 1, ledger_id=1, availability_of_entries_of_ledger=data))
    ((name, error, value),) = puppet.done
    assert (name, error) == ("list", None if good else ProtocolViolation)
    if good:
        assert list(value) == [1, 2, 5]
    assert puppet.transport.aborted


def test_a_deferred_add_over_v2_is_refused_at_once() -> None:
    puppet = puppet_of("v2")
    puppet.channel.add_entry(1, 2, ENTRY, KEY, puppet.token("add"), deferred_sync=True)
    assert puppet.done == [], "never before the call has returned"
    puppet.reactor.advance(0)
    assert puppet.done == [("add", IllegalOperation, None)]
    assert puppet.attempts == 0


def test_a_deferred_add_over_v3_says_so() -> None:
    puppet = puppet_of("v3")
    puppet.channel.add_entry(1, 2, ENTRY, KEY, puppet.token("add"), deferred_sync=True)
    puppet.accept()
    assert requests(puppet.sent())[0].add_request.write_flags == 1


def test_a_batch_read_goes_in_the_dialect_of_the_client() -> None:
    puppet = puppet_of("v3")
    puppet.channel.send(ReadBatch(1, 0, 10, 1000), puppet.token("own"), own_connection=True)
    puppet.accept()
    assert requests(puppet.sent())[0].batch_read_request.max_count == 10
    puppet.lose()
    puppet.channel.send(ReadBatch(1, 0, 10, 1000), puppet.token("main"))
    puppet.channel.add_entry(1, 2, ENTRY, KEY, puppet.token("add"))
    puppet.accept()
    assert len(requests(puppet.sent())) == 2
    assert puppet.attempts == 2
    assert puppet.done == [("own", BookieUnavailable, None)]


def test_a_bookie_is_asked_on_a_connection_of_its_own_whether_it_knows_scopes() -> None:
    puppet = puppet_of("v3")
    puppet.channel.send(ReadLastAddConfirmed(ids.join(5, 6)), puppet.token("probe"), own_connection=True)
    puppet.accept()
    assert requests(puppet.sent())[0].read_lac_request.ledger_scope_id == 5
    puppet.protocol.dataReceived(answer(V3Operation.READ_LAC, 1, 403, ledger_id=6))
    assert [each[:2] for each in puppet.done] == [("probe", LedgerScopeNotSupported)]
    assert puppet.transport.aborted


SCOPED = ids.join(5, 6)
ASK: dict[str, Callable[[BookieChannel, Any], Any]] = {
    "add": lambda channel, done: channel.add_entry(SCOPED, 2, ENTRY, KEY, done),
    "deferred add": lambda channel, done: channel.add_entry(SCOPED, 2, ENTRY, KEY, done, deferred_sync=True),
    "read": lambda channel, done: channel.read_entry(SCOPED, 2, done),
    "range": lambda channel, done: channel.read_range(SCOPED, 2, 4, done),
    "batch": lambda channel, done: channel.send(ReadBatch(SCOPED, 2, 4, 1000), done),
    "own batch": lambda channel, done: channel.send(ReadBatch(SCOPED, 2, 4, 1000), done, own_connection=True),
    "lac": lambda channel, done: channel.send(ReadLastAddConfirmed(SCOPED), done),
    "write lac": lambda channel, done: channel.send(WriteLastAddConfirmed(SCOPED, 2, KEY, b""), done),
    "wait": lambda channel, done: channel.send(AwaitLastAddConfirmed(SCOPED, 2, 1000, True), done),
    "force": lambda channel, done: channel.send(ForceLedger(SCOPED), done),
    "list": lambda channel, done: channel.send(ListEntries(SCOPED), done),
}


@pytest.mark.parametrize("operation", ASK)
def test_a_client_of_v2_sends_nothing_of_a_scoped_ledger(operation: str) -> None:
    puppet = puppet_of("v2")
    ASK[operation](puppet.channel, puppet.token("it"))
    assert puppet.done == [], "never before the call has returned"
    puppet.reactor.advance(0)
    assert puppet.done == [("it", IllegalOperation, None)]
    assert puppet.attempts == 0


@pytest.mark.parametrize("operation", ["add", "read"])
def test_nor_over_a_connection_that_there_is(operation: str) -> None:
    puppet = puppet_of("v2")
    puppet.read("first")
    puppet.accept()
    puppet.sent()
    ASK[operation](puppet.channel, puppet.token("it"))
    assert puppet.sent() == b""
    puppet.reactor.pump([0.5])
    assert puppet.done == [("it", IllegalOperation, None)]


def test_closing_ends_what_has_a_connection_of_its_own(puppet: Puppet) -> None:
    puppet.channel.send(ListEntries(1), puppet.token("list"))
    poll(puppet)
    puppet.channel.close()
    puppet.reactor.advance(0)
    assert sorted(each[:2] for each in puppet.done) == [("list", ClientClosed), ("poll", ClientClosed)]


def test_a_request_that_is_given_up_before_there_is_a_connection_is_not_sent(puppet: Puppet) -> None:
    give_up = puppet.channel.send(ForceLedger(1), puppet.token("force"))
    puppet.channel.send(ForceLedger(2), puppet.token("other"))
    give_up()
    puppet.accept()
    assert [each.force_ledger_request.ledger_id for each in requests(puppet.sent())] == [2]


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_a_request_that_is_given_up_completes_no_more(protocol: str) -> None:
    puppet = puppet_of(protocol)
    give_up = puppet.channel.send(ReadBatch(1, 0, 10, 1000), puppet.token("batch"))
    puppet.accept()
    give_up()
    give_up()
    puppet.lose()
    puppet.reactor.advance(0)
    assert puppet.done == []


def test_giving_up_ends_a_connection_of_its_own(puppet: Puppet) -> None:
    give_up = puppet.channel.send(ListEntries(1), puppet.token("list"))
    puppet.accept()
    give_up()
    puppet.reactor.advance(0)
    assert puppet.transport.aborted
    assert puppet.done == []


def test_a_channel_is_congested_while_the_bookie_takes_nothing(puppet: Puppet) -> None:
    assert not puppet.channel.congested, "there is no connection yet"
    puppet.read("entry")
    puppet.accept()
    assert not puppet.channel.congested
    puppet.transport.producer.pauseProducing()
    assert puppet.channel.congested
    puppet.transport.producer.resumeProducing()
    assert not puppet.channel.congested
    puppet.transport.producer.pauseProducing()
    puppet.lose()
    assert not puppet.channel.congested
