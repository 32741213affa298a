"""Bytes in clear around START_TLS, and clients that do not go on."""

from compat_tests.bookie.login import auth_frame, challenge, challenge_of, cnonce, credentials, expect_shut, log_in
from compat_tests.bookie.talk import Talk
from compat_tests.bookie.tls_upgrade import agree, finish_handshake, secure
from compat_tests.judge.case import MUST, SHOULD, V3, case
from compat_tests.wire import digest_md5, v3_requests
from compat_tests.wire.line import with_length
from compat_tests.wire.replies import ConnectionClosed, Reply
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EBADREQ, ENOLEDGER, EOK, EUA

_ALERT_SIZE_MAX = 4096
"""More bytes than any alert has."""
_AT_ONCE_S = 5.0
"""Well below the 10 s after which Java's bookies give up a handshake, and close the connection anyway."""


@case(
    "BKW-TLS-013",
    MUST,
    "sec-start-tls-order",
    sends="START_TLS and an add behind it, in clear and in one segment.",
    accepts="The add is not carried out; the connection closed, with or without the answer to START_TLS.",
    site="tls",
    provenance="the flaw of STARTTLS in other protocols: CVE-2011-0411",
    limit_s=20.0,
)
def what_is_in_clear_behind_start_tls_is_not_carried_out(talk: Talk) -> None:
    """A bookie MUST NOT carry out a request that came in clear behind START_TLS."""
    ledger, line = talk.new_ledger(), talk.line("in clear behind it")
    line.send_bytes(with_length(v3_requests.start_tls()) + with_length(talk.requests.add(ledger, 0)))
    outcome = line.receive()
    if isinstance(outcome, Reply):
        talk.check("the operation of the reply", outcome.operation, V3Operation.START_TLS)
        if not isinstance(line.receive_bytes(0.3), ConnectionClosed):
            talk.tolerate("the connection stays open for a ClientHello")
    for _ in range(20 if talk.notes else 2):  # it may be carried out a little later
        talk.wait(0.05)
        stored = talk.ask(talk.requests.read(ledger, 0))
        talk.check("the status of a read of the entry that was sent in clear", stored.status, ENOLEDGER)


@case(
    "BKW-TLS-014",
    MUST,
    "sec-start-tls-order",
    sends="START_TLS; when it is agreed to, an add in clear instead of a ClientHello.",
    accepts="The connection closed at once, with nothing but a TLS alert; the add is not carried out.",
    site="tls",
    provenance="the source of Java 4.9 to 4.18",
    limit_s=20.0,
)
def behind_the_answer_only_tls_is_taken(talk: Talk) -> None:
    """A bookie MUST close a connection at once when bytes in clear come after it has agreed to TLS."""
    ledger, line = talk.new_ledger(), talk.line("in clear after it")
    agree(talk, line)
    line.send(talk.requests.add(ledger, 0))
    seen = b""
    while isinstance(more := line.receive_bytes(_AT_ONCE_S), bytes) and more and len(seen) <= _ALERT_SIZE_MAX:
        seen += more
    talk.check_that(isinstance(more, ConnectionClosed), "the connection", "closed", more)
    talk.check_that(not seen or seen[:1] == b"\x15", "what came before the end", "nothing, or a TLS alert", seen)
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)


