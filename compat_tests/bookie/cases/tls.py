"""START_TLS, and requests inside TLS."""

import ssl

from compat_tests.bookie.pipeline import collect, statuses
from compat_tests.bookie.stored_entries import expect_stored, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.bookie.tls_upgrade import AGREEMENT, agree, files_with_certificate, finish_handshake, secure
from compat_tests.judge.case import MUST, SHOULD, V2, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.line import with_length
from compat_tests.wire.replies import ConnectionClosed
from compat_tests.wire.requests import Requests
from compat_tests.wire.tls import client_context, shake_hands, stranger
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EBADREQ, ENOLEDGER, EOK


@case(
    "BKW-TLS-001",
    MUST,
    "sec-start-tls",
    sends="START_TLS, in V3 though V2 may be spoken afterwards; the handshake; an add and a read inside.",
    accepts="EOK in clear, 0a06080310091805 1000 d20600 to the byte; then TLS, and EOK inside, in the dialect asked.",
    site="tls",
    provenance="BK#2300; seen of Java 4.9.2 to 4.18.0",
    limit_s=20.0,
)
def start_tls_is_agreed_to_in_clear(talk: Talk) -> None:
    """A bookie with TLS MUST agree to START_TLS in clear, in V3, and speak TLS from there on, whatever the dialect."""
    reply = agree(talk, talk.main)
    talk.check("the reply", reply.raw, AGREEMENT)
    finish_handshake(talk, talk.main)
    ledger = talk.new_ledger()
    talk.expect(talk.requests.add(ledger, 0), EOK, dialect=talk.dialect)
    talk.expect(talk.requests.read(ledger, 0), EOK, dialect=talk.dialect)


@case(
    "BKW-TLS-002",
    MUST,
    "sec-start-tls-states",
    sends="START_TLS to a bookie without TLS, without its part, and with version 2 and priority 9; then a read.",
    accepts="EBADREQ under a header of version 3 and without a part, each time; the read is answered in clear.",
    dialects=(V3,),
    provenance="capture of Java 4.9.2 to 4.18.0",
    limit_s=20.0,
)
def a_bookie_without_tls_says_so(talk: Talk) -> None:
    """A bookie without TLS MUST answer START_TLS with EBADREQ, and keep the connection."""
    frames = [
        v3_requests.start_tls(),
        v3_requests.request(V3Operation.START_TLS),
        v3_requests.start_tls(version=2, priority=9),
    ]
    for frame in frames:
        reply = talk.expect(frame, EBADREQ, part=None)
        talk.check("the reply", reply.raw, bytes.fromhex("0a06080310091805 109403"))
    talk.expect_open()


@case(
    "BKW-TLS-003",
    SHOULD,
    "sec-start-tls-states",
    sends="START_TLS once more inside TLS; then a read.",
    accepts="EBADREQ; the read is answered.",
    dialects=(V3,),
    site="tls",
    provenance="a rule of this reference; Java closes",
    limit_s=20.0,
)
def there_is_no_tls_inside_tls(talk: Talk) -> None:
    """A bookie SHOULD answer START_TLS inside TLS with EBADREQ, and go on."""
    secure(talk, talk.main)
    talk.expect(v3_requests.start_tls(), EBADREQ, part=None)
    talk.expect_open()


@case(
    "BKW-TLS-004",
    MUST,
    "sec-start-tls-order",
    sends="A V2 read in clear, then START_TLS.",
    accepts="The connection closed: behind V2 there is no V3.",
    dialects=(V2,),
    site="tls",
    provenance="BK#2300; D9; seen of Java 4.9.2 to 4.18.0",
    limit_s=20.0,
)
def start_tls_behind_v2_closes_the_connection(talk: Talk) -> None:
    """A bookie MUST close the connection on a START_TLS behind a V2 frame, which it reads as V2."""
    talk.expect(talk.requests.read(talk.new_ledger(), 0), ENOLEDGER)
    talk.expect_closed(talk.main, v3_requests.start_tls())


