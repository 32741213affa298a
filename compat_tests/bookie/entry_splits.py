"""Adds that arrive in pieces: cut at every byte of header and digest, and batches of entries over many buffers."""

from collections.abc import Iterator

from compat_tests.bookie.entry_bytes import DIGEST_NAMES, PASSWORD, expect_on_every_way
from compat_tests.bookie.stored import expect_stored
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, case
from compat_tests.wire.entries import entry
from compat_tests.wire.line import framed
from protocol_specs.entry.digest import CRC32C, MAC
from protocol_specs.wire.status import EOK

#: Time for the bookie to take the first piece by itself; the second may not come with it.
PAUSE_S = 0.002

METADATA_SIZE = 32
PAYLOAD = b"payload in one piece"


@case(
    "BKW-ENTRY-007",
    MUST,
    "sec-digests",
    sends="For CRC32C and HMAC, adds in two segments, cut before each byte of the entry's metadata and digest and "
    "before the first ones of the payload.",
    accepts="EOK each, and each entry comes back byte for byte.",
    provenance="BK#4140, BK#4196, PL#22103, PL#21421",
)
def entries_cut_at_any_byte_of_the_digest_are_kept(talk: Talk) -> None:
    """A bookie MUST keep every byte of an entry whose add arrives in pieces, wherever it is cut."""
    for digest in (CRC32C, MAC):
        ledger = talk.new_ledger()
        bodies = {}
        for entry_id, cut in enumerate(range(METADATA_SIZE + digest.size + 2)):
            body = entry(ledger, entry_id, entry_id - 1, PAYLOAD, digest=digest.name.lower(), password=PASSWORD)
            bodies[entry_id] = body
            frame = talk.requests.add(ledger, entry_id, body=body)
            _send_in_two(talk, frame, framed(frame).index(body) + cut)
            talk.expect_answer(frame, EOK)
        expect_stored(talk, ledger, bodies)


@case(
    "BKW-ENTRY-008",
    MUST,
    "sec-connection-broken",
    sends="Adds in two segments, cut before each byte from the length of the frame to the first of the entry.",
    accepts="EOK each, and each entry comes back byte for byte on every way.",
    provenance="BK#4140",
)
def entries_cut_at_any_byte_of_the_header_are_kept(talk: Talk) -> None:
    """A bookie MUST take an add whose frame is cut at any byte of its length, header, key and fields."""
    ledger = talk.new_ledger()
    for entry_id, cut in enumerate(_cuts_of_the_head(talk, ledger)):
        body = entry(ledger, entry_id, entry_id - 1, PAYLOAD, digest="crc32c")
        frame = talk.requests.add(ledger, entry_id, body=body)
        _send_in_two(talk, frame, cut)
        talk.expect_answer(frame, EOK)
        talk.expect(talk.requests.read(ledger, entry_id), EOK, body=body)
    expect_on_every_way(talk, ledger, entry_id, body)


@case(
    "BKW-ENTRY-009",
    MUST,
    "sec-digests",
    sends="One add a digest type, of which every byte is a segment of its own.",
    accepts="EOK each, and each entry comes back byte for byte on every way.",
    provenance="BK#4140, BK#4196",
)
def entries_that_arrive_byte_by_byte_are_kept(talk: Talk) -> None:
    """A bookie MUST put an entry together from any number of pieces."""
    for name in DIGEST_NAMES:
        ledger = talk.new_ledger()
        body = entry(ledger, 0, -1, PAYLOAD, digest=name, password=PASSWORD)
        frame = talk.requests.add(ledger, 0, body=body)
        talk.main.send_slowly(framed(frame), 1, PAUSE_S / 4)
        talk.expect_answer(frame, EOK)
        expect_on_every_way(talk, ledger, 0, body)


def _cuts_of_the_head(talk: Talk, ledger: int) -> Iterator[int]:
    """Every place from behind the first byte to the first byte of the entry."""
    body = entry(ledger, 0, -1, PAYLOAD, digest="crc32c")
    yield from range(1, framed(talk.requests.add(ledger, 0, body=body)).index(body) + 1)


def _send_in_two(talk: Talk, frame: bytes, cut: int) -> None:
    data = framed(frame)
    talk.main.send_bytes(data[:cut])
    talk.wait(PAUSE_S)
    talk.main.send_bytes(data[cut:])