@case(
    "BKW-TLS-015",
    MUST,
    "sec-start-tls-states",
    sends="Requests in clear to a bookie that has TLS.",
    accepts="They are served: TLS is never mandatory by protocol.",
    site="tls",
    provenance="seen of Java 4.9.2 to 4.18.0",
    limit_s=20.0,
)
def clients_in_clear_are_served_beside_tls(talk: Talk) -> None:
    """A bookie with TLS MUST serve clients in clear, unless its authentication looks for a certificate."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0), EOK)
    inside = secure(talk, talk.line("inside"))
    talk.expect(talk.requests.read(ledger, 0), EOK, inside)
    talk.expect(talk.requests.add(ledger, 1), EOK, inside)
    talk.expect(talk.requests.read(ledger, 1), EOK)


@case(
    "BKW-TLS-016",
    MUST,
    "sec-start-tls-order",
    sends="On 20 connections START_TLS and then nothing, half a ClientHello, garbage, or a reset; adds inside TLS on "
    "another one.",
    accepts="EOK to the adds.",
    site="tls",
    provenance="D5: no harm to others",
    limit_s=20.0,
)
def handshakes_that_stop_harm_nobody(talk: Talk) -> None:
    """A bookie MUST serve others while handshakes have stopped or failed."""
    ledger = talk.new_ledger()
    inside = secure(talk, talk.line("inside"))
    for index in range(20):
        line = talk.line(f"stopped {index}")
        agree(talk, line)
        if index % 4 == 1:
            line.send_bytes(bytes.fromhex("160301020001"))
        elif index % 4 == 2:
            line.send_bytes(bytes.fromhex("1603010005") + b"\xff" * 5)
        elif index % 4 == 3:
            line.reset()
        talk.expect(talk.requests.add(ledger, index), EOK, inside)
    talk.expect_open(secure(talk, talk.line("late")))


@case(
    "BKW-TLS-017",
    MUST,
    "sec-start-tls-order",
    sends="START_TLS, the handshake, the login, then an add and a read.",
    accepts="EUA inside TLS before the login; EOK after it.",
    site="tls+auth",
    provenance="BK#2300, BK#1805; the source of Java 4.9 to 4.18",
    limit_s=20.0,
)
def authentication_is_done_inside_tls(talk: Talk) -> None:
    """A bookie with both MUST agree to TLS before authentication, and MUST ask for that inside TLS."""
    ledger = talk.new_ledger()
    secure(talk, talk.main)
    frame = talk.requests.read(ledger, 0)
    talk.main.send(frame)
    talk.expect_answer(frame, EUA)
    log_in(talk, talk.main)
    talk.expect(talk.requests.add(ledger, 0), EOK)
    talk.expect(talk.requests.read(ledger, 0), EOK)


@case(
    "BKW-TLS-018",
    MUST,
    "sec-start-tls-order",
    sends="START_TLS and the handshake, and then nothing.",
    accepts="Nothing: the client is to speak next.",
    site="tls+auth",
    dialects=(V3,),
    provenance="Java's bookie sends START_TLS with EIO, which its V2 clients cannot read",
    limit_s=20.0,
)
def nothing_is_said_unasked_inside_tls(talk: Talk) -> None:
    """A bookie MUST NOT send a second answer to START_TLS to a client that has yet to authenticate."""
    secure(talk, talk.main)
    talk.expect_silence(talk.main, 1.0)


@case(
    "BKW-TLS-019",
    MUST,
    "sec-start-tls-order",
    sends="START_TLS and the first token behind it, in clear and in one segment, as Java's clients do; the handshake.",
    accepts="EOK in clear; the bookie's challenge inside TLS.",
    site="tls+auth",
    provenance="Java's clients do not wait for the answer to START_TLS",
    limit_s=20.0,
)
def the_first_token_may_come_with_start_tls(talk: Talk) -> None:
    """A bookie with both MUST take one AUTH in clear behind START_TLS, and answer it inside TLS."""
    token = auth_frame(talk, b"")
    start = v3_requests.start_tls()
    talk.main.send_bytes(with_length(start) + with_length(token))
    talk.expect_answer(start, EOK)
    finish_handshake(talk, talk.main)
    challenge_of(talk, talk.answer(token))


@case(
    "BKW-TLS-020",
    MUST,
    "sec-start-tls-states",
    sends="The first token in clear, and when it is answered START_TLS.",
    accepts="EBADREQ: what somebody in between has proven must not count for the client whose TLS he passes on.",
    site="tls+auth",
    dialects=(V3,),
    provenance="a rule of this reference; Java agrees to it",
    limit_s=20.0,
)
def there_is_no_start_tls_behind_a_token_in_clear(talk: Talk) -> None:
    """A bookie MUST refuse START_TLS with EBADREQ on a connection on which an AUTH has come in clear."""
    talk.ask(auth_frame(talk, b""))
    talk.expect(v3_requests.start_tls(), EBADREQ, part=None)


@case(
    "BKW-TLS-021",
    SHOULD,
    "sec-start-tls-order",
    sends="START_TLS and two AUTHs behind it, in clear and in one segment.",
    accepts="The connection closed, with or without the answer to START_TLS: one token is taken, and no second.",
    site="tls+auth",
    provenance="a rule of this reference",
    limit_s=20.0,
)
def a_second_token_in_clear_behind_start_tls_is_not_taken(talk: Talk) -> None:
    """A bookie SHOULD close a connection on which more than one AUTH comes in clear behind START_TLS."""
    start = with_length(v3_requests.start_tls())
    talk.main.send_bytes(start + with_length(auth_frame(talk, b"")) + with_length(auth_frame(talk, b"x")))
    outcome = talk.main.receive()
    if isinstance(outcome, Reply):
        talk.check("the operation of the reply", outcome.operation, V3Operation.START_TLS)
        finish = talk.main.receive_bytes(0.3)
        talk.check_that(isinstance(finish, ConnectionClosed), "the connection", "closed", finish)


@case(
    "BKW-TLS-022",
    MUST,
    "sec-auth-gate",
    sends="Inside TLS, with a good certificate, a response with a wrong password; then a read.",
    accepts="EUA, or the connection closed: a certificate is no password.",
    site="tls+auth",
    provenance="S9",
    limit_s=20.0,
)
def a_certificate_does_not_stand_for_a_password(talk: Talk) -> None:
    """A bookie that asks for a password MUST NOT let a client in for its certificate alone."""
    user, password = credentials(talk)
    secure(talk, talk.main)
    token, _ = digest_md5.response(challenge(talk, talk.main), user, password + "x", cnonce(talk))
    talk.main.send(auth_frame(talk, token))
    expect_shut(talk, talk.main)
