"""The requests that a client sends inside TLS, and the bookies that it must not send them to."""

import ssl

from compat_tests.client import client_requests as names
from compat_tests.client.answers import Answer, encode
from compat_tests.client.client_requests import ClientRequest, understand
from compat_tests.client.driven_client import ClientError
from compat_tests.client.identities import FIRST_USE_S, PATIENT_S, authority, operations_by_tls, serve_tls, tls_client
from compat_tests.client.readable_ledger import ReadableLedger, readable_ledger
from compat_tests.client.rules import Exchange
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, V2, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.tls import bookie_context, stranger

PAYLOADS = (b"zero", b"one")
FORGED = b"forged"
LARGE = b"more than one record of TLS can hold " * 3000


def _in_the_dialect(stage: Stage, requests: list[ClientRequest]) -> None:
    stage.check("the dialect of the requests inside TLS", {each.dialect for each in requests}, {stage.dialect})


@case(
    "BKW-CCONN-028",
    MUST,
    "sec-start-tls-order",
    since="4.14",
    sends="A client that is to speak TLS reads; START_TLS is agreed to, and the handshake carried out.",
    accepts="START_TLS in clear, the read inside TLS, in the client's dialect; its payload is right.",
    provenance="BK#2300; seen with Java's client 4.18.0",
    limit_s=PATIENT_S,
)
def a_read_goes_inside_tls(stage: Stage) -> None:
    """A client MUST send its reads inside TLS once the handshake is done, and read the replies there."""
    with authority() as secrets:
        ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
        serve_tls(ledger.bookies, secrets)
        stage.check("the payload", ledger.open(tls_client(stage, secrets)).read_entry(1), b"one")
        requests = operations_by_tls(ledger.bookies)
        stage.check("what was asked, and whether inside TLS", requests, {(names.START_TLS, False), (names.READ, True)})
        _in_the_dialect(stage, ledger.requests(names.READ))


@case(
    "BKW-CCONN-029",
    MUST,
    "sec-start-tls-order",
    since="4.14",
    sends="A client that is to speak TLS appends a few bytes, and then more than a record of TLS can hold.",
    accepts="The adds come inside TLS, in the client's dialect, and the bookie has the right bytes.",
    provenance="BK#2300",
    limit_s=PATIENT_S,
)
def an_add_goes_inside_tls(stage: Stage) -> None:
    """A client MUST send its adds inside TLS once the handshake is done, whatever their size."""
    with authority() as secrets:
        (bookie,) = stage.bookies(1)
        serve_tls([bookie], secrets)
        handle = stage.new_writer([bookie], client=tls_client(stage, secrets))
        for number, payload in enumerate((b"few", LARGE)):
            stage.check("the id", handle.append(payload), number)
            stored = bookie.entry(handle.ledger_id, number)
            stage.check("the payload that is stored", stored[-len(payload) :], payload)
        clear = {operation for operation, inside in operations_by_tls([bookie]) if not inside}
        stage.check("what was asked in clear", clear, {names.START_TLS})
        _in_the_dialect(stage, bookie.requests(names.ADD))


@case(
    "BKW-CCONN-030",
    MUST,
    "sec-tls-certificates",
    since="4.14",
    sends="A bookie shows a certificate of another authority of the same name; another, one signed by itself.",
    accepts="The read fails; nothing but START_TLS is sent, and the handshake is never done.",
    provenance="BP-12: TLS between clients and bookies",
    limit_s=PATIENT_S,
)
def a_bookie_of_an_unknown_authority_is_not_spoken_to(stage: Stage) -> None:
    """A client MUST NOT send a request to a bookie whose certificate no authority has signed that it trusts."""
    with authority() as secrets, authority() as others, stranger() as itself:
        for files in (others.bookie_files, itself):
            ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
            ledger.bookies[0].tls = bookie_context(*files)
            ledger.open(tls_client(stage, secrets)).begin_read(1).pending.error(FIRST_USE_S)
            stage.check(
                "what was asked, and whether inside TLS", operations_by_tls(ledger.bookies), {(names.START_TLS, False)}
            )
            stage.check("handshakes that were done", len(ledger.bookies[0].certificates), 0)


