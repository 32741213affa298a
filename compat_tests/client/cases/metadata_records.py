"""What a client writes into the metadata of a ledger, and what it can read there."""

import attrs
from google.protobuf import text_format

from compat_tests.client.records import CLOSED, OPEN, LedgerRecord, message_in, record_of
from compat_tests.client.sealing import DIGEST_NAMES
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, case
from protocol_specs import fields
from protocol_specs.metadata import ledger as spec

NO_SUCH_LEDGER = (-7, -25)
_UNKNOWN_FIELD = 99


@case(
    "BKW-CMETA-001",
    MUST,
    "sec-ledger-message",
    sends="Ledgers are created with each digest type, E = 3, W = 2, A = 1.",
    accepts="Records of form 3, or 2: quorums, OPEN, last entry -1, length 0, a fragment of three different bookies.",
    provenance="capture of Java 4.14.7 to 4.18.0",
)
def a_new_ledger_is_written_down_whole(stage: Stage) -> None:
    """A client MUST write every field that readers need when it creates a ledger."""
    bookies = stage.bookies(3)
    for digest in DIGEST_NAMES:
        writer = stage.new_writer(bookies, write=2, ack=1, digest=digest, password=b"secret")
        record = stage.metadata(writer.ledger_id)
        found = (record.ensemble, record.write, record.ack, record.state, record.last_entry, record.length)
        stage.check("E, W, A, state, last entry and length", found, (3, 2, 1, OPEN, fields.NO_ENTRY, 0))
        stage.check("digest and password", (record.digest, record.password), (digest, b"secret"))
        stage.check("where fragments start", list(record.fragments), [0])
        stage.check("different bookies", len(set(record.fragments[0])), 3)
        stage.check_one_of("the form", record.format_version, (spec.BINARY_PROTOBUF, spec.TEXT_PROTOBUF))
    if record.format_version == spec.TEXT_PROTOBUF:
        stage.tolerate("written in form 2, as by Java up to 4.9")


