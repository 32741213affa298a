"""A client's handshake: every state, every reply, and anything."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import AuthenticationFailed, BookKeeperError, ProtocolViolation, TlsFailed
from bookkeeper_tx.protocol import v2_auth_frame
from bookkeeper_tx.protocol.client.handshake import TOKEN_FRAME_SIZE_MAX, ClientHandshake, State, tells_unauthenticated
from bookkeeper_tx.security.authentication import ConnectionPeer
from bookkeeper_tx.security.sasl import SaslBookie, SaslClient
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.v3_pb2 import AuthMessage
from tests.plain_auth import PlainClient

V2_AUTH = 2 << 24 | 3 << 16
DISABLED = "AuthDisabledPlugin"
OK, BAD_REQUEST, IO_ERROR, UNAUTHORIZED = 0, 404, 501, 502


def v3_reply(operation: V3Operation, status: int = OK, **parts: Any) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=operation, txn_id=1)
    body = v3_pb2.Response(header=header, status=status, **parts).SerializeToString()  # type: ignore[arg-type]
    return len(body).to_bytes(4, "big") + body


def v3_token(token: bytes, plugin: str = "plain", status: int = OK) -> bytes:
    return v3_reply(V3Operation.AUTH, status, auth_response=AuthMessage(auth_plugin_name=plugin, payload=token))


def v2_token(token: bytes, plugin: str = "plain") -> bytes:
    return v2_auth_frame.encode(V2_AUTH, plugin, token)


TLS_STARTED = v3_reply(V3Operation.START_TLS, start_tls_response=v3_pb2.StartTlsResponse())
TLS_REFUSED = v3_reply(V3Operation.START_TLS, BAD_REQUEST)
NOT_AUTHENTICATED_YET = v3_reply(V3Operation.START_TLS, IO_ERROR)
"""The bytes that Java's bookie sends inside TLS to a client that has not authenticated when the TLS handshake ends."""


class Driver:
    def __init__(self, *, tls: bool = False, auth: Any = None, v2: bool = False) -> None:
        self.sent: list[bytes] = []
        self.tls_started = 0
        self.rest: list[bytes] = []
        self.errors: list[BookKeeperError] = []
        self.peer = ConnectionPeer("bookie:3181")
        self.handshake = ClientHandshake(self, self.peer, tls, auth, v2)
        self.handshake.start()

    def send_handshake(self, data: bytes) -> None:
        self.sent.append(data)

    def start_tls(self) -> None:
        self.tls_started += 1

    def handshake_complete(self, rest: bytes) -> None:
        self.rest.append(rest)

    def handshake_failed(self, error: BookKeeperError) -> None:
        self.errors.append(error)

    def receive(self, data: bytes) -> State:
        self.handshake.receive(data)
        return self.handshake.state

    @property
    def last(self) -> Any:
        """The last request, in V3."""
        return v3_pb2.Request.FromString(self.sent[-1][4:])


def test_nothing_to_do() -> None:
    driver = Driver()
    assert (driver.handshake.state, driver.sent, driver.rest) == (State.COMPLETE, [], [b""])


def test_tls_alone() -> None:
    driver = Driver(tls=True, v2=True)
    assert (driver.last.header.operation, driver.last.HasField("start_tls_request")) == (9, True)
    assert driver.receive(TLS_STARTED) is State.SECURING
    assert driver.tls_started == 1
    driver.handshake.secured(b"der")
    assert (driver.handshake.state, driver.rest) == (State.COMPLETE, [b""])
    assert (driver.peer.secure, driver.peer.certificate) == (True, b"der")


@pytest.mark.parametrize("status", [BAD_REQUEST, UNAUTHORIZED, IO_ERROR])
def test_tls_refused(status: int) -> None:
    driver = Driver(tls=True)
    assert driver.receive(v3_reply(V3Operation.START_TLS, status)) is State.FAILED
    assert [type(error) for error in driver.errors] == [TlsFailed]