@case(
    "BKW-CCONN-031",
    MUST,
    "sec-tls-certificates",
    since="4.14",
    sends="A bookie asks for the client's certificate; the client has one.",
    accepts="It shows its own, and the read works.",
    provenance="BP-12: TLS between clients and bookies",
    limit_s=PATIENT_S,
)
def a_client_shows_its_certificate(stage: Stage) -> None:
    """A client that has a certificate MUST show it to a bookie that asks for one."""
    with authority() as secrets:
        ledger, files = readable_ledger(stage, PAYLOADS, ensemble=1), secrets.client_files
        serve_tls(ledger.bookies, secrets, clients=True)
        client = tls_client(stage, secrets, tls_certificate=files.certificate, tls_key=files.key)
        stage.check("the payload", ledger.open(client).read_entry(1), b"one")
        assert files.certificate is not None
        expected = ssl.PEM_cert_to_DER_cert(files.certificate.read_text())
        stage.check("the certificates that the client showed", set(ledger.bookies[0].certificates), {expected})


@case(
    "BKW-CCONN-032",
    MUST,
    "sec-tls-certificates",
    since="4.14",
    sends="A bookie that speaks TLS 1.2 only, and one that speaks TLS 1.3 only.",
    accepts="A read from each works.",
    provenance="RFC 5246, RFC 8446",
    limit_s=PATIENT_S,
)
def both_versions_of_tls_are_spoken(stage: Stage) -> None:
    """A client MUST speak TLS 1.2 and TLS 1.3."""
    with authority() as secrets:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
            ledger.bookies[0].tls = bookie_context(*secrets.bookie_files, version=version)
            reading = ledger.open(tls_client(stage, secrets)).begin_read(1)
            stage.check(f"what a read by {version.name} gives", reading.outcome(), (b"one",))


_NUMBERS_AROUND = 20
"""How far the transaction id of the read may be from that of START_TLS."""


def _forge_replies(stage: Stage, ledger: ReadableLedger, start_tls: ClientRequest) -> list[bytes]:
    """Replies to a read of entry 1 that the client has not sent yet, for every transaction id that it may get."""
    seal = ledger.staged.seal
    entry = seal.entry(ledger.id, 1, 0, len(FORGED), FORGED)
    if stage.dialect is V2:
        requests = [understand(v2_requests.read(ledger.id, 1))]
    else:
        numbers = range(max(start_tls.number - _NUMBERS_AROUND, 0), start_tls.number + _NUMBERS_AROUND)
        requests = [understand(v3_requests.read(ledger.id, 1, txn_id=number)) for number in numbers]
    return [encode(each, Answer(body=entry, max_lac=0)) for each in requests]


@case(
    "BKW-CCONN-040",
    MUST,
    "sec-start-tls-order",
    since="4.14",
    sends="EOK to START_TLS and, in one piece with it and in clear, replies to a read that is yet to come; then TLS.",
    accepts="The read fails, or its payload is the one that came inside TLS.",
    provenance="CVE-2021-23222 is the like of it in another protocol",
    limit_s=PATIENT_S,
)
def bytes_in_clear_do_not_count_inside_tls(stage: Stage) -> None:
    """A client MUST NOT take bytes that came in clear behind the answer to START_TLS for what came inside TLS."""
    with authority() as secrets:
        ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
        serve_tls(ledger.bookies, secrets)

        def agree(ask: Exchange) -> None:
            ask.send(ask.honest(), *_forge_replies(stage, ledger, ask.request))

        ledger.bookies[0].on(names.START_TLS).do(agree)
        try:
            payload = ledger.open(tls_client(stage, secrets)).read_entry(1)
        except ClientError:
            return
        stage.check("the payload", payload, b"one")
