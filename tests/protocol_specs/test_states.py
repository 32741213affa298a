"""The code does what the state tables say: each row of the bookie's machines is driven through a connection."""

from collections.abc import Callable

import pytest

from bookkeeper_tx.client.capability import Capability
from bookkeeper_tx.model import LedgerState
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered, ConnectionBroken, ReadRequests, Request, StartTls
from bookkeeper_tx.security.authentication import Answer, BookieAuthProvider, Completed, ConnectionPeer
from bookkeeper_tx.transport.channel import ChannelState
from protocol_specs import states
from protocol_specs.states import MACHINES, Machine, Transition
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v2, v3_pb2
from protocol_specs.wire.operations import V3Operation

KEY = bytes(20)
V2_READ = v2.READ_REQUEST_FRAME.build(
    {"length": 20, "header": 0x02020000, "ledger_id": 1, "entry_id": 2, "master_key": None}
)
V2_BATCH_READ = v2.BATCH_READ_REQUEST_FRAME.build(
    {
        "length": 40,
        "header": 0x02070000,
        "ledger_id": 1,
        "start_entry_id": 0,
        "request_id": 7,
        "max_count": 1,
        "max_size": 0,
        "master_key": None,
    }
)
TOO_LONG = b"\xff\xff\xff\xff"


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def _v3(operation: V3Operation, **parts: object) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=int(operation), txn_id=5)
    return _frame(v3_pb2.Request(header=header, **parts).SerializeToString())


V3_READ = _v3(V3Operation.READ_ENTRY, read_request=v3_pb2.ReadRequest(ledger_id=1, entry_id=2))
V3_START_TLS = _v3(V3Operation.START_TLS, start_tls_request=v3_pb2.StartTlsRequest())
NEITHER = _frame(b"\x02\x08\x00\x00")


def _v3_auth(plugin: str) -> bytes:
    return _v3(V3Operation.AUTH, auth_request=v3_pb2.AuthMessage(auth_plugin_name=plugin, payload=b"t"))


def _v2_auth(plugin: str) -> bytes:
    message = v3_pb2.AuthMessage(auth_plugin_name=plugin, payload=b"t").SerializeToString()
    return _frame(b"\x02\x03\x00\x00" + message)


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_names_its_states_and_reaches_each_from_the_first(name: str) -> None:
    machine = MACHINES[name]
    assert {row.state for row in machine.transitions} | {row.next for row in machine.transitions} == set(machine.states)
    reached = {machine.states[0]}
    while more := {row.next for row in machine.transitions if row.state in reached} - reached:
        reached |= more
    assert reached == set(machine.states)


@pytest.mark.parametrize("name", MACHINES)
def test_no_event_of_a_state_leads_to_two_places(name: str) -> None:
    rows = [(row.state, row.event) for row in MACHINES[name].transitions]
    assert len(rows) == len(set(rows))


def test_states_are_those_of_the_code() -> None:
    assert set(states.CHANNEL.states) == {state.name for state in ChannelState}
    assert set(states.CAPABILITY.states) == {capability.name for capability in Capability}
    assert set(states.LEDGER.states) - {"(none)"} == {state.name for state in LedgerState}


# Detection -----------------------------------------------------------------------------------------------------------

DETECTION_FRAMES = {
    "a frame that is V3": V3_READ,
    "a frame that is not V3 but V2": V2_READ,
    "a frame that is neither": NEITHER,
    "a length over the limit": TOO_LONG,
    "a frame that is V2": V2_READ,
    "any other frame, V3 included": V3_READ,
}


def _ids(row: Transition) -> str:
    return f"{row.state}: {row.event}"


@pytest.mark.parametrize("row", states.DETECTION.transitions, ids=_ids)
def test_detection(row: Transition) -> None:
    connection = ServerConnection()
    if row.state == "V2 ONLY":
        connection.receive(V2_READ)
    (request,) = connection.receive(DETECTION_FRAMES[row.event])
    if row.action == "close":
        assert isinstance(request, ConnectionBroken)
        assert connection.receive(V2_READ) == []
        return
    reads: ReadRequests = request  # type: ignore[assignment]
    reply = b"".join(reads.replies([statuses.ENOENTRY], -1))
    assert (reply[4] == 0x0A) == (row.action == "answer in V3")
    still_v3 = not isinstance(connection.receive(V3_READ)[0], ConnectionBroken)
    assert still_v3 == (row.next == "EITHER")


