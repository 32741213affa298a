"""The exchange of tokens: DIGEST-MD5 done right, and in every wrong way."""

from collections.abc import Callable, Mapping

from compat_tests.bookie.login import (
    auth_frame,
    challenge,
    cnonce,
    credentials,
    directives_of,
    expect_shut,
    log_in,
    message_of,
    respond,
)
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, SHOULD, V2, V3, case
from compat_tests.wire import digest_md5, v2_requests, v3_requests
from compat_tests.wire.line import Outcome
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence
from protocol_specs.wire import framing, v3_pb2
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN, SASL_NAME
from protocol_specs.wire.operations import Operation, V3Operation
from protocol_specs.wire.status import ENOLEDGER, EOK, EUA


@case(
    "BKW-AUTH-012",
    MUST,
    "sec-auth-digest-md5",
    sends="The first token of the plugin sasl: empty, and with bytes that mean nothing; on two connections.",
    accepts="A challenge each time: realm bookkeeper, a nonce of its own, qop auth, utf-8, md5-sess.",
    site="auth",
    provenance="seen of Java 4.9.2 to 4.18.0; RFC 2831",
)
def the_first_token_is_answered_with_a_challenge(talk: Talk) -> None:
    """A bookie MUST answer the first token of DIGEST-MD5, whatever it says, with a challenge and a new nonce."""
    nonces = set()
    for index, token in enumerate((b"", b"", b"anything")):
        directives = challenge(talk, talk.line(f"client {index}"), token=token)
        nonces.add(directives.pop("nonce", ""))
        found = {name: directives.get(name) for name in ("realm", "charset", "algorithm")}
        talk.check("the challenge", found, {"realm": SASL_NAME, "charset": "utf-8", "algorithm": "md5-sess"})
        talk.check_that(
            "auth" in directives.get("qop", "auth").split(","), "qop", "auth among them", directives.get("qop")
        )
    talk.check("different nonces of three connections", len(nonces - {""}), 3)


@case(
    "BKW-AUTH-013",
    MUST,
    "sec-auth-digest-md5",
    sends="The whole exchange with the right password; then an add and a read.",
    accepts="rspauth, which proves that the bookie knows the password, under the plugin's name; then EOK.",
    site="auth",
    provenance="BK#1805; RFC 2831; the source of Java 4.9 to 4.18",
    after=("BKW-AUTH-012",),
)
def who_knows_the_password_is_let_in(talk: Talk) -> None:
    """A bookie MUST open its gate to a client that proves the password, and prove that it knows it, too."""
    ledger = talk.new_ledger()
    log_in(talk, talk.main)
    talk.expect(talk.requests.add(ledger, 0), EOK)
    talk.expect(talk.requests.read(ledger, 0), EOK)


def _wrong_response(talk: Talk, directives: Mapping[str, str], name: str) -> bytes:
    """A response that is wrong in one way."""
    user, password = credentials(talk)
    own = cnonce(talk)
    changed: dict[str, Callable[[], tuple[bytes, str]]] = {
        "password": lambda: digest_md5.response(directives, user, password + "x", own),
        "no password": lambda: digest_md5.response(directives, user, "", own),
        "user": lambda: digest_md5.response(directives, "bookkeeper-nobody", password, own),
        "no user": lambda: digest_md5.response(directives, "", password, own),
        "nonce": lambda: digest_md5.response(directives, user, password, own, nonce="0" * 32),
        "nonce count": lambda: digest_md5.response(directives, user, password, own, nc="00000002"),
        "digest-uri": lambda: digest_md5.response(directives, user, password, own, digest_uri="other/other"),
        "proof": lambda: digest_md5.response(directives, user, password, own, response="0" * 32),
        "proof of the bookie": lambda: digest_md5.response(
            directives, user, password, own, response=digest_md5.response(directives, user, password, own)[1]
        ),
        "no directives": lambda: (b"hello", ""),
        "nothing": lambda: (b"", ""),
        "bytes": lambda: (bytes(range(128, 256)), ""),
    }
    return changed[name]()[0]


_WRONG = (
    "password",
    "no password",
    "user",
    "no user",
    "nonce",
    "nonce count",
    "digest-uri",
    "proof",
    "proof of the bookie",
    "no directives",
    "nothing",
    "bytes",
)


@case(
    "BKW-AUTH-014",
    MUST,
    "sec-auth-gate",
    sends="Responses with a wrong password, user, nonce, nonce count, digest-uri or proof, with the bookie's own "
    "proof, with none, and such that are no response; behind each a read.",
    accepts="Nobody is let in: EUA, or the connection closed, to all that follows.",
    site="auth",
    provenance="RFC 2831; the source of Java 4.9 to 4.18",
    after=("BKW-AUTH-013",),
    limit_s=30.0,
)
def who_does_not_know_the_password_stays_outside(talk: Talk) -> None:
    """A bookie MUST NOT open its gate to a client whose response is wrong in any way."""
    for name in _WRONG:
        line = talk.line(f"wrong {name}")
        line.send(auth_frame(talk, _wrong_response(talk, challenge(talk, line), name)))
        line.send(talk.requests.read(talk.new_ledger(), 0))
        while isinstance(outcome := line.receive(), Reply):
            if outcome.status is None:
                talk.fail(f"the reply to a wrong {name}", expected="none, or a refusal", seen=str(outcome))
            talk.check(f"the status behind a wrong {name}", outcome.status, EUA)
            if outcome.operation in (V3Operation.READ_ENTRY, Operation.READ_ENTRY):
                break
        if isinstance(outcome, Silence):
            talk.fail(f"a read behind a wrong {name}", expected="EUA, or the connection closed", seen=str(outcome))


