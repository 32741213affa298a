"""Frames and records of TLS: where one ends says nothing about the other, and a connection cut within is a lost one."""

from collections.abc import Callable

from compat_tests.client import client_requests as names
from compat_tests.client.identities import FIRST_USE_S, PATIENT_S, authority, serve_tls, tls_client
from compat_tests.client.readable_ledger import HeldRequests, in_turn, readable_ledger
from compat_tests.client.rules import Exchange
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, case
from compat_tests.wire.line import with_length

PAYLOADS = (b"zero", b"one", b"more than one record of TLS can hold " * 3000)
_CUT_AT = 20
"""Within the header of a reply, or its ids."""


@case(
    "BKW-CCONN-033",
    MUST,
    "sec-tls-records",
    since="4.14",
    sends="The replies to two reads, the later one first, in one record of TLS.",
    accepts="Both payloads are right.",
    provenance="RFC 5246, 6.2.1: records keep no boundaries of messages",
    limit_s=PATIENT_S,
)
def several_frames_come_in_one_record(stage: Stage) -> None:
    """A client MUST take all frames out of one record of TLS."""
    with authority() as secrets:
        ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
        serve_tls(ledger.bookies, secrets)
        kept = HeldRequests(ledger.bookies[0], names.READ, ledger.id)
        reader = ledger.open(tls_client(stage, secrets))
        readings = [reader.begin_read(entry_id) for entry_id in (0, 1)]
        kept.wait(stage, 2, FIRST_USE_S)
        kept.answer_backwards(together=True)
        stage.check("the payloads", [each.payloads() for each in readings], [(b"zero",), (b"one",)])


@case(
    "BKW-CCONN-034",
    MUST,
    "sec-tls-records",
    since="4.14",
    sends="Replies to reads: one in a record of TLS for each byte; one that is larger than any record.",
    accepts="Both payloads are right.",
    provenance="RFC 5246, 6.2.1: records keep no boundaries of messages",
    limit_s=PATIENT_S,
)
def one_frame_comes_in_several_records(stage: Stage) -> None:
    """A client MUST put a frame together that comes in several records of TLS."""
    with authority() as secrets:
        ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
        serve_tls(ledger.bookies, secrets)
        ledger.bookies[0].on(names.READ, entry_id=1).split()
        reader = ledger.open(tls_client(stage, secrets))
        stage.check("the payload that came byte by byte", reader.read_entry(1), PAYLOADS[1])
        stage.check("the large payload", reader.read_entry(2), PAYLOADS[2])


def _frame_with_length(ask: Exchange) -> bytes:
    return with_length(ask.honest())


def _within_a_record(ask: Exchange) -> None:
    ask.break_off(_frame_with_length(ask), missing=8)


def _between_two_records(ask: Exchange) -> None:
    ask.send_bytes(_frame_with_length(ask)[:_CUT_AT])
    ask.break_off()


def _by_a_goodbye(ask: Exchange) -> None:
    ask.send_bytes(_frame_with_length(ask)[:_CUT_AT])
    ask.close()


_CUTS: dict[str, Callable[[Exchange], None]] = {
    "within a record": _within_a_record,
    "between two records of a frame": _between_two_records,
    "by TLS's own goodbye within a frame": _by_a_goodbye,
}


@case(
    "BKW-CCONN-035",
    MUST,
    "sec-tls-records",
    since="4.14",
    sends="A reply is cut off: within a record of TLS; between two; in the midst of the frame, by close_notify.",
    accepts="The payload comes from the other replica; where there is none the read fails.",
    provenance="RFC 5246, 7.2.1: truncation",
    limit_s=PATIENT_S,
)
def a_reply_that_tls_cuts_off_is_no_reply(stage: Stage) -> None:
    """A client MUST NOT use the beginning of a reply when TLS ends within it: another replica, or an error."""
    with authority() as secrets:
        for where, cut in _CUTS.items():
            ledger = readable_ledger(stage, PAYLOADS, ensemble=2)
            alone = readable_ledger(stage, PAYLOADS, ensemble=1)
            serve_tls([*ledger.bookies, *alone.bookies], secrets)
            in_turn(stage, ledger, names.READ, cut)
            alone.bookies[0].on(names.READ).do(cut)
            client = tls_client(stage, secrets)
            stage.check(f"what a read gives, cut {where}", ledger.open(client).begin_read(1).outcome(), (b"one",))
            alone.open(client).fails_to_read(1)