# The gate ------------------------------------------------------------------------------------------------------------


class Provider:
    """Answers when the test says so."""

    def __init__(self, completed: Completed) -> None:
        self.completed = completed
        self.answer: Answer | None = None

    def process(self, token: bytes, answer: Answer) -> None:
        self.answer = answer

    def secured(self) -> None: ...

    def close(self) -> None: ...


class Factory:
    """Makes one provider, and keeps it."""

    plugin_name = "plugin"
    provider: Provider

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> BookieAuthProvider:
        self.provider = Provider(completed)
        return self.provider


class Gate:
    """A connection with a gate, and its requests and replies."""

    def __init__(self) -> None:
        self.factory = Factory()
        self.connection = ServerConnection()
        self.events: list[Request] = []
        self.connection.require_authentication(self.factory, ConnectionPeer("127.0.0.1:1"), self.events.append)

    def receive(self, data: bytes) -> None:
        self.events += self.connection.receive(data)

    def says(self, error: Exception | None, token: bytes) -> None:
        """Have the provider answer the token that it was given."""
        assert self.factory.provider.answer is not None
        self.factory.provider.answer(error, token)

    def satisfied(self) -> None:
        self.factory.provider.completed(None)
        self.says(None, b"last")


EVENTS: dict[str, Callable[[Gate], None]] = {
    "AUTH with the bookie's plugin name": lambda gate: gate.receive(_v3_auth("plugin")),
    "the provider answers with a token": lambda gate: gate.says(None, b"challenge"),
    "the provider is satisfied": Gate.satisfied,
    "the provider refuses, V2": lambda gate: gate.says(ValueError("no"), b""),
    "the provider refuses, V3": lambda gate: gate.says(ValueError("no"), b""),
    "another AUTH before the answer": lambda gate: gate.receive(_v3_auth("plugin")),
    "AUTH with another plugin name, V2": lambda gate: gate.receive(_v2_auth("other")),
    "AUTH with another plugin name, V3": lambda gate: gate.receive(_v3_auth("other")),
    "V2 add or read": lambda gate: gate.receive(V2_READ),
    "V2 batch read": lambda gate: gate.receive(V2_BATCH_READ),
    "V3 START_TLS": lambda gate: gate.receive(V3_START_TLS),
    "any other V3 request": lambda gate: gate.receive(V3_READ),
    "AUTH": lambda gate: gate.receive(_v3_auth("anything")),
}


def _brought_to(row: Transition) -> Gate:
    gate = Gate()
    if row.state in ("ASKED", "OPEN"):
        gate.receive(_v2_auth("plugin") if row.event.endswith("V2") else _v3_auth("plugin"))
    if row.state == "OPEN":
        gate.satisfied()
    gate.events.clear()
    return gate


def _state_of(gate: Gate, read: bytes) -> str:
    """Find out by asking: a read is EUA before the gate, served after it, and nothing on a closed connection."""
    if any(isinstance(event, ConnectionBroken) for event in gate.events):
        return "CLOSED"
    event = (*gate.connection.receive(read), None)[0]
    return "UNPROVEN" if isinstance(event, Answered) else "OPEN" if event is not None else "CLOSED"


@pytest.mark.parametrize("row", states.AUTHENTICATION.transitions, ids=_ids)
def test_authentication(row: Transition) -> None:
    gate = _brought_to(row)
    EVENTS[row.event](gate)
    replies = [event.reply for event in gate.events if isinstance(event, Answered)]
    if row.action.startswith("EUA"):
        expected = (0, 0, 0, 102) if row.event.startswith("V2") else (0x10, 0xF6, 0x03)
        assert bytes(expected) in replies[0]
    elif row.action == '"AuthDisabledPlugin"':
        assert b"AuthDisabledPlugin" in replies[0]
    elif row.action == "as on any connection":
        assert all(isinstance(event, Answered | StartTls) for event in gate.events)
    elif row.action in ("send it", "send its last token"):
        assert replies
    else:
        assert replies == []
    if row.next == "ASKED":
        assert gate.factory.provider.answer is not None
    else:
        assert _state_of(gate, V2_READ if row.event.startswith("V2") else V3_READ) == row.next


def test_machines_are_drawn_under_their_names() -> None:
    assert all(isinstance(machine, Machine) and machine.title for machine in MACHINES.values())
