"""Entries as writers seal them: a bookie keeps each byte, whatever the digest says, and every read gives it back."""

from typing import Final

from compat_tests.bookie.stored_entries import expect_stored
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import entry, master_key
from protocol_specs.entry.digest import DIGESTS
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire.status import EOK

DIGEST_NAMES: Final = tuple(digest.name.lower() for digest in DIGESTS)

PASSWORD = b"testPasswd"

_SIZE = 1_000_000


def expect_on_every_way(talk: Talk, ledger: int, entry_id: int, body: bytes) -> None:
    """Read the last entry of a ledger in every way there is, and require the very bytes."""
    for priority in (False, True):
        talk.expect(talk.requests.read(ledger, entry_id, high_priority=priority), EOK, body=body)
        talk.expect(talk.requests.read(ledger, LAST_ENTRY, high_priority=priority), EOK, body=body)
    if f"batch-read-{talk.dialect.lower()}" in talk.features:
        talk.expect(talk.requests.batch_read(ledger, entry_id, 1, _SIZE), EOK, entries=(body,))
    if talk.dialect is V3:
        if "explicit-lac" in talk.features:
            talk.expect(v3_requests.read_lac(ledger, txn_id=talk.requests.number()), EOK, last_entry_body=body)
        if "long-poll" in talk.features:
            poll = v3_requests.poll(ledger, NO_ENTRY, 0, entry_id=entry_id, flag=None, txn_id=talk.requests.number())
            talk.expect(poll, EOK, body=body)


@case(
    "BKW-ENTRY-001",
    MUST,
    "sec-digests",
    sends="For each digest type (CRC32, HMAC, CRC32C, DUMMY) a ledger with its own master key, and three sealed "
    "entries; "
    "reads of each kind.",
    accepts="EOK, and each entry byte for byte by its id, as the last one, in a batch, in a long poll and by READ_LAC.",
    provenance="the source of Java 4.9 to 4.18",
)
def entries_of_every_digest_type_are_kept(talk: Talk) -> None:
    """A bookie MUST keep and return entries of every digest type byte for byte: the digest is for readers."""
    for name in DIGEST_NAMES:
        ledger = talk.new_ledger()
        for entry_id in range(3):
            payload = b"%s %d" % (name.encode(), entry_id)
            body = entry(ledger, entry_id, entry_id - 1, payload, digest=name, password=PASSWORD, length=99)
            talk.expect(talk.requests.add(ledger, entry_id, key=master_key(PASSWORD), body=body), EOK)
            expect_on_every_way(talk, ledger, entry_id, body)


@case(
    "BKW-ENTRY-002",
    MUST,
    "sec-digests",
    sends="Entries whose digest is wrong in one bit, for each digest type.",
    accepts="EOK, and the very bytes come back.",
    provenance="the source of Java 4.9 to 4.18; BK#2174",
)
def a_wrong_digest_is_kept_as_it_is(talk: Talk) -> None:
    """A bookie MUST store an entry whose digest does not fit, as any other: it does not know the digest's type."""
    ledger = talk.new_ledger()
    bodies = []
    for entry_id, name in enumerate(DIGEST_NAMES):
        body = bytearray(entry(ledger, entry_id, entry_id - 1, digest=name, password=PASSWORD))
        body[32 + entry_id] ^= 0x40
        bodies.append(bytes(body))
        talk.expect(talk.requests.add(ledger, entry_id, body=bodies[-1]), EOK)
        expect_on_every_way(talk, ledger, entry_id, bodies[-1])
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-ENTRY-003",
    MUST,
    "sec-digests",
    sends="Entries with an empty payload, sealed with each digest type; those of DUMMY have 32 bytes.",
    accepts="EOK, and the very bytes come back on every way.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def an_empty_payload_is_an_entry(talk: Talk) -> None:
    """A bookie MUST store an entry that has no payload, and return it as it was."""
    for name in DIGEST_NAMES:
        ledger = talk.new_ledger()
        body = entry(ledger, 0, NO_ENTRY, b"", digest=name, password=PASSWORD)
        talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
        expect_on_every_way(talk, ledger, 0, body)


@case(
    "BKW-ENTRY-004",
    MUST,
    "sec-entry-v1",
    sends="Entries of the ids 2^15 to 2^33, around each power of two at which a number would be cut.",
    accepts="EOK, and each is read back under its own id; the last entry is that of the highest id.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def entry_ids_are_not_cut(talk: Talk) -> None:
    """A bookie MUST take entry ids for numbers of 64 bits: none may be cut to 32 on the way."""
    ledger = talk.new_ledger()
    ids = [power + step for power in (2**15, 2**16, 2**31, 2**32, 2**33) for step in (-1, 0)]
    bodies = {entry_id: entry(ledger, entry_id, entry_id - 1, b"%d" % entry_id) for entry_id in (0, *ids)}
    for entry_id, body in bodies.items():
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
    expect_stored(talk, ledger, bodies)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[2**33])


@case(
    "BKW-ENTRY-005",
    MUST,
    "sec-entry-v1",
    sends="The same entry id in ledgers whose ids differ in one bit each, of the lower and of the upper 32 bits.",
    accepts="EOK, and each ledger has its own entry.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def ledger_ids_are_not_cut(talk: Talk) -> None:
    """A bookie MUST take ledger ids for numbers of 63 bits: each bit tells ledgers apart."""
    ledger = talk.new_ledger()
    ledgers = [ledger, *(ledger ^ (1 << bit) for bit in (13, 20, 31, 32, 40, 55, 61))]
    bodies = {each: entry(each, 0, NO_ENTRY, b"of %d" % each) for each in ledgers}
    for each, body in bodies.items():
        talk.expect(talk.requests.add(each, 0, body=body), EOK)
    for each, body in bodies.items():
        talk.expect(talk.requests.read(each, 0), EOK, body=body)


@case(
    "BKW-ENTRY-006",
    MUST,
    "sec-entry-v1",
    sends="Payloads of every byte value, of 256 random bytes, of zeros, and payloads that look like frames of V2 and "
    "V3, "
    "like records and like the magic words of files.",
    accepts="EOK, and the very bytes come back on every way.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def payloads_are_not_looked_into(talk: Talk) -> None:
    """A bookie MUST keep any payload as it is, whatever it looks like."""
    ledger = talk.new_ledger()
    like_v2 = len(talk.requests.read(ledger, 0)).to_bytes(4, "big") + talk.requests.read(ledger, 0)
    payloads = [
        bytes(range(256)),
        talk.random.randbytes(256),
        bytes(1000),
        b"\xff" * 1000,
        like_v2 * 3,
        v3_requests.read(ledger, 0) * 3,
        b"BKLE" + bytes(60) + b"BKLG" + bytes(60),
        (-0x1000).to_bytes(8, "big", signed=True) * 8,
    ]
    for entry_id, payload in enumerate(payloads):
        body = entry(ledger, entry_id, entry_id - 1, payload, digest="crc32c")
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
        expect_on_every_way(talk, ledger, entry_id, body)
