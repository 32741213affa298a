"""How a case logs in to a bookie that asks for it, step by step, in either protocol version."""

from collections.abc import Mapping

from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import V2, Dialect
from compat_tests.judge.verdict import Mismatch, Unsupported
from compat_tests.wire import digest_md5, v2_requests, v3_requests
from compat_tests.wire.line import Line, Outcome
from compat_tests.wire.replies import ConnectionClosed, Reply
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.auth import SASL_PLUGIN
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import EUA


def auth_frame(talk: Talk, token: bytes, plugin: str = SASL_PLUGIN, dialect: Dialect | None = None) -> bytes:
    """An AUTH with this token."""
    if (dialect or talk.dialect) is V2:
        message = v3_pb2.AuthMessage(auth_plugin_name=plugin, payload=token)
        return v2_requests.operation(Operation.AUTH, body=message.SerializeToString())
    return v3_requests.auth(plugin, token, txn_id=talk.requests.number())


def message_of(reply: Reply) -> v3_pb2.AuthMessage:
    """The AuthMessage of a reply to an AUTH."""
    message = reply.message if reply.dialect is V2 else reply.part
    if not isinstance(message, v3_pb2.AuthMessage):
        raise Mismatch("the reply to an AUTH", "an AuthMessage in it", str(reply))
    return message


def challenge(talk: Talk, line: Line, dialect: Dialect | None = None, token: bytes = b"") -> dict[str, str]:
    """Send the first token, and return the directives of the bookie's challenge."""
    return challenge_of(talk, talk.expect_reply(_ask(line, auth_frame(talk, token, dialect=dialect))))


def challenge_of(talk: Talk, reply: Reply) -> dict[str, str]:
    """The directives of the challenge in a reply to the first token."""
    talk.check("the plugin of the reply", message_of(reply).auth_plugin_name, SASL_PLUGIN)
    found = directives_of(reply)
    talk.check_that("nonce" in found, "the bookie's challenge", "with a nonce", sorted(found))
    return found


def directives_of(reply: Reply) -> dict[str, str]:
    """The directives of the token in a reply to an AUTH.  Raises Mismatch if it is no token of DIGEST-MD5."""
    try:
        return digest_md5.parse(message_of(reply).payload)
    except ValueError as error:
        raise Mismatch("the bookie's token", "directives of DIGEST-MD5", str(error)) from None


def credentials(talk: Talk) -> tuple[str, str]:
    """User and password of the site."""
    if talk.site.credentials is None:
        raise Unsupported("no user and password are known for this bookie")
    return talk.site.credentials


def cnonce(talk: Talk) -> str:
    """A nonce for the client's response."""
    return talk.random.randbytes(16).hex()


def respond(talk: Talk, line: Line, token: bytes, dialect: Dialect | None = None) -> Outcome:
    """Send a response, and give the outcome."""
    return _ask(line, auth_frame(talk, token, dialect=dialect))


def _ask(line: Line, frame: bytes) -> Outcome:
    """Inside TLS an unrequested reply may come first, and is skipped: another case is about that."""
    line.send(frame)
    return line.receive_for(frame)


def log_in(talk: Talk, line: Line, dialect: Dialect | None = None) -> None:
    """Do the whole exchange; require the bookie to prove that it knows the password, too."""
    prove(talk, line, challenge(talk, line, dialect), dialect)


def prove(talk: Talk, line: Line, directives: Mapping[str, str], dialect: Dialect | None = None) -> None:
    """Answer a challenge; require the bookie to prove that it knows the password, too."""
    user, password = credentials(talk)
    token, rspauth = digest_md5.response(directives, user, password, cnonce(talk))
    reply = talk.expect_reply(respond(talk, line, token, dialect))
    talk.check("rspauth", directives_of(reply).get("rspauth"), rspauth)


def expect_shut(talk: Talk, line: Line) -> None:
    """Require that the gate of this connection is shut: it is closed, or a read on it is answered EUA."""
    outcome = line.ask(talk.requests.read(talk.new_ledger(), 0))
    if isinstance(outcome, Reply):
        talk.check_reply(outcome, EUA)
    elif not isinstance(outcome, ConnectionClosed):
        raise Mismatch("a read at the gate", "EUA, or the connection closed", str(outcome))
