"""The gate of a bookie: the answer to each frame of a client that has not authenticated."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import AuthenticationFailed, ProtocolViolation
from bookkeeper_tx.protocol import v2_auth_frame
from bookkeeper_tx.protocol.bookie import v2, v3
from bookkeeper_tx.protocol.bookie.auth import ServerGate
from bookkeeper_tx.protocol.bookie.connection import UNAUTHENTICATED_SIZE_MAX, ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered, ConnectionBroken, ConnectionEvent, StartTls
from bookkeeper_tx.security.authentication import Answer, Completed, ConnectionPeer
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.v3_pb2 import AuthMessage
from tests.plain_auth import PlainBookie, PlainBookieProvider

V2_READ = bytes.fromhex("000000140202000000000000000000010000000000000002")
V2_READ_REFUSED = bytes.fromhex("00000018020200000000006600000000000000010000000000000002")
V2_ADD = bytes.fromhex("00000038 02010000" + "00" * 20 + "0000000000000001 0000000000000002" + "00" * 16)
V2_ADD_REFUSED = bytes.fromhex("00000018020100000000006600000000000000010000000000000002")
V2_BATCH = bytes.fromhex("00000028020700000000000000000001" + "00" * 8 + "000000000000004d0000000a" + "00" * 8)
GOOD = b"reader\0secret"
AUTH_DISABLED = b"AuthDisabledPlugin"


def v2_auth(token: bytes, plugin: str = "plain", version: int = 2) -> bytes:
    return v2_auth_frame.encode(3 if version == 0 else version << 24 | 3 << 16, plugin, token)


def v3_frame(operation: V3Operation, priority: int | None = None, **parts: Any) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=operation, txn_id=7, priority=priority)
    body = v3_pb2.Request(header=header, **parts).SerializeToString()
    return len(body).to_bytes(4, "big") + body


def v3_auth(token: bytes, plugin: str = "plain") -> bytes:
    return v3_frame(V3Operation.AUTH, auth_request=AuthMessage(auth_plugin_name=plugin, payload=token))


V3_READ = v3_frame(V3Operation.READ_ENTRY, 9, read_request=v3_pb2.ReadRequest(ledger_id=1, entry_id=2))
V3_INFO = v3_frame(V3Operation.GET_BOOKIE_INFO)
START_TLS = v3_frame(V3Operation.START_TLS, start_tls_request=v3_pb2.StartTlsRequest())


class Guarded:
    """A connection with a gate, and all its events."""

    def __init__(self, plugin: PlainBookie | None = None, tls: bool = False) -> None:
        self.plugin = plugin or PlainBookie({"reader": "secret"})
        self.connection = ServerConnection()
        self.later: list[ConnectionEvent] = []
        self.peer = ConnectionPeer("10.0.0.1:4711")
        if tls:
            self.connection.offer_tls()
        self.gate: ServerGate = self.connection.require_authentication(self.plugin, self.peer, self.later.append)

    def receive(self, *frames: bytes) -> list[Any]:
        return self.connection.receive(b"".join(frames))


def status(event: Any) -> Any:
    return v3_pb2.Response.FromString(event.reply[4:])


def v2_token(event: Any) -> tuple[str, bytes]:
    message = v2_auth_frame.decode(event.reply, 0, len(event.reply))[1]
    return message.auth_plugin_name, message.payload


@pytest.mark.parametrize(("request_", "refused"), [(V2_READ, V2_READ_REFUSED), (V2_ADD, V2_ADD_REFUSED)])
def test_adds_and_reads_in_v2_are_unauthorized(request_: bytes, refused: bytes) -> None:
    guarded = Guarded()
    assert guarded.receive(request_, request_) == [Answered(refused), Answered(refused)]
    assert guarded.receive(v2_auth(GOOD))[0].reply
    assert type(guarded.receive(request_)[0]) in (v2.AddRequests, v2.ReadRequests)


@pytest.mark.parametrize(
    "frame", [V2_BATCH, v2_auth(GOOD, "sasl"), bytes.fromhex("00000014020900000000000000000001") + bytes(8)]
)
def test_anything_else_in_v2_breaks_the_connection(frame: bytes) -> None:
    (broken,) = Guarded().receive(frame, V2_READ)
    assert isinstance(broken, ConnectionBroken)
    assert isinstance(broken.error, ProtocolViolation)


@pytest.mark.parametrize(
    "frame",
    [
        V3_READ,
        V3_INFO,
        v3_auth(GOOD, "sasl"),
        v3_frame(V3Operation.AUTH),
        v3_frame(V3Operation.START_TLS),
        v3_frame(V3Operation.RANGE_READ_ENTRY, 3),
    ],
)
def test_anything_else_in_v3_is_unauthorized_under_its_own_header(frame: bytes) -> None:
    guarded = Guarded()
    (answered,) = guarded.receive(frame)
    reply = status(answered)
    assert reply.header == v3_pb2.Request.FromString(frame[4:]).header
    assert (reply.status, [field.name for field, _ in reply.ListFields()]) == (502, ["header", "status"])
    assert isinstance(guarded.receive(V3_READ)[0], Answered), "the connection goes on"


def test_in_v3() -> None:
    guarded = Guarded()
    answered, read = guarded.receive(v3_auth(GOOD), V3_READ)
    reply = status(answered)
    assert (reply.status, reply.auth_response.auth_plugin_name, reply.auth_response.payload) == (0, "plain", b"welcome")
    assert isinstance(read, v3.ReadRequests)
    assert guarded.peer.principal == "reader"
    assert status(guarded.receive(v3_auth(b"again"))[0]).auth_response.auth_plugin_name == AUTH_DISABLED.decode()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_in_v2_under_the_version_of_the_request(version: int) -> None:
    guarded = Guarded()
    answered, read = guarded.receive(v2_auth(GOOD, version=version), V2_READ)
    assert v2_token(answered) == ("plain", b"welcome")
    assert answered.reply[4:8] == v2_auth(b"", version=version)[4:8]
    assert isinstance(read, v2.ReadRequests)


def test_authentication_is_of_the_connection_and_not_of_a_dialect() -> None:
    guarded = Guarded()
    _, read = guarded.receive(v3_auth(GOOD), V2_READ)
    assert isinstance(read, v2.ReadRequests)


def test_in_several_rounds() -> None:
    guarded = Guarded(PlainBookie({"reader": "secret"}, rounds=3))
    assert [v2_token(guarded.receive(v2_auth(b"x"))[0])[1] for _ in range(2)] == [b"more", b"more"]
    assert guarded.receive(V2_READ) == [Answered(V2_READ_REFUSED)]
    assert v2_token(guarded.receive(v2_auth(GOOD))[0])[1] == b"welcome"
    assert isinstance(guarded.receive(V2_READ)[0], v2.ReadRequests)


def test_who_is_refused_in_v3_is_told_so_and_closed() -> None:
    answered, broken = Guarded().receive(v3_auth(b"reader\0wrong"), V3_READ)[:2]
    assert status(answered).status == 502
    assert isinstance(broken.error, AuthenticationFailed)


def test_who_is_refused_in_v2_is_closed() -> None:
    (broken, *_) = Guarded().receive(v2_auth(b"reader\0wrong"))
    assert isinstance(broken.error, AuthenticationFailed)


def test_a_provider_that_raises_refuses() -> None:
    answered, broken = Guarded().receive(v3_auth(b"\xff"))
    assert status(answered).status == 502
    assert isinstance(broken, ConnectionBroken)


def test_a_provider_that_takes_its_time() -> None:
    jobs: list[Any] = []
    guarded = Guarded(PlainBookie({"reader": "secret"}, later=jobs.append))
    assert guarded.receive(v3_auth(GOOD), V3_READ)[0].reply == guarded.receive(V3_READ)[0].reply
    jobs.pop()()
    assert [status(event).auth_response.payload for event in guarded.later] == [b"welcome"]
    assert isinstance(guarded.receive(V3_READ)[0], v3.ReadRequests)


def test_a_second_token_before_the_first_is_answered_breaks_the_connection() -> None:
    guarded = Guarded(PlainBookie({}, later=lambda job: None))
    (broken,) = guarded.receive(v3_auth(GOOD), v3_auth(GOOD))
    assert isinstance(broken.error, ProtocolViolation)


def test_what_comes_after_the_end_is_dropped() -> None:
    jobs: list[Any] = []
    guarded = Guarded(PlainBookie({"reader": "secret"}, later=jobs.append))
    guarded.receive(v3_auth(GOOD))
    guarded.gate.close()
    jobs.pop()()
    assert (guarded.later, guarded.plugin.closed) == ([], 1)


def test_a_provider_that_raises_behind_its_answer_refuses() -> None:
    class Mistaken(PlainBookieProvider):
        def process(self, token: bytes, answer: Answer) -> None:
            super().process(token, answer)
            raise RuntimeError("behind the answer")

    class Plugin(PlainBookie):
        def new_provider(self, peer: ConnectionPeer, completed: Completed) -> PlainBookieProvider:
            return Mistaken(self, peer, completed)

    guarded = Guarded(Plugin({"reader": "secret"}))
    events = guarded.receive(v3_auth(GOOD), V3_READ)
    assert [type(event) for event in events[:3]] == [Answered, Answered, ConnectionBroken]
    assert not guarded.gate.opened


def test_one_wrong_password_is_the_last() -> None:
    """Otherwise a client could send a thousand passwords in one piece."""
    plugin = PlainBookie({"reader": "secret"})
    guarded = Guarded(plugin)
    events = guarded.receive(v3_auth(b"reader\0wrong"), v3_auth(GOOD))
    assert [type(event) for event in events] == [Answered, ConnectionBroken, ConnectionBroken]
    assert guarded.peer.principal is None
    assert guarded.receive(V3_READ) == []


def test_a_long_frame_is_not_waited_for_before_authentication() -> None:
    longest = UNAUTHENTICATED_SIZE_MAX.to_bytes(4, "big")
    too_long = (UNAUTHENTICATED_SIZE_MAX + 1).to_bytes(4, "big")
    assert Guarded().receive(longest) == []
    for guarded in (Guarded(), Guarded(tls=True)):
        (broken,) = guarded.receive(too_long)
        assert str(UNAUTHENTICATED_SIZE_MAX + 1) in str(broken.error)
    guarded = Guarded()
    assert len(guarded.receive(v2_auth(GOOD), too_long)) == 1, "it may be as long as any behind the token"


# TLS -----------------------------------------------------------------------------------------------------------------


def test_without_tls_it_is_refused_before_and_after_authentication() -> None:
    guarded = Guarded()
    before, _, after = guarded.receive(START_TLS, v3_auth(GOOD), START_TLS)
    assert (before, status(before).status, status(before).header.version) == (after, 404, 3)


def test_with_tls_nothing_in_clear_is_read_behind_it() -> None:
    guarded = Guarded(tls=True)
    (start, broken) = guarded.receive(START_TLS, V3_READ)
    assert isinstance(start, StartTls)
    assert isinstance(broken.error, ProtocolViolation)


def test_an_unguarded_connection_reads_nothing_in_clear_behind_it() -> None:
    for rest in (V3_READ, V3_READ[:3]):
        connection = ServerConnection()
        connection.offer_tls()
        assert isinstance(connection.receive(START_TLS + rest)[-1], ConnectionBroken)
    connection = ServerConnection()
    connection.offer_tls()
    assert isinstance(connection.receive(START_TLS)[-1], StartTls)
    assert isinstance(connection.receive(V3_READ)[-1], ConnectionBroken)


def test_a_token_in_clear_right_behind_it_as_java_sends_it() -> None:
    guarded = Guarded(PlainBookie({"reader": "secret"}, rounds=2), tls=True)
    start, challenge = guarded.receive(START_TLS, v2_auth(b""))
    assert isinstance(start, StartTls)
    assert v2_token(challenge) == ("plain", b"more")
    guarded.connection.secured()
    assert v2_token(guarded.receive(v2_auth(GOOD))[0])[1] == b"welcome"
    assert isinstance(guarded.receive(V2_BATCH)[0], v2.BatchReadRequest)


def test_whom_that_token_lets_in_is_served_inside_tls_only() -> None:
    guarded = Guarded(tls=True)
    broken = guarded.receive(START_TLS, v3_auth(GOOD), V3_READ)[-1]
    assert isinstance(broken.error, ProtocolViolation)


def test_only_one_token_comes_in_clear_behind_it() -> None:
    guarded = Guarded(PlainBookie({"reader": "secret"}, rounds=2), tls=True)
    broken = guarded.receive(START_TLS, v2_auth(b""), v2_auth(GOOD))[-1]
    assert isinstance(broken.error, ProtocolViolation)
    assert not guarded.gate.opened


def test_who_has_begun_to_authenticate_in_clear_gets_no_tls() -> None:
    """An attacker in the middle must not log in, pass on a client's TLS, and so give that client his login."""
    for rounds in (1, 2):
        guarded = Guarded(PlainBookie({"reader": "secret"}, rounds=rounds), tls=True)
        assert status(guarded.receive(v3_auth(GOOD), START_TLS)[1]).status == 404


