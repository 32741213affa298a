"""Adds that arrive in pieces, cut at every byte of an entry's metadata and digest."""

from compat_tests.bookie.cases.entry_bytes import PASSWORD
from compat_tests.bookie.stored_entries import expect_stored
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, case
from compat_tests.wire.entries import entry
from compat_tests.wire.line import with_length
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
            _send_in_two(talk, frame, with_length(frame).index(body) + cut)
            talk.expect_answer(frame, EOK)
        expect_stored(talk, ledger, bodies)


def _send_in_two(talk: Talk, frame: bytes, cut: int) -> None:
    data = with_length(frame)
    talk.main.send_bytes(data[:cut])
    talk.wait(PAUSE_S)
    talk.main.send_bytes(data[cut:])
