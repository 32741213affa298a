"""Authentication to its end: SASL DIGEST-MD5 with bookies that know the password, and with some that do not."""

from compat_tests.client import client_requests as names
from compat_tests.client.identities import (
    FIRST_USE_S,
    PATIENT_S,
    authenticating_client,
    authority,
    serve_tls,
)
from compat_tests.client.readable_ledger import readable_ledger
from compat_tests.client.sasl_gate import LastToken, SaslGate, last_token
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, case
from compat_tests.targets.certificates import PASSWORD, USER

PAYLOADS = (b"zero", b"one")

_UNPROVEN: dict[str, LastToken] = {
    "the proof of another password": lambda response, password: last_token(response, password + "?"),
    "the client's own proof": lambda response, password: b"rspauth=" + response["response"].encode(),
    "no token": lambda response, password: b"",
}


@case(
    "BKW-CCONN-036",
    MUST,
    "sec-auth-digest-md5",
    sends="A challenge to a client that authenticates by DIGEST-MD5; its response is checked, then rspauth is sent.",
    accepts="The response proves the password; AUTH twice or more, then the read, whose payload is right.",
    provenance="RFC 2831; BK#1805",
    limit_s=PATIENT_S,
)
def a_client_authenticates_and_reads(stage: Stage) -> None:
    """A client MUST answer a challenge with the proof of its password, and go on when the bookie has proved it, too."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    gate = SaslGate(USER, PASSWORD).put_before(*ledger.bookies)
    outcome = ledger.open(authenticating_client(stage)).begin_read(1).outcome()
    stage.check("why the response was refused", gate.refused, [])
    stage.check("what the read gives", outcome, (b"one",))
    order = [each.operation for each in ledger.bookies[0].requests()]
    stage.check("what was asked first", order[:2], [names.AUTH, names.AUTH])
    stage.check("what was asked last", order[-1], names.READ)


@case(
    "BKW-CCONN-037",
    MUST,
    "sec-auth-digest-md5",
    sends="The right response is answered with a wrong rspauth: of another password, the client's own proof, none.",
    accepts="The read fails, and is never sent.",
    provenance="RFC 2831, 2.1.3: the client checks rspauth",
    limit_s=PATIENT_S,
)
def a_bookie_without_the_password_is_not_trusted(stage: Stage) -> None:
    """A client MUST compare rspauth, and MUST NOT send a request to a bookie that cannot prove the password."""
    for what, last in _UNPROVEN.items():
        _expect_not_trusted(stage, what, last)


@case(
    "BKW-CCONN-038",
    MUST,
    "sec-auth-digest-md5",
    sends="The right response is answered with AuthDisabledPlugin.",
    accepts="The read fails, and is never sent.",
    provenance="RFC 2831, 2.1.3: the client checks rspauth",
    limit_s=PATIENT_S,
)
def a_challenge_is_not_taken_back(stage: Stage) -> None:
    """A client that was challenged MUST NOT take AuthDisabledPlugin in place of the bookie's proof."""
    _expect_not_trusted(stage, "AuthDisabledPlugin", lambda response, password: None)


def _expect_not_trusted(stage: Stage, what: str, last: LastToken) -> None:
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    gate = SaslGate(USER, PASSWORD, last).put_before(*ledger.bookies)
    reading = ledger.open(authenticating_client(stage)).begin_read(1).pending
    stage.wait_until(lambda: bool(gate.proven or gate.refused), "a response to the challenge", FIRST_USE_S)
    stage.check("why the response was refused", gate.refused, [])
    stage.wait(0.2)
    operations = sorted({each.operation for each in ledger.bookies[0].requests()})
    stage.check(f"what was asked of a bookie that answers {what}", operations, [names.AUTH])
    reading.error()


@case(
    "BKW-CCONN-039",
    MUST,
    "sec-start-tls-order",
    since="4.14",
    sends="A client that is to speak TLS, and to authenticate, reads; START_TLS is answered after half a second.",
    accepts="START_TLS alone in clear; then, inside TLS, AUTH and the read, whose payload is right.",
    provenance="BK#4404; see docs/protocol/tls.md",
    limit_s=PATIENT_S,
)
def tokens_go_inside_tls(stage: Stage) -> None:
    """A client MUST NOT send its first token in clear where it is to speak TLS: authentication comes behind it."""
    with authority() as secrets:
        ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
        serve_tls(ledger.bookies, secrets)
        gate = SaslGate(USER, PASSWORD).put_before(*ledger.bookies)
        held = ledger.bookies[0].on(names.START_TLS).hold()
        client = authenticating_client(stage, tls_trust=secrets.client_files.ca)
        reading = ledger.open(client).begin_read(1)
        held.wait(1, FIRST_USE_S)
        stage.wait(0.5)
        clear = sorted({each.operation for each in ledger.bookies[0].requests()})
        stage.check("what was sent in clear", clear, [names.START_TLS])
        held.release()
        stage.check("what the read gives", reading.outcome(), (b"one",))
        stage.check("why the response was refused", gate.refused, [])
        behind = {(each.operation, each.inside_tls) for each in ledger.bookies[0].requests()[1:]}
        stage.check(
            "what was asked behind it, and whether inside TLS", behind, {(names.AUTH, True), (names.READ, True)}
        )
