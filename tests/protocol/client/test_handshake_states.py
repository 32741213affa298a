"""The handshake of a client goes through the table of the reference, row by row, in V3."""

from collections.abc import Callable

import pytest

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.handshake import ClientHandshake, State
from bookkeeper_tx.security.authentication import Answer, ClientAuthProvider, Completed, ConnectionPeer
from protocol_specs.states import HANDSHAKE, Transition
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status

PLUGIN = "plugin"


class Provider:
    """Answers a token with the next one, until the test says otherwise."""

    def __init__(self, completed: Completed) -> None:
        self.completed = completed

    def start(self, answer: Answer) -> None:
        answer(None, b"first")

    def process(self, token: bytes, answer: Answer) -> None:
        answer(None, b"answer to " + token)

    def close(self) -> None: ...


class Bench:
    """A handshake, and its calls of the connection."""

    plugin_name = PLUGIN
    provider: Provider

    def __init__(self, tls: bool, plugin: bool) -> None:
        self.sent: list[v3_pb2.Request] = []
        self.started_tls = False
        self.complete = False
        self.failure: BookKeeperError | None = None
        peer = ConnectionPeer("127.0.0.1:3181")
        self.handshake = ClientHandshake(self, peer, tls, self if plugin else None, v2=False)

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> ClientAuthProvider:
        self.provider = Provider(completed)
        return self.provider

    def send_handshake(self, data: bytes) -> None:
        self.sent.append(v3_pb2.Request.FromString(data[4:]))

    def start_tls(self) -> None:
        self.started_tls = True

    def handshake_complete(self, rest: bytes) -> None:
        self.complete = True

    def handshake_failed(self, error: BookKeeperError) -> None:
        self.failure = error

    def start(self) -> None:
        self.handshake.start()

    def secured(self) -> None:
        self.handshake.secured(None)

    def reply(
        self, operation: V3Operation, status: Status = statuses.EOK, plugin: str = PLUGIN, behind: bytes = b""
    ) -> None:
        header = v3_pb2.PacketHeader(version=3, operation=int(operation), txn_id=1)
        response = v3_pb2.Response(header=header, status=status.v3)
        if operation is V3Operation.AUTH:
            response.auth_response.auth_plugin_name = plugin
            response.auth_response.payload = b"token"
        body = response.SerializeToString()
        self.handshake.receive(len(body).to_bytes(4, "big") + body + behind)


START_TLS, AUTH = V3Operation.START_TLS, V3Operation.AUTH


def _broken_off(bench: Bench) -> None:
    bench.reply(AUTH)
    bench.sent.clear()
    bench.reply(AUTH, plugin="AuthDisabledPlugin")


EVENTS: dict[str, Callable[[Bench], None]] = {
    "TLS is wanted": Bench.start,
    "only a plugin": Bench.start,
    "neither": Bench.start,
    "EOK": lambda bench: bench.reply(START_TLS),
    "another status": lambda bench: bench.reply(START_TLS, statuses.EBADREQ),
    "EOK, and bytes after it": lambda bench: bench.reply(START_TLS, behind=b"x"),
    "TLS is up, and a plugin": Bench.secured,
    "TLS is up": Bench.secured,
    "a token": lambda bench: bench.reply(AUTH),
    "another reply": lambda bench: bench.reply(V3Operation.READ_ENTRY, statuses.EUA),
    "the provider is done": lambda bench: bench.provider.completed(None),
    '"AuthDisabledPlugin"': lambda bench: bench.reply(AUTH, plugin="AuthDisabledPlugin"),
    '"AuthDisabledPlugin" after a token': _broken_off,
    "a token of another plugin": lambda bench: bench.reply(AUTH, plugin="other"),
    "V3: another status": lambda bench: bench.reply(AUTH, statuses.EUA),
    "the provider refuses": lambda bench: bench.provider.completed(ValueError("no")),
}


def _brought_to(row: Transition) -> Bench:
    plugin = row.state == "AUTHENTICATING" or "plugin" in row.event
    bench = Bench(row.state in ("ASKING_TLS", "SECURING") or row.event == "TLS is wanted", plugin)
    if row.state != "NEW":
        bench.start()
    if row.state == "SECURING":
        bench.reply(START_TLS)
    assert bench.handshake.state.name == row.state
    bench.sent.clear()
    bench.started_tls = False
    return bench


@pytest.mark.parametrize("row", HANDSHAKE.transitions, ids=lambda row: f"{row.state}: {row.event}")
def test_each_row(row: Transition) -> None:
    bench = _brought_to(row)
    EVENTS[row.event](bench)
    assert bench.handshake.state.name == row.next
    assert (bench.complete, bench.failure is not None) == (row.next == "COMPLETE", row.next == "FAILED")
    assert bench.started_tls == (row.action == "ClientHello")
    asked = {"START_TLS, in V3": [START_TLS], "its first token": [AUTH], "the provider's answer": [AUTH]}
    assert [request.header.operation for request in bench.sent] == asked.get(row.action, [])


def test_the_states_are_those_of_the_code() -> None:
    assert set(HANDSHAKE.states) == {state.name for state in State}
