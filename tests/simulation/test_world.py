"""The parts of the simulated world do what the page says of them."""

from random import Random
from typing import Any

import pytest
from twisted.internet import error
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.model import BookieServiceInfo
from tests.simulation.world.machine import Machine
from tests.simulation.world.metadata_server import MetadataServer
from tests.simulation.world.network import Network
from tests.simulation.world.store_session import StoreSession
from tests.simulation.world.timeline import Timeline

CLIENT, SERVER = "10.0.1.1", "10.0.0.1"


class _Peer(Protocol):
    """Notes what comes, and when."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.received = b""
        self.times: list[float] = []
        self.lost: list[Failure] = []

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        self.times.append(self.timeline.now)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self.lost.append(reason)


class _Pair:
    """A client and a server that are connected."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.network = Network(self.timeline, Random(1))
        self.machines = {address: self.network.machine(address) for address in (CLIENT, SERVER)}
        reactors = {address: machine.begin(self.network) for address, machine in self.machines.items()}
        self.server = _Peer(self.timeline)
        self.client = _Peer(self.timeline)
        factory = Factory.forProtocol(lambda: self.server)
        reactors[SERVER].adoptStreamPort(-1, 0, factory)
        self.connected = self.connect()
        self.timeline.run(1.0)

    def connect(self, timeout_s: float = 5.0) -> Deferred[Any]:
        endpoint = TCP4ClientEndpoint(self.machines[CLIENT].reactor, SERVER, 3181, timeout=timeout_s)
        return endpoint.connect(Factory.forProtocol(lambda: self.client))

    def say(self, data: bytes) -> None:
        transport: Any = self.client.transport
        transport.write(data)


@pytest.fixture
def pair() -> _Pair:
    pair = _Pair()
    assert pair.connected.called
    return pair


def failure_of(deferred: Deferred[Any]) -> Any:
    found: list[Any] = []
    deferred.addErrback(found.append)
    assert found, "no failure"
    return found[0].value


def test_bytes_come_in_their_order_and_as_fast_as_the_link_is(pair: _Pair) -> None:
    pair.network.slow[SERVER] = 0.5, 10_000
    sent = b"".join(b"%5d" % number for number in range(10_000))
    started_s = pair.timeline.now
    for at in range(0, len(sent), 7_000):
        pair.say(sent[at : at + 7_000])
    pair.timeline.run(60.0)
    assert pair.server.received == sent
    assert pair.server.times[0] - started_s > 0.5
    assert 5.0 < pair.server.times[-1] - started_s < 12.0


def test_what_a_partition_holds_up_comes_when_it_is_over(pair: _Pair) -> None:
    pair.network.cut.add((CLIENT, SERVER))
    pair.say(b"first")
    late = pair.connect(2.0)
    pair.timeline.run(4.0)
    assert pair.server.received == b""
    assert "Timeout" in type(failure_of(late)).__name__
    pair.network.heal(CLIENT, SERVER)
    pair.say(b" second")
    pair.timeline.run(8.0)
    assert pair.server.received == b"first second"


def test_a_swallowed_flow_tells_nobody(pair: _Pair) -> None:
    (connection,) = pair.network.between(CLIENT, SERVER)
    connection.swallowed = True
    pair.say(b"x")
    pair.machines[CLIENT].kill()
    pair.timeline.run(60.0)
    assert (pair.server.received, pair.server.lost) == (b"", [])


@pytest.mark.parametrize("end", ["kill", "close", "abort", "reset"])
def test_the_other_side_hears_of_an_end(pair: _Pair, end: str) -> None:
    transport: Any = pair.client.transport
    pair.say(b"before")
    if end == "kill":
        pair.machines[CLIENT].kill()
    elif end == "reset":
        pair.network.between(CLIENT, SERVER)[0].break_now()
    else:
        {"close": transport.loseConnection, "abort": transport.abortConnection}[end]()
    pair.timeline.run(2.0)
    assert len(pair.server.lost) == 1
    assert len(pair.client.lost) == (0 if end == "kill" else 1)
    if end == "close":
        assert pair.server.received == b"before"