def test_tls_inside_tls_is_refused() -> None:
    guarded = Guarded(tls=True)
    guarded.receive(START_TLS)
    guarded.connection.secured()
    assert status(guarded.receive(START_TLS)[0]).status == 404


def test_start_tls_after_v2_breaks_the_connection() -> None:
    guarded = Guarded(tls=True)
    assert isinstance(guarded.receive(V2_READ, START_TLS)[-1], ConnectionBroken)


def test_a_certificate_may_be_all_that_is_asked_for() -> None:
    for certificate, opened in ((b"der", True), (b"other", False), (None, False)):
        guarded = Guarded(PlainBookie({}, role=b"der"), tls=True)
        guarded.receive(START_TLS)
        guarded.connection.secured()
        guarded.peer.certificate = certificate
        guarded.gate.secured()
        assert (guarded.gate.opened, guarded.gate.refused) == (opened, not opened)
        assert isinstance(guarded.receive(V3_READ)[0], v3.ReadRequests if opened else Answered)


# Anything ------------------------------------------------------------------------------------------------------------

FRAMES = [V2_READ, V2_ADD, V2_BATCH, V3_READ, V3_INFO, START_TLS, v2_auth(b"x"), v3_auth(b"\0"), v3_auth(GOOD, "y")]


@given(st.lists(st.sampled_from(FRAMES) | st.binary(max_size=60), max_size=12), st.booleans(), st.data())
def test_nobody_passes_without_the_password(frames: list[bytes], tls: bool, data: st.DataObject) -> None:
    guarded = Guarded(PlainBookie({"reader": "secret"}, rounds=2), tls=tls)
    stream = b"".join(frames)
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        for event in guarded.receive(stream[:size]):
            assert isinstance(event, ConnectionEvent)
        stream = stream[size:]
