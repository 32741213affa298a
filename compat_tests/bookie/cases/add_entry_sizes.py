"""Adds of entries of every size: the smallest, those at borders, the largest, and bodies that are too short."""

from compat_tests.bookie.stored_entries import expect_absent, expect_stored, fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.wire.entries import entry
from protocol_specs.fields import ENTRY_SIZE_MIN, FRAME_LENGTH_SIZE, FRAME_SIZE_MAX, LAST_ENTRY
from protocol_specs.wire.status import EBADREQ, EOK

#: Below this an entry has not even its ids.
IDS_SIZE = 16

#: Sizes of payloads at which encoders and buffers change their ways: of varints, of 16 KiB buffers, of pages.
BORDERS = (0, 1, 91, 92, 93, 127, 128, 4060, 4096, 16_347, 16_348, 16_349, 16_384, 65_535, 65_536, 100_000)


@case(
    "BKW-ADD-014",
    MUST,
    "sec-add-entry-states",
    sends="Entries of 24, 25, 31 and 32 bytes: too short for a digest, or even for the length field.",
    accepts="EOK, and exactly these bytes come back.",
    provenance="the source of Java 4.9 to 4.18",
)
def entries_of_24_bytes_and_more_are_stored(talk: Talk) -> None:
    """A bookie MUST store entries of 24 bytes and more as they are: it looks at nothing behind the third field."""
    ledger = talk.new_ledger()
    bodies = {size: entry(ledger, size)[:size] for size in (ENTRY_SIZE_MIN, 25, 31, 32)}
    for entry_id, body in bodies.items():
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-ADD-015",
    MUST,
    "sec-add-entry-states",
    sends="Entries of 16 to 23 bytes.",
    accepts="EBADREQ, echoing the ids; the connection goes on, and nothing is stored.",
    provenance="the source of Java 4.9 to 4.18",
)
def entries_that_are_too_short_are_refused(talk: Talk) -> None:
    """A bookie MUST refuse an entry of 16 to 23 bytes with EBADREQ, and MUST leave the connection as it is."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    for size in range(IDS_SIZE, ENTRY_SIZE_MIN):
        talk.expect(talk.requests.add(ledger, size, body=entry(ledger, size)[:size]), EBADREQ)
    expect_absent(talk, ledger, *range(IDS_SIZE, ENTRY_SIZE_MIN))


@case(
    "BKW-ADD-016",
    MUST,
    "sec-add-entry-states",
    sends="Adds that end within the key, right behind it, and 1, 8 and 15 bytes into the entry, each on a connection "
    "of its own.",
    accepts="The connection is closed without a reply, and the ledger is as before.",
    dialects=(V2,),
    provenance="the source of Java 4.9 to 4.18",
)
def adds_without_ids_close_the_connection(talk: Talk) -> None:
    """A bookie MUST close a V2 connection on an add that is too short to name an entry: no reply could name it."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 1)
    add = talk.requests.add(ledger, 1)
    key_end = len(add) - len(entry(ledger, 1))
    for size in (5, key_end - 1, key_end, key_end + 1, key_end + 8, key_end + 15):
        talk.expect_closed(talk.line(f"{size} bytes"), add[:size])
    expect_absent(talk, ledger, 1)
    talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, body=bodies[0])


@case(
    "BKW-ADD-017",
    MUST,
    "sec-add-entry-states",
    sends="Adds whose body is empty, or has 1, 8 or 15 bytes.",
    accepts="EBADREQ, echoing the ids of the request; the connection goes on, and nothing is stored.",
    dialects=(V3,),
    provenance="the source of Java 4.9 to 4.18",
)
def bodies_without_ids_are_refused(talk: Talk) -> None:
    """A bookie MUST answer a V3 add whose body is too short to name an entry with EBADREQ."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 1)
    for size in (0, 1, 8, 15):
        talk.expect(talk.requests.add(ledger, 1, body=entry(ledger, 1)[:size]), EBADREQ)
    expect_absent(talk, ledger, 1)


@case(
    "BKW-ADD-018",
    MUST,
    "sec-add-entry-order",
    sends="Entries with payloads of 0 bytes to 100 kB, around the sizes where encoders and buffers change their ways.",
    accepts="EOK each; each comes back byte for byte.",
    provenance="BK#4196",
)
def payloads_of_odd_sizes_come_back_as_they_were(talk: Talk) -> None:
    """A bookie MUST return an entry byte for byte as it was added, whatever its size."""
    ledger = talk.new_ledger()
    bodies = [make_entry(ledger, entry_id, size) for entry_id, size in enumerate(BORDERS)]
    for entry_id, body in enumerate(bodies):
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-ADD-019",
    MUST,
    "sec-frame-limit",
    sends="An entry so large that its add just fills the largest frame, of 5 242 876 bytes, and a small one behind it.",
    accepts="EOK for both, and both come back byte for byte.",
    provenance="the source of Java 4.9 to 4.18",
)
def an_entry_may_fill_the_largest_frame(talk: Talk) -> None:
    """A bookie MUST store, and return, an entry whose add is as large as the limit of frames allows."""
    ledger = talk.new_ledger()
    frame_size = FRAME_SIZE_MAX - FRAME_LENGTH_SIZE
    size = frame_size - len(talk.requests.add(ledger, 0, body=b""))
    while len(talk.requests.add(ledger, 0, body=bytes(size))) > frame_size:
        size -= 1  # of V3: the lengths of the fields take bytes too
    body = entry(ledger, 0)
    body += talk.random.randbytes(size - len(body))
    talk.check("the size of the frame", len(talk.requests.add(ledger, 0, body=body)), frame_size)
    talk.expect(talk.requests.add(ledger, 0, body=body), EOK)
    fill(talk, ledger, 1, first=1)
    expect_stored(talk, ledger, {0: body})