@pytest.mark.parametrize(
    "data", [TLS_STARTED + b"\x16", v2_token(b""), v3_token(b"x"), b"\0\0\0\x03\x0a\x0a\x0a", b"\xff" * 4, bytes(4)]
)
def test_anything_else_in_front_of_tls_fails(data: bytes) -> None:
    driver = Driver(tls=True, auth=PlainClient())
    assert driver.receive(data) is State.FAILED
    assert ([type(error) for error in driver.errors], driver.tls_started) == ([ProtocolViolation], 0)


def test_authentication_in_v3() -> None:
    driver = Driver(auth=PlainClient())
    assert (driver.last.header.operation, driver.last.auth_request.auth_plugin_name) == (5, "plain")
    assert driver.receive(v3_token(b"more")) is State.AUTHENTICATING
    assert len(driver.sent) == 2
    assert driver.receive(v3_token(b"welcome") + b"rest") is State.COMPLETE
    assert driver.rest == [b"rest"]


def test_authentication_in_v2() -> None:
    driver = Driver(auth=PlainClient(), v2=True)
    message = v2_auth_frame.decode(driver.sent[0], 0, len(driver.sent[0]))[1]
    assert (message.auth_plugin_name, message.payload) == ("plain", b"reader\0secret")
    assert driver.receive(v2_token(b"welcome")) is State.COMPLETE


def test_tokens_are_sent_inside_tls_only() -> None:
    plugin = PlainClient()
    driver = Driver(tls=True, auth=plugin)
    driver.receive(TLS_STARTED)
    assert (len(driver.sent), plugin.peers) == (1, [])
    driver.handshake.secured(b"der")
    assert (len(driver.sent), plugin.peers[0].certificate) == (2, b"der")
    assert driver.receive(NOT_AUTHENTICATED_YET) is State.AUTHENTICATING
    assert driver.receive(v3_token(b"welcome")) is State.COMPLETE


@pytest.mark.parametrize("frame", [v3_token(b"", DISABLED), v2_token(b"", DISABLED)])
def test_a_bookie_without_authentication_is_taken_as_it_is(frame: bytes) -> None:
    assert Driver(auth=PlainClient()).receive(frame) is State.COMPLETE


@pytest.mark.parametrize(
    "frame",
    [
        v3_reply(V3Operation.AUTH, UNAUTHORIZED),
        v3_token(b"welcome", "sasl"),
        v2_token(b"welcome", "sasl"),
        v3_token(b"gibberish"),
    ],
)
def test_who_is_not_authenticated_is_told_so(frame: bytes) -> None:
    driver = Driver(auth=PlainClient())
    assert driver.receive(frame) is State.FAILED
    assert [type(error) for error in driver.errors] == [AuthenticationFailed]
    driver.receive(v3_token(b"welcome"))
    assert (driver.rest, len(driver.errors)) == ([], 1)


def test_a_provider_that_raises_fails_it() -> None:
    class Raising(PlainClient):
        def new_provider(self, peer: Any, completed: Any) -> Any:
            provider = super().new_provider(peer, completed)
            self.later = lambda job: 1 / 0
            return provider

    assert [type(error) for error in Driver(auth=Raising()).errors] == [AuthenticationFailed]


def test_a_provider_that_takes_its_time_and_one_that_is_too_late() -> None:
    jobs: list[Any] = []
    plugin = PlainClient(later=jobs.append)
    driver = Driver(auth=plugin)
    assert driver.sent == []
    jobs.pop()()
    assert len(driver.sent) == 1
    driver.receive(v3_token(b"more"))
    driver.handshake.close()
    jobs.pop()()
    assert (len(driver.sent), plugin.closed) == (1, 1)


def test_other_replies_are_dropped_while_authenticating() -> None:
    driver = Driver(auth=PlainClient(), v2=True)
    refused_read = bytes.fromhex("00000018020200000000006600000000000000010000000000000002")
    assert driver.receive(refused_read + v3_reply(V3Operation.READ_ENTRY, UNAUTHORIZED)) is State.AUTHENTICATING