@case(
    "BKW-TLS-005",
    MUST,
    "sec-start-tls-states",
    sends="START_TLS of header version 1 and 2 and without its part, each followed by the handshake.",
    accepts="EOK, under a header of version 3; TLS.",
    dialects=(V3,),
    site="tls",
    provenance="the source of Java 4.9 to 4.18",
    limit_s=20.0,
)
def start_tls_is_agreed_to_whatever_its_version(talk: Talk) -> None:
    """A bookie MUST NOT look at the version of a START_TLS, nor for its part where nobody has to authenticate."""
    frames = {
        "version 1": v3_requests.start_tls(version=1),
        "version 2": v3_requests.start_tls(version=2, priority=9),
        "no part": v3_requests.request(V3Operation.START_TLS),
    }
    for name, frame in frames.items():
        line = talk.line(name)
        talk.check("the reply", talk.expect(frame, EOK, line).raw, AGREEMENT)
        finish_handshake(talk, line)
        talk.expect_open(line)


@case(
    "BKW-TLS-006",
    MUST,
    "sec-tls-certificates",
    sends="The handshake by a client that has no certificate to show; then an add.",
    accepts="The handshake fails, or the connection is closed; the add is not answered, nothing is stored.",
    site="tls",
    provenance="tlsClientAuthentication of the site",
    limit_s=20.0,
)
def a_client_without_certificate_is_refused(talk: Talk) -> None:
    """A bookie that wants certificates of its clients MUST NOT serve one that shows none."""
    _expect_refused(talk, client_context(files_with_certificate(talk), show_certificate=False))


@case(
    "BKW-TLS-007",
    MUST,
    "sec-tls-certificates",
    sends="The handshake by a client whose certificate is signed by nobody that the bookie trusts; then an add.",
    accepts="The handshake fails, or the connection is closed; the add is not answered, nothing is stored.",
    site="tls",
    provenance="tlsClientAuthentication of the site",
    limit_s=20.0,
)
def a_client_with_a_strangers_certificate_is_refused(talk: Talk) -> None:
    """A bookie that wants certificates of its clients MUST NOT serve one whose certificate it cannot trust."""
    wanted = files_with_certificate(talk)
    with stranger() as shown:
        _expect_refused(talk, client_context(wanted, shown=shown))


@case(
    "BKW-TLS-008",
    MUST,
    "sec-tls-certificates",
    sends="The handshake of clients that speak TLS 1.2 only, and TLS 1.3 only; an add and a read inside.",
    accepts="TLS of that version, and EOK.",
    site="tls",
    provenance="a rule of this reference; Java 4.9 speaks TLS 1.2 only",
    limit_s=20.0,
)
def tls_1_2_and_1_3_are_spoken(talk: Talk) -> None:
    """A bookie with TLS MUST speak TLS 1.2 and TLS 1.3."""
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        ledger, line = talk.new_ledger(), talk.line(version.name)
        secure(talk, line, version=version)
        talk.expect(talk.requests.add(ledger, 0), EOK, line)
        talk.expect(talk.requests.read(ledger, 0), EOK, line)


