"""A bookie's side of DIGEST-MD5, against the suite's own client."""

import pytest

from compat_tests.client.answers import Answer, encode
from compat_tests.client.client_requests import AUTH, understand
from compat_tests.client.rules import Exchange, Rule
from compat_tests.client.sasl_gate import SaslGate, token_of
from compat_tests.judge.case import V2, V3
from compat_tests.wire import digest_md5, v3_requests
from protocol_specs.wire import framing, v3_pb2
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN, SASL_PLUGIN
from protocol_specs.wire.operations import Operation

USER, PASSWORD = "bookkeeper-reader", "secret"


class Connection:
    """Keeps what is sent."""

    name = "bookie 1, connection 1"

    def __init__(self):
        self.sent, self.closed = [], False

    def frame(self, request, answer):
        return encode(request, answer)

    def send(self, *frames):
        self.sent += frames

    def close(self):
        self.closed = True


class Bookie:
    """Takes the rule of the gate."""

    def on(self, operation):
        self.rule = Rule(operation)
        return self.rule


class Client:
    """One connection through a gate."""

    def __init__(self, dialect, **options):
        self.dialect, self.connection, self.bookie = dialect, Connection(), Bookie()
        self.gate = SaslGate(USER, PASSWORD, **options).put_before(self.bookie)

    def say(self, token):
        """Send a token; gives plugin and token of the answer, or None."""
        request = understand(auth_frame(self.dialect, token))
        assert request.operation == AUTH
        assert token_of(request) == token
        before = len(self.connection.sent)
        assert self.bookie.rule.takes(request)
        self.bookie.rule.action(Exchange(request, self.connection))
        return read(self.dialect, self.connection.sent[before]) if len(self.connection.sent) > before else None

    def respond(self, user=USER, password=PASSWORD, **changed):
        """Go through the exchange; gives the last answer and the rspauth that is right."""
        _, challenge = self.say(b"")
        response, rspauth = digest_md5.response(digest_md5.parse(challenge), user, password, "cnonce", **changed)
        return self.say(response), rspauth


def auth_frame(dialect, token):
    if dialect is V3:
        return v3_requests.auth(SASL_PLUGIN, token)
    message = v3_pb2.AuthMessage(auth_plugin_name=SASL_PLUGIN, payload=token)
    return framing.join_header(2, Operation.AUTH).to_bytes(4, "big") + message.SerializeToString()


def read(dialect, frame):
    if dialect is V2:
        message = v3_pb2.AuthMessage.FromString(frame[4:])
        return message.auth_plugin_name, message.payload
    message = v3_pb2.Response.FromString(frame)
    if not message.HasField("auth_response"):
        return "", message.status
    return message.auth_response.auth_plugin_name, message.auth_response.payload


@pytest.mark.parametrize("dialect", [V2, V3])
def test_who_knows_the_password_gets_the_proof_and_is_known(dialect):
    client = Client(dialect)
    answer, rspauth = client.respond()
    assert answer == (SASL_PLUGIN, f"rspauth={rspauth}".encode())
    assert client.gate.proven == [Connection.name]
    assert client.say(b"") == (AUTH_DISABLED_PLUGIN, b"")


@pytest.mark.parametrize("dialect", [V2, V3])
@pytest.mark.parametrize(
    "wrong",
    [{"password": "other"}, {"user": "other"}, {"nonce": "00"}, {"digest_uri": "a/b"}, {"nc": "00000002"}],
    ids=str,
)
def test_who_does_not_is_refused(dialect, wrong):
    client = Client(dialect)
    answer, _ = client.respond(**wrong)
    assert answer == (None if dialect is V2 else ("", v3_pb2.EUA))
    assert client.connection.closed
    assert client.gate.proven == []
    assert len(client.gate.refused) == 1


def test_junk_is_refused_and_is_no_trouble_of_the_suite():
    for junk in (b"hello", b"username=a"):
        client = Client(V3)
        client.say(b"")
        client.say(junk)
        assert client.gate.refused


def test_the_last_token_can_be_another_or_none():
    answer, _ = Client(V3, last=lambda response, password: b"rspauth=no").respond()
    assert answer == (SASL_PLUGIN, b"rspauth=no")
    answer, _ = Client(V2, last=lambda response, password: None).respond()
    assert answer == (AUTH_DISABLED_PLUGIN, b"")


def test_each_connection_has_a_nonce_of_its_own():
    client, nonces = Client(V2), set()
    for name in ("one", "two"):
        client.connection.name = name
        nonces.add(digest_md5.parse(client.say(b"")[1])["nonce"])
    assert len(nonces) == 2


def test_an_answer_without_a_token_is_that_nothing_is_to_authenticate():
    request = understand(v3_requests.auth(SASL_PLUGIN, b""))
    assert read(V3, encode(request, Answer())) == (AUTH_DISABLED_PLUGIN, b"")