def test_a_frame_over_the_limit_fails_it() -> None:
    driver = Driver(auth=PlainClient())
    assert driver.receive((TOKEN_FRAME_SIZE_MAX - 3).to_bytes(4, "big")) is State.FAILED


@pytest.mark.parametrize("v2", [False, True])
def test_sasl_from_end_to_end(v2: bool) -> None:
    """The client against the bookie's provider, by way of the frames."""
    driver = Driver(auth=SaslClient("bookkeeper-a", "pw"), v2=v2)
    done: list[Any] = []
    peer = ConnectionPeer("client:1")
    provider = SaslBookie({"bookkeeper-a": "pw"}).new_provider(peer, done.append)
    while driver.handshake.state is State.AUTHENTICATING:
        frame = driver.sent.pop()
        token = (v2_auth_frame.decode(frame, 0, len(frame))[1] if v2 else _auth(frame)).payload
        answers: list[bytes] = []
        provider.process(token, lambda error, answer, answers=answers: answers.append(answer))  # type: ignore[misc]
        driver.receive((v2_token if v2 else v3_token)(answers[0], "sasl"))
    assert (driver.handshake.state, done, peer.principal) == (State.COMPLETE, [None], "bookkeeper-a")


def test_sasl_with_a_name_that_is_not_allowed() -> None:
    driver = Driver(auth=SaslClient("reader", "pw"))
    provider = SaslBookie({"reader": "pw"}).new_provider(ConnectionPeer(""), lambda error: None)
    answers: list[bytes] = []
    provider.process(b"", lambda error, answer: answers.append(answer))
    driver.receive(v3_token(answers[0], "sasl"))
    with pytest.raises(AuthenticationFailed, match="saslJaasClientAllowedIds"):
        provider.process(_auth(driver.sent[-1]).payload, lambda error, answer: None)


def _auth(frame: bytes) -> Any:
    return v3_pb2.Request.FromString(frame[4:]).auth_request


FRAMES = [TLS_STARTED, TLS_REFUSED, NOT_AUTHENTICATED_YET, v3_token(b"more"), v2_token(b"more"), v3_token(b"welcome")]


@given(st.lists(st.sampled_from(FRAMES) | st.binary(max_size=40), max_size=10), st.booleans(), st.booleans(), st.data())
def test_anything_ends_at_most_once_and_raises_nothing(
    frames: list[bytes], tls: bool, v2: bool, data: st.DataObject
) -> None:
    driver = Driver(tls=tls, auth=PlainClient(), v2=v2)
    stream = b"".join(frames)
    while stream and driver.handshake.state in (State.ASKING_TLS, State.AUTHENTICATING):
        size = data.draw(st.integers(1, len(stream)))
        driver.receive(stream[:size])
        stream = stream[size:]
        if driver.handshake.state is State.SECURING:
            driver.handshake.secured(None)
    assert len(driver.rest) + len(driver.errors) == (driver.handshake.state in (State.COMPLETE, State.FAILED))


def test_what_says_that_a_client_without_a_plugin_needs_one() -> None:
    assert tells_unauthenticated(NOT_AUTHENTICATED_YET + b"more")
    others = (
        b"",
        NOT_AUTHENTICATED_YET[:-1],
        TLS_STARTED,
        TLS_REFUSED,
        v2_token(b"x"),
        v3_token(b"x", status=IO_ERROR),
    )
    assert not any(map(tells_unauthenticated, others))


@given(st.binary(max_size=40))
def test_anything_else_says_nothing_of_the_kind(data: bytes) -> None:
    for each in (data, len(data).to_bytes(4, "big") + data, NOT_AUTHENTICATED_YET[:4] + data):
        assert not tells_unauthenticated(each) or each.startswith(NOT_AUTHENTICATED_YET[:6])