@case(
    "BKW-CMETA-002",
    MUST,
    "sec-ledger-message",
    sends="A ledger with custom metadata is created, written and closed.",
    accepts="CLOSED with last entry and length; custom metadata, digest, password, quorums and fragments as before.",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def closing_changes_state_end_and_length_only(stage: Stage) -> None:
    """A client MUST write last entry and length with CLOSED, and keep everything else of the record."""
    bookies = stage.bookies(2)
    custom = {"owner": b"me", "bytes": bytes(range(256)), "": b""}
    writer = stage.new_writer(bookies, password=b"secret", custom=custom)
    created = stage.metadata(writer.ledger_id)
    stage.check("the custom metadata", dict(created.custom), custom)
    writer.append(b"12345")
    writer.append(b"678")
    writer.close()
    closed = attrs.evolve(created, state=CLOSED, last_entry=1, length=8, token=None)
    found = attrs.evolve(stage.metadata(writer.ledger_id), token=None)
    stage.check("the record", found, closed)


@case(
    "BKW-CMETA-003",
    MUST,
    "sec-ledger-states",
    sends="A ledger is created and closed without an append.",
    accepts="CLOSED with last entry -1 and length 0; opened, it has the last add confirmed -1.",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def an_empty_ledger_is_closed_at_minus_one(stage: Stage) -> None:
    """A client MUST close a ledger without entries at last entry -1 and length 0."""
    bookies = stage.bookies(1)
    writer = stage.new_writer(bookies)
    writer.close()
    record = stage.metadata(writer.ledger_id)
    stage.check("state, end, length", (record.state, record.last_entry, record.length), (CLOSED, fields.NO_ENTRY, 0))
    stage.check("the last add confirmed", stage.client.open(writer.ledger_id).opened_at, fields.NO_ENTRY)


def _expect_readable(
    stage: Stage, raw: bytes, record: LedgerRecord, ledger_id: int, payloads: tuple[bytes, ...]
) -> None:
    stage.root.write(ledger_id, raw)
    reader = stage.client.open(ledger_id, digest=record.digest or "CRC32", password=record.password)
    stage.check("the entries", reader.read(0, len(payloads) - 1).payloads, payloads)


@case(
    "BKW-CMETA-004",
    MUST,
    "sec-ledger-forms",
    sends="Closed ledgers whose records are of forms 1, 2 and 3.",
    accepts="Each is opened and read.",
    provenance="BK#723",
)
def every_form_is_read(stage: Stage) -> None:
    """A client MUST read ledger metadata in each of its three forms."""
    bookies = stage.bookies(2)
    for form in spec.FORMAT_VERSIONS:
        digest = "CRC32" if form == spec.TEXT_LINES else "MAC"
        password = b"" if form == spec.TEXT_LINES else b'pa"ss\\\x00\xff'
        ledger = stage.ledger(bookies, entries=3, state=CLOSED, digest=digest, password=password, format_version=form)
        reader = stage.client.open(ledger.ledger_id, digest=digest, password=password)
        stage.check(f"the entries by form {form}", reader.read(0, 2).payloads, ledger.payloads)


@case(
    "BKW-CMETA-005",
    MUST,
    "sec-ledger-forms",
    sends="A closed ledger whose record of form 3 has a field that nobody knows, and bytes behind the message.",
    accepts="It is opened and read.",
    provenance="BK#723",
)
def unknown_fields_are_passed_over(stage: Stage) -> None:
    """A client MUST read a record of form 3 that has fields of a later version."""
    bookies = stage.bookies(1)
    ledger = stage.ledger(bookies, entries=2, state=CLOSED)
    record = stage.metadata(ledger.ledger_id)
    later = record.message().SerializeToString() + bytes([_UNKNOWN_FIELD << 3 & 0x7F | 0x80 | 2, 6, 3]) + b"new"
    raw = record_of(spec.BINARY_PROTOBUF, spec.BINARY_BODY.build(later) + b"behind")
    _expect_readable(stage, raw, record, ledger.ledger_id, ledger.payloads)


@case(
    "BKW-CMETA-006",
    MUST,
    "sec-ledger-message",
    sends="A closed ledger whose record has neither ack quorum nor last entry of its own beyond what is required.",
    accepts="It is opened and read: the ack quorum is the write quorum.",
    provenance="docs: ledger metadata",
)
def a_missing_ack_quorum_is_the_write_quorum(stage: Stage) -> None:
    """A client MUST take the write quorum for the ack quorum where a record has none."""
    bookies = stage.bookies(2)
    ledger = stage.ledger(bookies, entries=2, state=CLOSED)
    record = stage.metadata(ledger.ledger_id)
    message = record.message()
    message.ClearField("ackQuorumSize")
    raw = record_of(spec.BINARY_PROTOBUF, spec.BINARY_BODY.build(message.SerializeToString()))
    _expect_readable(stage, raw, record, ledger.ledger_id, ledger.payloads)
    stage.check("the ack quorum", stage.client.metadata(ledger.ledger_id)["ack"], "2")


@case(
    "BKW-CMETA-007",
    MUST,
    "sec-ledger-forms",
    sends="Open ledgers whose records are of form 2 and 3 are recovered.",
    accepts="The closed record is of the form that it had, with custom metadata and creation time as before.",
    provenance="BK#1866",
)
def an_update_keeps_form_and_fields(stage: Stage) -> None:
    """A client MUST keep the form of a record that it updates, its custom metadata and its creation time."""
    bookies = stage.bookies(2)
    for form in (spec.TEXT_PROTOBUF, spec.BINARY_PROTOBUF):
        ledger = stage.ledger(
            bookies, entries=2, format_version=form, custom={"owner": b"\x00me\xff"}, ctime_ms=1_234_567_890_123
        )
        before = stage.metadata(ledger.ledger_id)
        stage.client.open(ledger.ledger_id)
        after = stage.metadata(ledger.ledger_id)
        stage.check("the form", after.format_version, form)
        expected = attrs.evolve(before, state=CLOSED, last_entry=1, length=ledger.length, token=after.token)
        stage.check(f"the record of form {form}", after, expected)


@case(
    "BKW-CMETA-008",
    MUST,
    "sec-ledger-forms",
    sends="Records that are cut short, empty, of form 4, or no record at all.",
    accepts="An error for each, and the record as it was.",
    provenance="BK#2708",
)
def a_corrupt_record_is_an_error(stage: Stage) -> None:
    """A client MUST refuse a record that it cannot read, and MUST NOT write it."""
    bookies = stage.bookies(1)
    ledger = stage.ledger(bookies, entries=1)
    good = stage.root.raw(ledger.ledger_id)
    later = good.replace(b"\t3\n", b"\t4\n")
    for raw in (b"", good[:-5], good[:20], later, b"{}", spec.VERSION_KEY + b"2\nquorumSize: x\n"):
        stage.root.write(ledger.ledger_id, raw)
        stage.expect_error(stage.client.begin_open(ledger.ledger_id))
        stage.check("the record afterwards", stage.root.raw(ledger.ledger_id), raw)


@case(
    "BKW-CMETA-009",
    MUST,
    "sec-ledger-states",
    sends="A ledger is deleted, and then opened; another that never was is opened.",
    accepts="No record after the first; -7 or -25 for both.",
    provenance="seen with Java's client 4.18.0",
)
def a_deleted_ledger_is_gone(stage: Stage) -> None:
    """A client MUST delete the record, and report a ledger that has none as such."""
    bookies = stage.bookies(1)
    ledger = stage.ledger(bookies, entries=1, state=CLOSED)
    stage.client.delete(ledger.ledger_id)
    stage.check("whether there is a record", stage.root.exists(ledger.ledger_id), False)
    for ledger_id in (ledger.ledger_id, stage.new_ledger()):
        stage.expect_error(stage.client.begin_open(ledger_id), *NO_SUCH_LEDGER)


@case(
    "BKW-CMETA-010",
    SHOULD,
    "sec-ledger-message",
    sends="Two ledgers are created, and one is closed.",
    accepts="A token of the creator's own in each new record, and 0 in the one that was updated.",
    provenance="capture of Java 4.14.7 to 4.18.0",
)
def a_creator_knows_its_record_by_a_token(stage: Stage) -> None:
    """A client SHOULD draw a token for each attempt to create a ledger, and write 0 in an update."""
    bookies = stage.bookies(1)
    writers = [stage.new_writer(bookies) for _ in range(2)]
    tokens = [stage.metadata(writer.ledger_id).token for writer in writers]
    stage.check_that(None not in tokens and tokens[0] != tokens[1], "the tokens", "two different ones", tokens)
    writers[0].close()
    stage.check("the token after an update", stage.metadata(writers[0].ledger_id).token, spec.UPDATE_TOKEN)


@case(
    "BKW-CMETA-011",
    MUST,
    "sec-ledger-forms",
    sends="A closed ledger whose record of form 2 has comments, other spacing and fields in another order.",
    accepts="It is opened and read.",
    provenance="docs: ledger metadata",
)
def text_is_read_as_protobuf_text(stage: Stage) -> None:
    """A client MUST read form 2 as protobuf text: comments, spacing and order do not matter."""
    bookies = stage.bookies(1)
    ledger = stage.ledger(bookies, entries=2, state=CLOSED, format_version=spec.TEXT_PROTOBUF)
    record = stage.metadata(ledger.ledger_id)
    lines = text_format.MessageToString(record.message(), as_one_line=True)
    raw = record_of(spec.TEXT_PROTOBUF, f"# a comment\n\n  {lines}\n# the end".encode())
    _expect_readable(stage, raw, record, ledger.ledger_id, ledger.payloads)
    stage.check("the form", message_in(stage.root.raw(ledger.ledger_id))[0], spec.TEXT_PROTOBUF)


@case(
    "BKW-CMETA-012",
    MUST,
    "sec-service-info",
    sends="A ledger on a bookie whose registration has no data, as up to 4.9, and on one with an unknown extension.",
    accepts="Both are written to.",
    provenance="seen with Java's client 4.18.0",
)
def a_bookie_is_found_by_either_registration(stage: Stage) -> None:
    """A client MUST connect to the endpoint that a bookie publishes, or, if it publishes none, to its id as address."""
    legacy = stage.bookies(1, legacy=True)
    today = stage.bookies(1, extensions=("something-new",))
    writer = stage.new_writer([*legacy, *today])
    stage.check("the entry", writer.append(), 0)
    counts = [len(bookie.entries(writer.ledger_id)) for bookie in (*legacy, *today)]
    stage.check("entries on each", counts, [1, 1])