@case(
    "BKW-AUTH-015",
    SHOULD,
    "sec-auth-gate",
    sends="A response with a wrong password.",
    accepts="V2: the connection closed without a reply. V3: EUA without a part, then closed.",
    site="auth",
    provenance="S9; the source of Java 4.9 to 4.18",
    after=("BKW-AUTH-013",),
)
def a_wrong_password_is_refused_in_words(talk: Talk) -> None:
    """A bookie SHOULD tell a client that its response is refused: by closing in V2, by EUA and closing in V3."""
    user, password = credentials(talk)
    token, _ = digest_md5.response(challenge(talk, talk.main), user, password + "x", cnonce(talk))
    frame = auth_frame(talk, token)
    talk.main.send(frame)
    outcome: Outcome = talk.main.receive()
    if isinstance(outcome, Silence):
        talk.fail("the answer to a wrong password", expected="a refusal", seen=str(outcome))
    if talk.dialect is V3:
        talk.check_reply(talk.expect_reply(outcome), EUA, part=None)
        outcome = talk.main.receive()
    talk.check_that(isinstance(outcome, ConnectionClosed), "the connection", "closed", outcome)


@case(
    "BKW-AUTH-016",
    MUST,
    "sec-auth-digest-md5",
    sends="A whole exchange; then its very response as an answer to the challenge of another connection.",
    accepts="EUA, or the connection closed, to all that follows on the second.",
    site="auth",
    provenance="RFC 2831: a nonce is used once",
    after=("BKW-AUTH-013",),
)
def a_response_cannot_be_used_again(talk: Talk) -> None:
    """A bookie MUST NOT take a response that was made for the challenge of another connection."""
    user, password = credentials(talk)
    token, rspauth = digest_md5.response(challenge(talk, talk.main), user, password, cnonce(talk))
    reply = talk.expect_reply(respond(talk, talk.main, token))
    talk.check("rspauth", directives_of(reply).get("rspauth"), rspauth)
    thief = talk.line("thief")
    challenge(talk, thief)
    thief.send(auth_frame(talk, token))
    expect_shut(talk, thief)


@case(
    "BKW-AUTH-017",
    MUST,
    "sec-auth-v2",
    sends="After the login further AUTHs: the first token, the response again, one for another plugin.",
    accepts="The plugin AuthDisabledPlugin and an empty payload each time; the connection is served further.",
    site="auth",
    provenance="seen of Java 4.9.2 to 4.18.0",
    after=("BKW-AUTH-013",),
)
def an_auth_after_the_login_is_answered_as_not_needed(talk: Talk) -> None:
    """A bookie MUST answer an AUTH of a client that has authenticated with AuthDisabledPlugin and no payload."""
    log_in(talk, talk.main)
    for plugin, token in (("sasl", b""), ("sasl", b"response=1"), ("foo", b"abc"), (AUTH_DISABLED_PLUGIN, b"")):
        reply = talk.ask(auth_frame(talk, token, plugin))
        _check_not_needed(talk, reply)
    talk.expect_open()


@case(
    "BKW-AUTH-018",
    MUST,
    "sec-auth-v2",
    sends="AUTHs of versions 0 to 3 and 255, for any plugin, to a bookie that does not ask for them; then a read.",
    accepts="AuthDisabledPlugin, an empty payload, and version 2, to the byte; the read is served.",
    dialects=(V2,),
    provenance="BK#1805; seen of Java 4.9.2 to 4.18.0",
)
def a_bookie_that_does_not_ask_says_so_in_v2(talk: Talk) -> None:
    """A bookie that asks for no authentication MUST answer every V2 AUTH with AuthDisabledPlugin, in version 2."""
    body = v3_pb2.AuthMessage(auth_plugin_name="foo", payload=b"abc").SerializeToString()
    expected = v3_pb2.AuthMessage(auth_plugin_name=AUTH_DISABLED_PLUGIN, payload=b"").SerializeToString()
    word = framing.join_header(2, Operation.AUTH).to_bytes(4, "big")
    for version in (2, 0, 1, 3, 255):
        reply = talk.ask(v2_requests.operation(Operation.AUTH, version=version, body=body))
        talk.check(f"the reply to version {version}", reply.raw, word + expected)
    talk.expect_open()


@case(
    "BKW-AUTH-019",
    MUST,
    "sec-auth-v3",
    sends="AUTHs for any plugin, of version 2 and priority 9, and without a part, to a bookie that does not ask.",
    accepts="EOK, the header of the request, AuthDisabledPlugin and an empty payload; then a read is served.",
    dialects=(V3,),
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_bookie_that_does_not_ask_says_so_in_v3(talk: Talk) -> None:
    """A bookie that asks for no authentication MUST answer every V3 AUTH with AuthDisabledPlugin, under its header."""
    for frame in (
        v3_requests.auth("foo", b"abc"),
        v3_requests.auth(AUTH_DISABLED_PLUGIN, b""),
        v3_requests.auth("sasl", b"", version=2, priority=9),
        v3_requests.request(V3Operation.AUTH),
    ):
        reply = talk.expect(frame, EOK)
        talk.check("header of the reply", reply.raw[: 2 + frame[1]], frame[: 2 + frame[1]])
        _check_not_needed(talk, reply)
    talk.expect(talk.requests.read(talk.new_ledger(), 0), ENOLEDGER)


def _check_not_needed(talk: Talk, reply: Reply) -> None:
    message = message_of(reply)
    talk.check("the plugin of the reply", message.auth_plugin_name, AUTH_DISABLED_PLUGIN)
    talk.check("its payload", message.payload, b"")
    if reply.dialect is V2:
        talk.check("version of the reply", reply.version, 2)
