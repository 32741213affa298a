"""Digests: a client returns no entry in which a bit differs from the sealed one."""

from compat_tests.client import client_requests as names
from compat_tests.client import faults
from compat_tests.client.driven_client import ClientError
from compat_tests.client.readable_ledger import (
    DIGEST_MISMATCH,
    ReadableLedger,
    cut_at,
    in_turn,
    readable_ledger,
    reply_with,
)
from compat_tests.client.rules import Exchange
from compat_tests.client.sealing import DIGEST_NAMES, Seal, digest_named
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, case
from protocol_specs import fields
from protocol_specs.wire.status import ENOENTRY

PAYLOADS = (b"zero", b"one", b"two", b"three")
SECRET = b"secret"
CHECKED = ("CRC32", "MAC", "CRC32C")
"""The digest types that notice a changed bit."""


def _sealed_ledger(stage: Stage, digest: str) -> ReadableLedger:
    return readable_ledger(stage, PAYLOADS, digest=digest, password=SECRET)


@case(
    "BKW-CDIGEST-001",
    MUST,
    "sec-digests",
    sends="Ledgers of CRC32, HMAC, CRC32C and DUMMY, sealed as the reference says.",
    accepts="All entries are returned.",
    provenance="docs: worked digest values",
)
def entries_of_each_digest_type_are_read(stage: Stage) -> None:
    """A client MUST read ledgers of all four digest types: CRC32, HMAC, CRC32C and DUMMY."""
    for digest in DIGEST_NAMES:
        reader = _sealed_ledger(stage, digest).open(password=SECRET)
        stage.check(f"the payloads with {digest}", reader.read(0, 3), PAYLOADS)


def _expect_noticed(stage: Stage, field: str) -> None:
    """For each type of digest: one bit of a field is wrong at the first replica, and another one must be asked."""
    for digest in CHECKED:
        ledger = _sealed_ledger(stage, digest)
        damaged = faults.damaged_copies(ledger.entries[2], digest_named(digest))[field]
        order = in_turn(stage, ledger, names.READ, reply_with(body=damaged))
        found = ledger.open(password=SECRET).read_entry(2)
        stage.check(f"the payload behind a wrong {field.replace('_', ' ')} with {digest}", found, b"two")
        stage.check(f"whether another bookie was asked with {digest}", len(set(order)) > 1, True)


@case(
    "BKW-CDIGEST-002",
    MUST,
    "sec-digests",
    sends="An entry with one bit of its ledger id flipped, from the replica asked first; CRC32, HMAC, CRC32C.",
    accepts="The entry of another replica.",
    provenance="correctness: DigestBoundToPosition",
)
def a_wrong_ledger_id_is_noticed(stage: Stage) -> None:
    """A client MUST NOT return an entry whose ledger id was changed after it was sealed."""
    _expect_noticed(stage, "ledger_id")


@case(
    "BKW-CDIGEST-003",
    MUST,
    "sec-digests",
    sends="An entry with one bit of its entry id flipped, from the replica asked first; CRC32, HMAC, CRC32C.",
    accepts="The entry of another replica.",
    provenance="correctness: DigestBoundToPosition",
)
def a_wrong_entry_id_is_noticed(stage: Stage) -> None:
    """A client MUST NOT return an entry whose entry id was changed after it was sealed."""
    _expect_noticed(stage, "entry_id")


@case(
    "BKW-CDIGEST-004",
    MUST,
    "sec-digests",
    sends="An entry with one bit of its last add confirmed flipped, from the replica asked first.",
    accepts="The entry of another replica.",
    provenance="correctness: DigestBoundToPosition",
)
def a_wrong_last_add_confirmed_is_noticed(stage: Stage) -> None:
    """A client MUST NOT take an entry whose last add confirmed was changed after it was sealed."""
    _expect_noticed(stage, "last_add_confirmed")


@case(
    "BKW-CDIGEST-005",
    MUST,
    "sec-digests",
    sends="An entry with one bit of its length field flipped, from the replica asked first.",
    accepts="The entry of another replica.",
    provenance="correctness: DigestBoundToPosition",
)
def a_wrong_length_is_noticed(stage: Stage) -> None:
    """A client MUST NOT take an entry whose length of the ledger was changed after it was sealed."""
    _expect_noticed(stage, "length")


