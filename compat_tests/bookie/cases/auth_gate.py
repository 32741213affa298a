"""A bookie that asks its clients to authenticate: its replies before they have."""

from compat_tests.bookie.login import auth_frame, challenge, challenge_of, log_in, prove
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, SHOULD, V2, V3, case
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.replies import ConnectionClosed
from compat_tests.wire.requests import Requests
from protocol_specs.wire import framing, v3_pb2
from protocol_specs.wire.operations import Operation, V3Operation
from protocol_specs.wire.status import EBADREQ, ENOLEDGER, EOK, EUA


@case(
    "BKW-AUTH-001",
    MUST,
    "sec-auth-gate",
    sends="V3 operations that all releases know, before any AUTH, of other versions and priorities, and without parts.",
    accepts="EUA at the top level under the request's own header, without a part, each time; the connection stays.",
    dialects=(V3,),
    site="auth",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def everything_in_v3_is_refused_before_authentication(talk: Talk) -> None:
    """A bookie MUST answer V3 requests before authentication with EUA under their own header, and without a part."""
    ledger = talk.new_ledger()
    frames = [
        v3_requests.add(ledger, 0),
        v3_requests.add(ledger, 0, flag=v3_pb2.AddRequest.RECOVERY_ADD, priority=100),
        v3_requests.add(ledger, 0, version=1),
        v3_requests.read(ledger, 0),
        v3_requests.fence(ledger),
        v3_requests.poll(ledger, 0, 60_000),
        v3_requests.write_lac(ledger, 0),
        v3_requests.read_lac(ledger),
        v3_requests.force(ledger),
        v3_requests.info(3, version=2, priority=9),
        v3_requests.request(V3Operation.RANGE_ADD_ENTRY),
        v3_requests.request(V3Operation.READ_ENTRY),
        v3_requests.request(V3Operation.START_TLS),
        v3_requests.auth("foo", b"abc"),
    ]
    for frame in frames:
        reply = talk.expect(frame, EUA, part=None)
        header = frame[: 2 + frame[1]]
        talk.check("the reply", reply.raw, header + bytes.fromhex("10f603"))
    log_in(talk, talk.main)
    talk.expect(v3_requests.read(ledger, 0, txn_id=9), ENOLEDGER)
    talk.expect(v3_requests.add(ledger, 0, txn_id=10), EOK)


@case(
    "BKW-AUTH-002",
    MUST,
    "sec-auth-gate",
    sends="V2 adds and reads of versions 0 to 3 before any AUTH, a fencing read among them; then the login.",
    accepts="EUA with version and ids of the request, and no entry; after the login the ledger is not there.",
    dialects=(V2,),
    site="auth",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def adds_and_reads_in_v2_are_refused_before_authentication(talk: Talk) -> None:
    """A bookie MUST answer V2 adds and reads before authentication with EUA, and MUST NOT carry them out."""
    ledger = talk.new_ledger()
    for version in (0, 1, 2, 3):
        reply = talk.expect(v2_requests.add(ledger, 0, version=version), EUA, entry_id=0)
        word = framing.join_header(version, Operation.ADD_ENTRY)
        talk.check("header of the reply", reply.raw[:4], word.to_bytes(4, "big"))
        reply = talk.expect(v2_requests.read(ledger, 0, version=version), EUA, body=b"")
        word = framing.join_header(version, Operation.READ_ENTRY)
        talk.check("header of the reply", reply.raw[:4], word.to_bytes(4, "big"))
    talk.expect(talk.requests.fence(ledger), EUA)
    log_in(talk, talk.main)
    talk.expect(v2_requests.read(ledger, 0), ENOLEDGER)
    talk.expect(v2_requests.add(ledger, 0), EOK)


@case(
    "BKW-AUTH-003",
    MUST,
    "sec-auth-gate",
    sends="A V2 batch read before any AUTH.",
    accepts="The connection closed without a reply.",
    dialects=(V2,),
    site="auth",
    provenance="capture of Java 4.9.2 to 4.18.0; errata of BP-62",
)
def a_v2_batch_read_before_authentication_closes_the_connection(talk: Talk) -> None:
    """A bookie MUST close the connection on a V2 batch read before authentication."""
    talk.expect_closed(talk.main, talk.requests.batch_read(talk.new_ledger(), 0, 10, 1000))


@case(
    "BKW-AUTH-004",
    MUST,
    "sec-auth-gate",
    sends="A V2 AUTH for a plugin that the bookie does not have, and one whose message does not parse.",
    accepts="The connection closed without a reply.",
    dialects=(V2,),
    site="auth",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def another_plugin_in_v2_closes_the_connection(talk: Talk) -> None:
    """A bookie MUST close the connection on a V2 AUTH that is not for its plugin, or not readable."""
    talk.expect_closed(talk.line("another plugin"), auth_frame(talk, b"abc", "foo"))
    talk.expect_closed(talk.line("nobody's plugin"), auth_frame(talk, b"", "AuthDisabledPlugin"))
    talk.expect_closed(talk.line("no message"), v2_requests.operation(Operation.AUTH, body=b"\xff\xff\xff"))
    talk.expect_closed(talk.line("empty"), v2_requests.operation(Operation.AUTH, body=b""))


@case(
    "BKW-AUTH-005",
    MUST,
    "sec-auth-gate",
    sends="A V3 AUTH that names the plugin of those who ask for nothing, one for another plugin; then the login.",
    accepts="EUA without a part to both, the gate stays shut; the login is not harmed.",
    dialects=(V3,),
    site="auth",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def another_plugin_in_v3_is_refused(talk: Talk) -> None:
    """A bookie MUST answer a V3 AUTH for another plugin with EUA, and MUST NOT let its client in for it."""
    for plugin in ("AuthDisabledPlugin", "foo", "", "SASL"):
        talk.expect(auth_frame(talk, b"", plugin), EUA, part=None)
        talk.expect(talk.requests.read(talk.new_ledger(), 0), EUA)
    log_in(talk, talk.main)
    talk.expect_open()


@case(
    "BKW-AUTH-006",
    MUST,
    "sec-auth-gate",
    sends="An add, the first token, another add, all in one segment; then the rest of the login; then reads.",
    accepts="EUA to both adds; after the login neither entry is there.",
    site="auth",
    provenance="the gate: nothing that came before it was open is carried out",
)
def nothing_from_before_the_gate_was_open_is_carried_out(talk: Talk) -> None:
    """A bookie MUST NOT carry out a request that came before authentication, not later either."""
    ledger = talk.new_ledger()
    adds = [talk.requests.add(ledger, entry_id) for entry_id in range(2)]
    first = auth_frame(talk, b"")
    talk.main.send(adds[0], first, adds[1])
    for frame in adds:
        talk.expect_answer(frame, EUA)
    prove(talk, talk.main, challenge_of(talk, talk.answer(first)))
    for entry_id in range(2):
        talk.expect(talk.requests.read(ledger, entry_id), ENOLEDGER)


@case(
    "BKW-AUTH-007",
    MUST,
    "sec-start-tls-states",
    sends="START_TLS before any AUTH to a bookie that asks for authentication and has no TLS.",
    accepts="EBADREQ, as on any connection; then the login.",
    dialects=(V3,),
    site="auth",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def start_tls_needs_no_authentication(talk: Talk) -> None:
    """A bookie MUST answer START_TLS before authentication as on any connection."""
    talk.expect(v3_requests.start_tls(), EBADREQ, part=None)
    log_in(talk, talk.main)
    talk.expect_open()


@case(
    "BKW-AUTH-008",
    MUST,
    "sec-auth-gate",
    sends="A login on one connection; reads on that one and on others, opened before and after it.",
    accepts="The first is served, the others get EUA.",
    site="auth",
    provenance="authentication is of a connection",
)
def each_connection_has_a_gate_of_its_own(talk: Talk) -> None:
    """A bookie MUST let in only the connection on which its client has authenticated."""
    before = talk.line("before")
    talk.expect(talk.requests.read(talk.new_ledger(), 0), EUA, before)
    log_in(talk, talk.main)
    talk.expect_open()
    for line in (before, talk.line("after")):
        talk.expect(talk.requests.read(talk.new_ledger(), 0), EUA, line)


@case(
    "BKW-AUTH-009",
    MUST,
    "sec-auth-gate",
    sends="A login in V3; then adds and reads in V3 and in V2 on the same connection.",
    accepts="EOK: the login is the connection's, not the dialect's.",
    dialects=(V3,),
    site="auth",
    provenance="BK#1805; seen of Java 4.9.2 to 4.18.0",
)
def authentication_is_not_of_a_dialect(talk: Talk) -> None:
    """A bookie MUST serve V2 on a connection whose client has authenticated in V3."""
    ledger = talk.new_ledger()
    log_in(talk, talk.main)
    talk.expect(talk.requests.add(ledger, 0), EOK)
    v2 = Requests(V2)
    talk.expect(v2.add(ledger, 1), EOK, dialect=V2)
    talk.expect(v2.read(ledger, 0), EOK, dialect=V2)


@case(
    "BKW-AUTH-010",
    SHOULD,
    "sec-auth-gate",
    sends="Before any AUTH, an add in a frame of a mebibyte.",
    accepts="The connection closed: who is unknown is not to have a bookie hold so much.",
    site="auth",
    provenance="a rule of this reference; Java takes any frame",
)
def a_stranger_may_not_send_large_frames(talk: Talk) -> None:
    """A bookie SHOULD close a connection that announces a frame of more than 64 KiB before authentication."""
    line = talk.line("stranger")
    line.send(talk.requests.add(talk.new_ledger(), 0, body=bytes(1 << 20)))
    outcome = line.receive()
    talk.check_that(
        isinstance(outcome, ConnectionClosed), "a large frame of a stranger", "the connection closed", outcome
    )


@case(
    "BKW-AUTH-011",
    MUST,
    "sec-auth-gate",
    sends="The first token on 30 connections that go no further, and half of it on 30 others; then a login.",
    accepts="The login and what follows it, as if the others were not there.",
    site="auth",
    provenance="D5: no harm to others",
)
def exchanges_that_stop_harm_nobody(talk: Talk) -> None:
    """A bookie MUST let others authenticate while many exchanges have stopped half-way."""
    for index in range(30):
        challenge(talk, talk.line(f"stopped {index}"))
        frame = auth_frame(talk, b"")
        talk.line(f"half {index}").send_bytes(len(frame).to_bytes(4, "big") + frame[: index % len(frame)])
    log_in(talk, talk.main)
    talk.expect_open()