@case(
    "BKW-TLS-009",
    MUST,
    "sec-start-tls",
    sends="Inside TLS, 40 adds of entries from 0 bytes to 1.5 MB in one go; then all reads in one go.",
    accepts="EOK to each, and every entry as it was sent.",
    site="tls",
    provenance="BK#4404, PL#22601 (fixed in 4.16.6 and 4.17.1)",
    limit_s=20.0,
)
def entries_of_every_size_go_through_tls_unharmed(talk: Talk) -> None:
    """A bookie MUST store and return the very bytes inside TLS, whatever the sizes, and however many are in flight."""
    ledger = talk.new_ledger()
    secure(talk, talk.main)
    sizes = [0, 1, 4095, 4096, 16_383, 16_384, 16_385, 65_536, 100_000, 1_500_000]
    sizes += [talk.random.randrange(200_000) for _ in range(30)]
    bodies = [make_entry(ledger, entry_id, size) for entry_id, size in enumerate(sizes)]
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    talk.main.send(*frames)
    talk.check("the statuses", statuses(collect(talk.main, frames)), ["EOK"] * len(frames))
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-TLS-010",
    MUST,
    "sec-start-tls",
    sends="Inside TLS, 30 batch reads of entries of 40 kB in one go.",
    accepts="Each reply whole, with the very entries.",
    dialects=(V2,),
    site="tls",
    needs=("batch-read-v2",),
    since="4.17",
    provenance="BK#4404; D4",
    limit_s=20.0,
)
def batches_go_through_tls_unharmed(talk: Talk) -> None:
    """A bookie MUST return the very entries of a batch inside TLS."""
    ledger = talk.new_ledger()
    secure(talk, talk.main)
    bodies = [make_entry(ledger, entry_id, 40_000) for entry_id in range(10)]
    adds = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    talk.main.send(*adds)
    talk.check("the statuses", statuses(collect(talk.main, adds)), ["EOK"] * len(adds))
    reads = [talk.requests.batch_read(ledger, 0, 5, 1 << 20) for _ in range(30)]
    talk.main.send(*reads)
    for reply in collect(talk.main, reads):
        talk.check_reply(reply, EOK)
        found = len(reply.entries)
        talk.check_that(1 <= found <= 5, "entries of a batch", "one to five", found)
        talk.check("the entries", list(reply.entries), bodies[:found])


@case(
    "BKW-TLS-011",
    MUST,
    "sec-start-tls-order",
    sends="Inside TLS: V3 reads, then V2 reads, then a V3 read again.",
    accepts="Each in its dialect; the last closes the connection, as outside TLS.",
    dialects=(V3,),
    site="tls",
    provenance="BK#2300; seen of Java 4.9.2 to 4.18.0",
    limit_s=20.0,
)
def tls_does_not_change_the_detection(talk: Talk) -> None:
    """A bookie MUST detect dialects inside TLS as outside: START_TLS, which is V3, decides nothing."""
    secure(talk, talk.main)
    v2 = Requests(V2)
    for _ in range(2):
        talk.expect(v3_requests.read(talk.new_ledger(), 0), ENOLEDGER, dialect=V3)
    for _ in range(2):
        talk.expect(v2.read(talk.new_ledger(), 0), ENOLEDGER, dialect=V2)
    talk.expect_closed(talk.main, v3_requests.read(talk.new_ledger(), 0))


@case(
    "BKW-TLS-012",
    MUST,
    "sec-framing",
    sends="Inside TLS: an add in one record for each byte, then ten adds in one record.",
    accepts="EOK to each, and the very entries.",
    site="tls",
    provenance="RFC 8446: records are not messages",
    limit_s=20.0,
)
def records_and_frames_are_not_the_same(talk: Talk) -> None:
    """A bookie MUST serve frames that are spread over TLS records, and records that hold several frames."""
    ledger = talk.new_ledger()
    secure(talk, talk.main)
    bodies = [make_entry(ledger, entry_id) for entry_id in range(11)]
    frames = [talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)]
    talk.main.send_slowly(with_length(frames[0]))
    talk.main.send_bytes(b"".join(map(with_length, frames[1:])))
    for frame in frames:
        talk.expect_answer(frame, EOK)
    expect_stored(talk, ledger, bodies)


def _expect_refused(talk: Talk, context: ssl.SSLContext) -> None:
    """Require that no request is carried out, however far the handshake goes."""
    ledger, line = talk.new_ledger(), talk.line("refused")
    agree(talk, line)
    if shake_hands(line, context) is None:
        line.send(talk.requests.add(ledger, 0))
        outcome = line.receive()
        talk.check_that(isinstance(outcome, ConnectionClosed), "the connection", "closed", outcome)
    secure(talk, talk.main)
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)