@case(
    "BKW-CDIGEST-006",
    MUST,
    "sec-digests",
    sends="An entry with one bit of its payload flipped, from the replica asked first.",
    accepts="The entry of another replica.",
    provenance="BK#4140; seen with Java's client 4.18.0",
)
def a_wrong_payload_is_noticed(stage: Stage) -> None:
    """A client MUST NOT return a payload that was changed after it was sealed."""
    _expect_noticed(stage, "payload")


@case(
    "BKW-CDIGEST-007",
    MUST,
    "sec-digests",
    sends="Entries of which one bit of the digest is flipped, every third bit in turn, some of each byte, from every "
    "replica.",
    accepts="A digest mismatch each time: all bytes count, of CRC32 also the upper four.",
    provenance="seen with Java's client 4.18.0",
    limit_s=60.0,
)
def every_bit_of_a_digest_counts(stage: Stage) -> None:
    """A client MUST compare the whole digest: 8 bytes of CRC32, 20 of HMAC, 4 of CRC32C."""
    for digest in CHECKED:
        ledger = _sealed_ledger(stage, digest)
        reader = ledger.open(password=SECRET)
        entry, span = ledger.entries[1], faults.spans(ledger.entries[1], digest_named(digest))["digest"]
        for bit in range(8 * span.start, 8 * span.stop, 3):
            damaged = faults.with_bit_flipped(entry, bit)
            for bookie in ledger.bookies:
                bookie.honest_again()
                bookie.on(names.READ, ledger_id=ledger.id).answer(body=damaged)
            outcome = reader.begin_read(1).outcome()
            stage.check(f"the read with bit {bit} of a {digest} entry flipped", outcome, DIGEST_MISMATCH[0])


@case(
    "BKW-CDIGEST-008",
    MUST,
    "sec-digests",
    sends="A damaged copy at one replica, ENOENTRY from the others; the damaged one first, second and last.",
    accepts='A digest mismatch, not "no such entry".',
    provenance="BK#2908, PL#22906",
)
def a_damaged_copy_weighs_more_than_absence(stage: Stage) -> None:
    """A client MUST report a digest mismatch, not absence, when the only copy that there is is damaged."""
    ledger = _sealed_ledger(stage, "CRC32C")
    reader = ledger.open(password=SECRET)
    for place in range(3):
        damaged = faults.with_bit_flipped(ledger.entries[place], -1)
        acts = [reply_with(status=ENOENTRY)] * 3
        acts[place] = reply_with(body=damaged)
        in_turn(stage, ledger, names.READ, *acts, entry_id=place)
        reader.fails_to_read(place, *DIGEST_MISMATCH)


@case(
    "BKW-CDIGEST-009",
    MUST,
    "sec-digests",
    sends="Entry 1 where entry 2 was asked for, and entry 2 of another ledger: their own digests are right.",
    accepts="The entry that was asked for, from another replica; with DUMMY, too.",
    provenance="correctness: DigestBoundToPosition",
)
def an_entry_of_another_place_is_not_returned(stage: Stage) -> None:
    """A client MUST compare the ids inside an entry with those that it asked for, whatever the digest says."""
    for digest in DIGEST_NAMES:
        ledger = _sealed_ledger(stage, digest)
        other = readable_ledger(stage, [b"elsewhere"] * 4, digest=digest, password=SECRET)
        reader = ledger.open(password=SECRET)
        for what, wrong in (("entry", ledger.entries[1]), ("ledger", other.entries[2])):
            in_turn(stage, ledger, names.READ, reply_with(body=wrong))
            stage.check(f"the payload behind another {what} with {digest}", reader.read_entry(2), b"two")


@case(
    "BKW-CDIGEST-010",
    MUST,
    "sec-digests",
    sends="A ledger of HMAC whose entries were sealed with another password than its own.",
    accepts="A digest mismatch.",
    provenance="RFC 2104; seen with Java's client 4.18.0",
)
def an_hmac_with_another_password_is_not_right(stage: Stage) -> None:
    """A client MUST key HMAC with the ledger's password: who does not know it cannot seal entries."""
    ledger = _sealed_ledger(stage, "MAC")
    for entry_id, forged in enumerate(Seal("MAC", b"guessed").run(ledger.id, PAYLOADS)):
        ledger.staged.store(entry_id, forged)
    ledger.open(password=SECRET).fails_to_read(2, *DIGEST_MISMATCH)