def test_a_pause_holds_everything_up_and_then_timers_come_first(pair: _Pair) -> None:
    machine = pair.machines[SERVER]
    assert machine.reactor is not None
    order: list[str] = []
    machine.reactor.callLater(1.0, order.append, "timer")
    pair.server.dataReceived = lambda data: order.append("data")  # type: ignore[method-assign]
    machine.pause(5.0)
    pair.say(b"x")
    pair.timeline.run(5.5)
    assert order == []
    pair.timeline.run(7.0)
    assert order == ["timer", "data"]


def test_pauses_are_summed_up_and_those_that_overlap_count_once() -> None:
    timeline = Timeline()
    machine = Machine(timeline, SERVER)
    machine.begin(None)
    machine.pause(5.0)
    timeline.run(2.0)
    assert machine.paused_s == 2.0
    machine.pause(1.0)
    timeline.run(10.0)
    machine.pause(4.0)
    timeline.run(12.0)
    assert machine.paused_s == 5.0


def test_a_process_that_was_killed_does_nothing_more() -> None:
    timeline = Timeline()
    machine = Machine(timeline, SERVER)
    done: list[str] = []
    machine.begin(None).callLater(1.0, done.append, "old")
    machine.kill()
    machine.begin(None).callLater(2.0, done.append, "new")
    timeline.run(5.0)
    assert done == ["new"]


def test_the_time_of_day_is_set_and_timers_do_not_mind() -> None:
    timeline = Timeline()
    machine = Machine(timeline, SERVER)
    done: list[float] = []
    reactor = machine.begin(None)
    before = machine.clock
    reactor.callLater(2.0, lambda: done.append(timeline.now))
    machine.step_clock(-3600.0)
    timeline.run(5.0)
    assert done == [pytest.approx(2.0, abs=1e-3)]
    assert machine.clock == pytest.approx(before - 3595.0)


def test_an_answer_that_is_lost_was_done() -> None:
    timeline = Timeline()
    machine = Machine(timeline, CLIENT)
    machine.begin(None)
    server = MetadataServer(Random(1), lost_answers=1.0)
    asked = StoreSession(machine, server).new_ledger_id()
    timeline.run(30.0)
    assert isinstance(failure_of(asked), MetadataUnavailable)
    assert server.next_ledger_id == 1


@pytest.mark.parametrize("to", [CLIENT, SERVER])
def test_a_connection_that_breaks_after_some_bytes_brings_these(pair: _Pair, to: str) -> None:
    (connection,) = pair.network.between(CLIENT, SERVER)
    sender, receiver = (pair.server, pair.client) if to == CLIENT else (pair.client, pair.server)
    (connection.client if to == CLIENT else connection.server).cut_after = 3
    transport: Any = sender.transport
    transport.write(b"frame")
    pair.timeline.run(2.0)
    assert receiver.received == b"fra"
    assert receiver.lost


@pytest.mark.parametrize("to", [CLIENT, SERVER])
def test_junk_comes_behind_what_was_sent_to_the_same_side(pair: _Pair, to: str) -> None:
    (connection,) = pair.network.between(CLIENT, SERVER)
    sender, receiver = (pair.server, pair.client) if to == CLIENT else (pair.client, pair.server)
    transport: Any = sender.transport
    transport.write(b"frame")
    (connection.server if to == CLIENT else connection.client).add_junk(b"junk")
    transport.write(b"frame")
    pair.timeline.run(2.0)
    assert (receiver.received, sender.received) == (b"framejunkframe", b"")


def test_a_client_that_is_refused_cannot_connect_until_that_is_over(pair: _Pair) -> None:
    pair.network.refused.add((CLIENT, SERVER))
    refused = pair.connect()
    pair.timeline.run(2.0)
    assert isinstance(failure_of(refused), error.ConnectionRefusedError)
    pair.network.refused.clear()
    connected = pair.connect()
    pair.timeline.run(3.0)
    assert connected.called


