"""What a client sends before its first request: START_TLS, a ClientHello, AUTH; and what must not follow."""

from collections.abc import Iterator
from contextlib import contextmanager

from compat_tests.client import client_requests as names
from compat_tests.client.driven_client import Client, PendingCall
from compat_tests.client.identities import FIRST_USE_S, authenticating_client, authority, tls_client
from compat_tests.client.readable_ledger import ReadableLedger, readable_ledger
from compat_tests.client.stage import IMPATIENT_MS, Stage
from compat_tests.judge.case import MUST, V3, case
from compat_tests.judge.recording import TARGET
from protocol_specs.wire.status import EBADREQ, EIO, EOK, EUA

PAYLOADS = (b"zero", b"one")
_RECORD_START = b"\x16\x03"
"""The first bytes of a TLS record of a handshake."""


@contextmanager
def _impatient_tls_client(stage: Stage) -> Iterator[Client]:
    """A client that has to speak TLS, with short time-outs."""
    with authority() as secrets:
        yield tls_client(stage, secrets, read_timeout_ms=IMPATIENT_MS, add_timeout_ms=IMPATIENT_MS)


def _begin_read(stage: Stage, client: Client, ledger: ReadableLedger) -> PendingCall:
    """Open the ledger, which takes no bookie, and begin to read entry 1."""
    return ledger.open(client).begin_read(1).pending


def _operations(ledger: ReadableLedger) -> list[str]:
    return [each.operation for bookie in ledger.bookies for each in bookie.requests()]


@case(
    "BKW-CCONN-010",
    MUST,
    "sec-start-tls-order",
    since="4.14",
    sends="A client that is to speak TLS reads; START_TLS is not answered for half a second.",
    accepts="The first frame of its connection is START_TLS of V3, in either dialect, and nothing follows it.",
    provenance="BK#2300",
    limit_s=40.0,
)
def nothing_follows_start_tls_before_its_answer(stage: Stage) -> None:
    """A client MUST send START_TLS of V3 first, and nothing behind it before it is answered."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    gate = ledger.bookies[0].on(names.START_TLS).hold()
    with _impatient_tls_client(stage) as client:
        reading = _begin_read(stage, client, ledger)
        held = gate.wait(1, FIRST_USE_S)[0]
        stage.wait(0.5)
        stage.check("the dialect", held.dialect, V3)
        stage.check("whether the part is there", held.message.HasField("start_tls_request"), True)
        stage.check("what was sent", set(_operations(ledger)), {names.START_TLS})
        gate.release(status=EIO, part=False)
        reading.error()


@case(
    "BKW-CCONN-024",
    MUST,
    "sec-start-tls-order",
    since="4.14",
    sends="EBADREQ to START_TLS, and at another connection EIO.",
    accepts="The read fails; it never goes out in clear.",
    provenance="BK#2300; seen with Java's client 4.18.0",
    limit_s=40.0,
)
def a_refused_start_tls_is_no_leave_to_go_on_in_clear(stage: Stage) -> None:
    """A client that is to speak TLS MUST NOT send a request in clear when the bookie refuses."""
    for status in (EBADREQ, EIO):
        ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
        ledger.bookies[0].on(names.START_TLS).answer(status, part=False)
        with _impatient_tls_client(stage) as client:
            _begin_read(stage, client, ledger).error()
        stage.check(f"operations asked for, {status.name} to START_TLS", set(_operations(ledger)), {names.START_TLS})


@case(
    "BKW-CCONN-025",
    MUST,
    "sec-start-tls-order",
    since="4.14",
    sends="EOK to START_TLS.",
    accepts="A ClientHello: bytes 16 03; no request in clear.",
    provenance="BK#2300; RFC 5246: a handshake record is type 22",
    limit_s=40.0,
)
def a_client_hello_follows_start_tls(stage: Stage) -> None:
    """A client MUST begin the TLS handshake when START_TLS is answered with EOK."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    ledger.bookies[0].on(names.START_TLS).answer(EOK)
    with _impatient_tls_client(stage) as client:
        reading = _begin_read(stage, client, ledger)
        stage.wait_until(lambda: _hello(stage), "a ClientHello", FIRST_USE_S)
        stage.check("operations asked for", set(_operations(ledger)), {names.START_TLS})
        reading.error()


def _hello(stage: Stage) -> bool:
    sent = [event.data for event in stage.recording.events if event.sender == TARGET]
    return any(data.startswith(_RECORD_START) for data in sent)


@case(
    "BKW-CCONN-026",
    MUST,
    "sec-auth-client",
    sends="A client with a SASL plugin reads; its AUTH is answered after half a second, with AuthDisabledPlugin.",
    accepts="AUTH is the first request of the connection; the read follows only when it is answered.",
    provenance="BK#1805",
    limit_s=40.0,
)
def requests_wait_for_authentication(stage: Stage) -> None:
    """A client with a plugin MUST send its first token first, and its requests only when authentication is over."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    gate = ledger.bookies[0].on(names.AUTH).hold()
    reading = _begin_read(stage, authenticating_client(stage), ledger)
    gate.wait(1, FIRST_USE_S)
    stage.wait(0.5)
    stage.check("what was sent before the answer", set(_operations(ledger)), {names.AUTH})
    gate.release()
    stage.check("the payload", reading.result()["bodies"], b"one".hex())


@case(
    "BKW-CCONN-027",
    MUST,
    "sec-auth-client",
    sends="AUTH is refused: EUA in V3, in V2 the connection is closed.",
    accepts="The read fails, and is never sent.",
    provenance="S9; seen with Java's client 4.18.0",
    limit_s=40.0,
)
def a_refused_token_fails_what_waits(stage: Stage) -> None:
    """A client MUST fail the requests that wait when a bookie refuses its credentials, and MUST NOT send them."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    rule = ledger.bookies[0].on(names.AUTH)
    if stage.dialect is V3:
        rule.answer(EUA, part=False)
    else:
        rule.close()
    _begin_read(stage, authenticating_client(stage), ledger).error()
    stage.check("operations asked for", set(_operations(ledger)), {names.AUTH})