@case(
    "BKW-CDIGEST-011",
    MUST,
    "sec-digests",
    sends="Entries cut short: no byte, in the ids, in the metadata, in the digest, and of one byte less payload.",
    accepts="The entry of another replica each time.",
    provenance="seen with Java's client 4.18.0",
)
def an_entry_that_is_cut_short_is_not_returned(stage: Stage) -> None:
    """A client MUST refuse what is shorter than metadata and digest, and what lacks a byte of its payload."""
    for digest in ("CRC32C", "MAC"):
        ledger = _sealed_ledger(stage, digest)
        reader = ledger.open(password=SECRET)
        for short in faults.truncated_copies(ledger.entries[3], digest_named(digest)):
            in_turn(stage, ledger, names.READ, reply_with(body=short))
            found = reader.read_entry(3)
            stage.check(f"the payload behind {len(short)} bytes of an entry with {digest}", found, b"three")


@case(
    "BKW-CDIGEST-012",
    MUST,
    "sec-entry-v1",
    sends="An entry of 4 bytes of payload whose length field says 1000000: it is that of the ledger so far.",
    accepts="Those 4 bytes.",
    provenance="seen with Java's client 4.18.0",
)
def the_length_field_is_that_of_the_ledger(stage: Stage) -> None:
    """A client MUST take the size of a payload from that of the entry, never from its length field."""
    ledger = _sealed_ledger(stage, "CRC32C")
    ledger.staged.store(1, ledger.staged.seal.entry(ledger.id, 1, 0, 1_000_000, b"four"))
    stage.check("the payload", ledger.open(password=SECRET).read_entry(1), b"four")


@case(
    "BKW-CDIGEST-013",
    MUST,
    "sec-digests",
    sends="A ledger of CRC32C in its metadata, with a damaged entry everywhere; it is opened as DUMMY.",
    accepts="An error at opening or at the read; the damaged entry is not returned.",
    provenance="seen with Java's client 4.18.0",
)
def the_metadata_decide_which_digest_is_checked(stage: Stage) -> None:
    """A client MUST check the digest that the ledger's metadata name, or refuse to open it as another type."""
    ledger = _sealed_ledger(stage, "CRC32C")
    ledger.staged.store(1, faults.with_bit_flipped(ledger.entries[1], -1))
    try:
        handle = stage.client.open(ledger.id, recovery=False, digest="DUMMY", password=SECRET)
    except ClientError as error:
        stage.check_that(error.code != 0, "the error at opening", "any", error.code)
        return
    stage.expect_error(lambda: handle.read(1, 1), *DIGEST_MISMATCH)


@case(
    "BKW-CDIGEST-014",
    MUST,
    "sec-framing",
    sends="Replies with an entry of each digest type in two segments, cut at every byte.",
    accepts="The entry each time.",
    provenance="BK#4140, BK#4196, PL#22103",
    limit_s=60.0,
)
def digests_are_right_at_every_split_of_the_stream(stage: Stage) -> None:
    """A client MUST compute the same digest however the stream brings the bytes of an entry."""
    for digest in CHECKED:
        ledger = readable_ledger(stage, PAYLOADS, ensemble=1, digest=digest, password=SECRET)
        reader = ledger.open(password=SECRET)
        reader.read_entry(0)
        sizes, at = list[int](), 1
        while not sizes or at < sizes[0]:
            ledger.bookies[0].on(names.READ, ledger_id=ledger.id, times=1).do(cut_at(at, sizes))
            stage.check(f"the payload of a reply cut at {at} with {digest}", reader.read_entry(2), b"two")
            at += 1


@case(
    "BKW-CDIGEST-015",
    MUST,
    "sec-framing",
    sends="An entry of 300 000 bytes in pieces of 1009 bytes.",
    accepts="The entry, whole; and when one bit in the middle is wrong, a digest mismatch.",
    provenance="BK#4140, PL#22103",
)
def digests_are_right_over_many_segments(stage: Stage) -> None:
    """A client MUST compute the digest over all segments that an entry comes in."""
    payload = bytes(range(250)) * 1200
    ledger = readable_ledger(stage, (payload,), ensemble=1, digest="CRC32C", password=SECRET)
    reader = ledger.open(password=SECRET)

    def act(ask: Exchange) -> None:
        frame = ask.honest()
        for piece in faults.pieces(fields.frame_length.build(len(frame)) + frame, 1009):
            ask.send_bytes(piece)

    ledger.bookies[0].on(names.READ, ledger_id=ledger.id).do(act)
    stage.check("the payload", reader.read_entry(0), payload)
    ledger.staged.store(0, faults.with_bit_flipped(ledger.entries[0], 8 * 150_000))
    reader.fails_to_read(0, *DIGEST_MISMATCH)
