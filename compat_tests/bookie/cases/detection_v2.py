"""Which fields in the header of a V2 request count."""

from compat_tests.bookie.stored_entries import make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, case
from compat_tests.wire import v2_requests
from compat_tests.wire.entries import KEY
from protocol_specs.wire import framing
from protocol_specs.wire.operations import Flag, Operation
from protocol_specs.wire.status import EBADVERSION, ENOENTRY, EOK, EUA

MEANINGLESS_FLAGS = 0xFFF8


@case(
    "BKW-DETECT-018",
    MUST,
    "sec-v2-header",
    sends="Adds and reads of versions 0, 1 and 2.",
    accepts="EOK; the reply's header is the version and operation of the request, without flags.",
    dialects=(V2,),
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def versions_0_to_2_are_served_and_echoed(talk: Talk) -> None:
    """A bookie MUST serve V2 requests of versions 0, 1 and 2, and answer each under its own version."""
    ledger = talk.new_ledger()
    for version in (0, 1, 2):
        body = make_entry(ledger, version)
        reply = talk.expect(v2_requests.add(ledger, version, version=version, body=body), EOK)
        talk.check("header of the reply", reply.raw[:4], _header(version, Operation.ADD_ENTRY))
        reply = talk.expect(v2_requests.read(ledger, version, version=version), EOK, body=body)
        talk.check("header of the reply", reply.raw[:4], _header(version, Operation.READ_ENTRY))


@case(
    "BKW-DETECT-019",
    MUST,
    "sec-v2-header",
    sends="Reads with header words 00000102 and 00ffff02: version 0, and something in the two bytes between.",
    accepts="The entry, under header 00000002; the ledger is not fenced.",
    dialects=(V2,),
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def in_version_0_only_the_low_byte_counts(talk: Talk) -> None:
    """A bookie MUST take the low byte of a header word of version 0 for the operation, and ignore the rest."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0)
    talk.expect(v2_requests.add(ledger, 0, body=body), EOK)
    read = v2_requests.read(ledger, 0, version=0, key=KEY)
    for word in ("00000102", "00ffff02", "00010002"):
        reply = talk.expect(bytes.fromhex(word) + read[4:], EOK, body=body)
        talk.check("header of the reply", reply.raw[:4], bytes.fromhex("00000002"))
    talk.expect(v2_requests.add(ledger, 1), EOK)


@case(
    "BKW-DETECT-020",
    MUST,
    "sec-v2-header",
    sends="Adds, reads and fencing reads of versions 3, 127, 128 and 255 to a ledger with one entry.",
    accepts="EBADVERSION under the request's version, with its ids and no entry; nothing is stored, nothing fenced.",
    dialects=(V2,),
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def unknown_versions_are_refused_under_themselves(talk: Talk) -> None:
    """A bookie MUST answer V2 versions above 2 and below 0 with EBADVERSION under that version, and do nothing else."""
    ledger = talk.new_ledger()
    talk.expect(v2_requests.add(ledger, 0), EOK)
    for version in (3, 127, 128, 255):
        reply = talk.expect(v2_requests.add(ledger, 1, version=version), EBADVERSION, entry_id=1)
        talk.check("header of the reply", reply.raw[:4], _header(version, Operation.ADD_ENTRY))
        for flags, key in ((0, b""), (Flag.FENCING, KEY)):
            frame = v2_requests.read(ledger, 0, version=version, flags=flags, key=key)
            reply = talk.expect(frame, EBADVERSION, entry_id=0, body=b"")
            talk.check("header of the reply", reply.raw[:4], _header(version, Operation.READ_ENTRY))
    talk.expect(v2_requests.read(ledger, 1), ENOENTRY)
    talk.expect(v2_requests.add(ledger, 1), EOK)


@case(
    "BKW-DETECT-021",
    MUST,
    "sec-v2-header",
    sends="Adds and reads with flags 8, fff8 and each bit of it that means nothing.",
    accepts="EOK, and no flags in the reply; the ledger is not fenced.",
    dialects=(V2,),
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def meaningless_flags_are_ignored(talk: Talk) -> None:
    """A bookie MUST ignore the flag bits of V2 that mean nothing, and MUST NOT set any in a reply."""
    ledger = talk.new_ledger()
    for entry_id, flags in enumerate([MEANINGLESS_FLAGS, *(1 << bit for bit in range(3, 16))]):
        body = make_entry(ledger, entry_id)
        talk.expect(v2_requests.add(ledger, entry_id, flags=flags, body=body), EOK, flags=0)
        talk.expect(v2_requests.read(ledger, entry_id, flags=flags), EOK, body=body, flags=0)


@case(
    "BKW-DETECT-022",
    MUST,
    "sec-v2-packets",
    sends="Fencing reads of version 1 with the right master key behind their fields; then an add.",
    accepts="EUA, as if there were no key; the add is EOK, so nothing was fenced.",
    dialects=(V2,),
    provenance="D10; seen of Java 4.9.2 to 4.18.0",
)
def a_key_is_looked_for_from_version_2_on(talk: Talk) -> None:
    """A bookie MUST NOT look for a key in fencing requests of version 1, and MUST refuse these with EUA."""
    ledger = talk.new_ledger()
    talk.expect(v2_requests.add(ledger, 0), EOK)
    for key in (KEY, b""):
        frame = v2_requests.read(ledger, 0, version=1, flags=Flag.FENCING, key=key)
        talk.expect(frame, EUA, version=1, body=b"")
    talk.expect(v2_requests.add(ledger, 1), EOK)


def _header(version: int, operation: int) -> bytes:
    return framing.join_header(version, operation).to_bytes(4, "big")