def test_what_is_late_between_two_hosts_is_late_in_that_direction_only(pair: _Pair) -> None:
    pair.network.late[CLIENT, SERVER] = 1.0
    started_s = pair.timeline.now
    pair.say(b"x")
    server: Any = pair.server.transport
    server.write(b"y")
    pair.timeline.run(started_s + 5.0)
    assert pair.server.times[0] - started_s > 1.0
    assert pair.client.times[0] - started_s < 0.5


def test_what_comes_late_from_a_process_that_is_gone_does_not_end_the_next_one() -> None:
    timeline = Timeline()
    machine = Machine(timeline, SERVER)
    server = MetadataServer(Random(1))
    info = BookieServiceInfo(SERVER, 3181)
    machine.begin(None)
    old = StoreSession(machine, server)
    old.register_bookie("b", info)
    timeline.run(1.0)
    server.away_until = 3.0
    old.unregister_bookie("b")
    server.expire(old)
    machine.kill()
    machine.begin(None)
    server.away_until = 0.0
    StoreSession(machine, server).register_bookie("b", info)
    timeline.run(5.0)
    assert "b" in server.bookies


def test_who_is_gone_is_not_registered_by_what_comes_late() -> None:
    timeline = Timeline()
    machine = Machine(timeline, SERVER)
    server = MetadataServer(Random(1), session_s=0.3)
    machine.begin(None)
    server.away_until = 3.0
    StoreSession(machine, server).register_bookie("b", BookieServiceInfo(SERVER, 3181))
    machine.kill()
    timeline.run(5.0)
    assert "b" not in server.bookies


def test_a_process_that_is_paused_for_longer_than_its_session_loses_it_and_has_a_new_one_then() -> None:
    timeline, machine, server = _registered(session_s=3.0)
    machine.pause(2.0)
    timeline.run(2.5)
    assert "b" in server.bookies
    machine.pause(2.0)
    timeline.run(4.0)
    machine.pause(3.0)
    timeline.run(5.0)
    assert "b" in server.bookies
    timeline.run(6.0)
    assert "b" not in server.bookies
    timeline.run(8.0)
    assert "b" in server.bookies


def test_a_change_of_a_registration_that_was_sent_before_a_pause_and_comes_behind_the_session_is_made_again() -> None:
    timeline, machine, server = _registered(session_s=3.0)
    server.away_until = 5.0
    assert server.bookies["b"].session is not None
    done = server.bookies["b"].session.register_bookie("b", BookieServiceInfo(SERVER, 3181), read_only=True)
    machine.pause(6.0)
    timeline.run(5.5)
    assert "b" not in server.bookies
    timeline.run(10.0)
    assert done.called
    assert server.bookies["b"].read_only


def test_a_change_that_comes_after_the_end_of_its_session_is_not_made() -> None:
    timeline, machine, server = _registered(session_s=3.0)
    session = server.bookies["b"].session
    server.away_until = 5.0
    refused: list[Any] = []
    session.write_record(("a",), b"late", None).addErrback(refused.append)
    machine.pause(6.0)
    timeline.run(7.0)
    assert refused[0].check(MetadataUnavailable)
    session.write_record(("a",), b"again", None)
    timeline.run(8.0)
    assert server.records == {("a",): (b"again", 0)}


def _registered(session_s: float) -> tuple[Timeline, Machine, MetadataServer]:
    """Return a machine with a process that is registered, half a second after it began."""
    timeline = Timeline()
    machine = Machine(timeline, SERVER)
    server = MetadataServer(Random(1), session_s=session_s)
    machine.begin(None)
    StoreSession(machine, server).register_bookie("b", BookieServiceInfo(SERVER, 3181))
    timeline.run(0.5)
    return timeline, machine, server
