"""Explicit last add confirmed: the bytes that a writer has sealed, kept as they came or refused."""

from compat_tests.bookie.lacs import expect_lac, expect_written, read_lac, write_lac
from compat_tests.bookie.runs import check_part, entry_of_size, store, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire.entries import explicit_lac
from protocol_specs.wire.status import EBADREQ, EIO, ENOENTRY, ENOLEDGER, EOK

_NEEDS = ("explicit-lac",)

_DIGESTS = {"none": b"", "CRC32C": b"\1\2\3\4", "CRC32": bytes(4) + b"\5\6\7\x08", "HMAC": bytes(range(100, 120))}


@case(
    "BKW-LAC-015",
    MUST,
    "sec-write-lac",
    sends="WRITE_LACs with bodies of 16, 20, 24 and 36 bytes, as of the four digest types, each of a ledger of "
    "its own.",
    accepts="EOK, and READ_LAC brings each body byte for byte.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def a_body_with_any_digest_is_kept_as_it_came(talk: Talk) -> None:
    """A bookie MUST keep the body of a WRITE_LAC byte for byte, with a digest of any type, which it does not look
    at."""
    for digest in _DIGESTS.values():
        ledger = talk.new_ledger()
        bodies = store_run(talk, ledger, [41, 41])
        body = explicit_lac(ledger, 1, digest)
        expect_written(talk, ledger, 1, body)
        expect_lac(talk, ledger, explicit=body, last=bodies[1])


@case(
    "BKW-LAC-016",
    MUST,
    "sec-write-lac",
    sends="A WRITE_LAC with a body of 20 bytes, then one of the same ledger with a body of 36.",
    accepts="EOK, and READ_LAC brings all 36 bytes. A refusal, after which the first body is still there, is a "
    "pass that is not strict.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="S5",
)
def a_longer_body_than_the_first_is_not_cut(talk: Talk) -> None:
    """A body that is longer than an earlier one MUST NOT be acknowledged and cut: its digest would be gone."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41, 41])
    expect_written(talk, ledger, 1)
    longer = explicit_lac(ledger, 2, _DIGESTS["HMAC"])
    reply = talk.ask(write_lac(talk, ledger, 2, longer))
    if reply.status is EBADREQ:
        talk.tolerate("a longer body is refused")
        longer = explicit_lac(ledger, 1)
    else:
        check_part(talk, reply, EOK, ledger_id=ledger)
    expect_lac(talk, ledger, explicit=longer, last=bodies[2])


@case(
    "BKW-LAC-017",
    MUST,
    "sec-write-lac",
    sends="A WRITE_LAC with a body of 36 bytes, then one of the same ledger with a body of 20, and one of 16.",
    accepts="EOK, and READ_LAC brings the shorter body, with nothing of the longer one behind it.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="S5",
)
def a_shorter_body_than_the_first_is_taken(talk: Talk) -> None:
    """A body that is shorter than an earlier one, and long enough by itself, MUST be taken and kept as it came."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41, 41])
    expect_written(talk, ledger, 0, explicit_lac(ledger, 0, _DIGESTS["HMAC"]))
    for lac, digest in ((1, _DIGESTS["CRC32C"]), (2, b"")):
        shorter = explicit_lac(ledger, lac, digest)
        expect_written(talk, ledger, lac, shorter)
        expect_lac(talk, ledger, explicit=shorter, last=bodies[2])


@case(
    "BKW-LAC-018",
    MUST,
    "sec-write-lac",
    sends="WRITE_LACs with bodies of 0, 8 and 15 bytes, of a ledger that has an explicit last add confirmed and"
    " one that is unknown.",
    accepts="EBADREQ; the body from before stays, the unknown ledger stays without entry and body; the connection"
    " serves on.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18 for the status; that nothing is kept is a rule of this reference",
)
def a_body_that_is_too_short_is_refused(talk: Talk) -> None:
    """A body without room for ledger id and last add confirmed MUST be refused with EBADREQ and MUST NOT be kept."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    bodies = store_run(talk, ledger, [41])
    expect_written(talk, ledger, 0)
    for size in (0, 8, 15):
        talk.expect(write_lac(talk, ledger, 1, explicit_lac(ledger, 1)[:size]), EBADREQ, ledger_id=ledger)
        talk.expect(write_lac(talk, unknown, 1, explicit_lac(unknown, 1)[:size]), EBADREQ, ledger_id=unknown)
    expect_lac(talk, ledger, explicit=explicit_lac(ledger, 0), last=bodies[0])
    reply = talk.ask(read_lac(talk, unknown))
    talk.check("the body that was refused, as READ_LAC tells it", getattr(reply.part, "lac_body", b""), b"")
    check_part(talk, reply, ENOENTRY, ledger_id=unknown)
    talk.expect(talk.requests.read(ledger, 0), EOK, max_lac=0)


@case(
    "BKW-LAC-019",
    MUST,
    "sec-write-lac",
    sends="WRITE_LACs with bodies of 256, 300 and 5000 bytes, each of a ledger of its own.",
    accepts="EOK, and READ_LAC brings all of it; above 256 bytes EBADREQ too, and then there is none.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="S5",
)
def an_overlong_body_is_kept_whole_or_refused(talk: Talk) -> None:
    """A bookie MAY refuse a body of more than 256 bytes with EBADREQ; what it acknowledges it MUST have kept whole."""
    for size in (256, 300, 5000):
        ledger = talk.new_ledger()
        bodies = store_run(talk, ledger, [41])
        body = explicit_lac(ledger, 0, bytes(range(1, 241)) * 21)[:size]
        reply = talk.ask(write_lac(talk, ledger, 0, body))
        if size > 256 and reply.status is EBADREQ:
            expect_lac(talk, ledger, last=bodies[0])
        else:
            check_part(talk, reply, EOK, ledger_id=ledger)
            expect_lac(talk, ledger, explicit=body, last=bodies[0])


@case(
    "BKW-LAC-020",
    MUST,
    "sec-write-lac",
    sends="A WRITE_LAC whose request names one ledger and `lac`, and its body another ledger and another last "
    "add confirmed.",
    accepts="EOK with the ledger id of the request; the explicit last add confirmed is that of the body's ledger,"
    " whole.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def what_is_in_the_body_counts(talk: Talk) -> None:
    """The ledger id of the request is only echoed, and its `lac` not looked at: what counts MUST be the body."""
    named, meant = talk.new_ledger(), talk.new_ledger()
    of_named = store_run(talk, named, [41])
    of_meant = store_run(talk, meant, [41, 41, 41])
    body = explicit_lac(meant, 2)
    check_part(talk, talk.ask(write_lac(talk, named, 7, body)), EOK, ledger_id=named)
    expect_lac(talk, named, last=of_named[0])
    expect_lac(talk, meant, explicit=body, last=of_meant[2])
    talk.expect(talk.requests.read(meant, 0), EOK, max_lac=2)
    talk.expect(talk.requests.read(named, 0), EOK, max_lac=-1)


@case(
    "BKW-LAC-021",
    MUST,
    "sec-write-lac",
    sends="A WRITE_LAC whose body says -1, of a ledger without entries.",
    accepts="EOK; READ_LAC brings the body with EIO, as there is no entry.",
    dialects=(V3,),
    needs=_NEEDS,
    after=("BKW-LAC-005",),
    provenance="the source of Java 4.9 to 4.18",
)
def that_nothing_is_confirmed_can_be_said_too(talk: Talk) -> None:
    """A last add confirmed of -1, nothing yet, MUST be taken as any other."""
    ledger = talk.new_ledger()
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)
    expect_written(talk, ledger, -1)
    reply = talk.expect(read_lac(talk, ledger), EIO)
    check_part(talk, reply, EIO, ledger_id=ledger, lac_body=explicit_lac(ledger, -1))


@case(
    "BKW-LAC-013",
    MUST,
    "sec-read-lac",
    sends="READ_LAC of a ledger with an explicit last add confirmed, whose last entry has 1, 2 and 3 MB.",
    accepts="EOK with the body and the whole entry.",
    dialects=(V3,),
    needs=_NEEDS,
    limit_s=20.0,
    provenance="the source of Java 4.9 to 4.18",
)
def a_large_last_entry_comes_whole(talk: Talk) -> None:
    """The last entry MUST come whole with READ_LAC whatever its size: a client checks its digest."""
    ledger = talk.new_ledger()
    expect_written(talk, ledger, 0)
    for entry_id, size in enumerate((1_000_000, 2_000_000, 3_000_000)):
        body = entry_of_size(talk, ledger, entry_id, size)
        store(talk, ledger, {entry_id: body})
        expect_lac(talk, ledger, explicit=explicit_lac(ledger, 0), last=body)
