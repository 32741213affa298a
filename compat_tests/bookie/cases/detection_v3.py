"""Which parts of a V3 request count: numbers, unknown fields, versions, and missing parts."""

from collections.abc import Callable, Mapping

from compat_tests.bookie.stored_entries import make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, SHOULD, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import KEY
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EBADVERSION, ENOLEDGER, EOK

UNKNOWN_VARINT = bytes.fromhex("e012 07")
UNKNOWN_BYTES = bytes.fromhex("e212 03 616263")
UNKNOWN_FIXED = bytes.fromhex("e112 0102030405060708 e512 01020304")
UNKNOWN_GROUP = bytes.fromhex("e312 0801 e412")
"""Field 300, which no message has, in every form that protobuf has."""

_FORMS = {"number": UNKNOWN_VARINT, "bytes": UNKNOWN_BYTES, "fixed": UNKNOWN_FIXED}

_OF_ZEROES: Mapping[V3Operation, Callable[[], bytes]] = {
    V3Operation.READ_ENTRY: lambda: v3_requests.read(0, 0),
    V3Operation.ADD_ENTRY: lambda: v3_requests.add(0, 0, b"", key=b""),
    V3Operation.WRITE_LAC: lambda: v3_requests.write_lac(0, 0, b"", key=b""),
    V3Operation.READ_LAC: lambda: v3_requests.read_lac(0),
    V3Operation.FORCE_LEDGER: lambda: v3_requests.force(0),
}
"""The request that one without its part is taken for."""


@case(
    "BKW-DETECT-010",
    SHOULD,
    "sec-v3-request",
    sends="V3 requests with a header only: read, add, write and read of the last add confirmed, force; and the same "
    "with a part of ids 0 and empty bytes.",
    accepts="The same reply to both: on a bookie without ledger 0 ENOLEDGER, EBADREQ, EBADREQ, ENOENTRY and EOK.",
    dialects=(V3,),
    provenance="S10; seen of Java 4.9.2 to 4.17.3; 4.18.0 closes, and no client sends such a request",
)
def a_request_without_its_part_is_one_of_zeroes(talk: Talk) -> None:
    """A bookie SHOULD serve a V3 request that lacks its part as if every field of it were 0 or empty."""
    for operation, of_zeroes in _OF_ZEROES.items():
        line = talk.line(operation.name)
        wanted = talk.ask(of_zeroes(), line)
        reply = talk.ask(v3_requests.request(operation), line)
        talk.check(f"the reply to {operation.name} without its part", reply.raw, wanted.raw)


@case(
    "BKW-DETECT-011",
    MUST,
    "sec-v3-request",
    sends="Adds and reads with a field of number 300 behind the request, in the part, and in the header: a number, "
    "bytes, and fixed ones.",
    accepts="EOK and the entry, as without it.",
    dialects=(V3,),
    provenance="BK#4780; the source of Java 4.9 to 4.18",
)
def unknown_fields_are_skipped(talk: Talk) -> None:
    """A bookie MUST skip fields that it does not know, wherever they are and whatever form they have."""
    ledger = talk.new_ledger()
    for entry_id, (form, field) in enumerate(_FORMS.items()):
        _expect_skipped(talk, ledger, entry_id, form, field)


@case(
    "BKW-DETECT-023",
    MUST,
    "sec-v3-request",
    sends="Adds and reads with a group of number 300 behind the request, in the part, and in the header.",
    accepts="EOK and the entry, as without it.",
    dialects=(V3,),
    provenance="BK#4780; groups are deprecated, and still protobuf",
)
def unknown_groups_are_skipped(talk: Talk) -> None:
    """A bookie MUST skip a group that it does not know, as it does other unknown fields."""
    _expect_skipped(talk, talk.new_ledger(), 0, "group", UNKNOWN_GROUP)


@case(
    "BKW-DETECT-012",
    MUST,
    "sec-v3-request",
    sends="A read with a key and flag 9, a read with flag 9, an add with flag 9; then an ordinary add.",
    accepts="EOK to all: an unknown flag is none, so nothing was fenced, and the add was no recovery add.",
    dialects=(V3,),
    provenance="BK#4780; seen of Java 4.9.2 to 4.18.0",
)
def an_unknown_optional_enum_value_is_dropped(talk: Talk) -> None:
    """A bookie MUST take an optional enum field with a value that it does not know for absent."""
    ledger, flag = talk.new_ledger(), bytes.fromhex("a006 09")
    body = make_entry(ledger, 0)
    talk.expect(_in_part(v3_requests.add(ledger, 0, body), flag), EOK)
    talk.expect(_in_part(v3_requests.read(ledger, 0, key=KEY), flag), EOK, body=body)
    talk.expect(_in_part(v3_requests.read(ledger, 0), flag), EOK, body=body)
    talk.expect(v3_requests.add(ledger, 1), EOK)


@case(
    "BKW-DETECT-013",
    MUST,
    "sec-v3-request",
    sends="An add and a read with the header behind the part, and the fields of header and part in reverse.",
    accepts="EOK and the entry.",
    dialects=(V3,),
    provenance="BK#4780; the source of Java 4.9 to 4.18: 4.18 writes in declaration order",
)
def the_order_of_fields_means_nothing(talk: Talk) -> None:
    """A bookie MUST serve a V3 request whatever the order of its fields, and of those in header and part."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0)
    header = bytes.fromhex("0a06 1805 1002 0803")
    number = _varint(ledger)
    part = b"\x22" + _varint(len(body)) + body + b"\x1a\x14" + KEY + b"\x10\0" + b"\x08" + number
    talk.expect(b"\xaa\x06" + _varint(len(part)) + part + header, EOK, ledger_id=ledger, entry_id=0)
    part = b"\x10\0" + b"\x08" + number
    talk.expect(b"\xa2\x06" + _varint(len(part)) + part + bytes.fromhex("0a06 1805 1001 0803"), EOK, body=body)


@case(
    "BKW-DETECT-014",
    MUST,
    "sec-v3-request",
    sends="A read whose ledger id, entry id and transaction id are each there twice, with different values.",
    accepts="The reply to the later values.",
    dialects=(V3,),
    provenance="BK#4780; protobuf: the last one wins",
)
def of_a_field_that_comes_twice_the_last_counts(talk: Talk) -> None:
    """A bookie MUST take the last value of a field that comes more than once."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 1)
    talk.expect(v3_requests.add(ledger, 1, body), EOK)
    part = b"\x08\x01\x10\x07" + b"\x08" + _varint(ledger) + b"\x10\x01"
    frame = bytes.fromhex("0a08 0803 1001 1809 1806") + b"\xa2\x06" + _varint(len(part)) + part
    talk.expect(frame, EOK, request_id=6, ledger_id=ledger, entry_id=1, body=body)


@case(
    "BKW-DETECT-015",
    MUST,
    "sec-v3-requests",
    sends="Reads with transaction ids 0, 1, 127, 128, 2^32, 2^63 - 1, 2^63 and 2^64 - 1, one by one and all at once.",
    accepts="Each reply with the id of its request.",
    dialects=(V3,),
    provenance="the source of Java 4.9 to 4.18",
)
def every_transaction_id_is_echoed(talk: Talk) -> None:
    """A bookie MUST answer with the transaction id of the request, which may be any number of 64 bits."""
    ledger = talk.new_ledger()
    numbers = (0, 1, 127, 128, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
    frames = [v3_requests.read(ledger, 0, txn_id=number) for number in numbers]
    for number, frame in zip(numbers, frames, strict=True):
        talk.expect(frame, ENOLEDGER, request_id=number)
    talk.main.send(*frames)
    seen = sorted(talk.expect_reply(talk.main.receive()).request_id or 0 for _ in frames)
    talk.check("the transaction ids of the replies", seen, sorted(numbers))


@case(
    "BKW-DETECT-016",
    MUST,
    "sec-v3-requests",
    sends="Adds, recovery adds, reads, fencing reads, reads and writes of the last add confirmed, forces and questions "
    "for bookie info under header versions 1 and 2; then an ordinary add and a read.",
    accepts="EBADVERSION in the whole and in the part, ids echoed, header version 3; nothing is stored or fenced.",
    dialects=(V3,),
    provenance="seen of Java 4.9.2 to 4.18.0",
)
def older_versions_of_v3_are_refused(talk: Talk) -> None:
    """A bookie MUST answer operations of header version 1 and 2 with EBADVERSION, and MUST NOT carry them out."""
    ledger = talk.new_ledger()
    build: list[Callable[..., bytes]] = [
        lambda **options: v3_requests.add(ledger, 0, **options),
        lambda **options: v3_requests.add(ledger, 0, flag=v3_pb2.AddRequest.RECOVERY_ADD, **options),
        lambda **options: v3_requests.read(ledger, 0, **options),
        lambda **options: v3_requests.fence(ledger, **options),
        lambda **options: v3_requests.write_lac(ledger, 0, **options),
        lambda **options: v3_requests.read_lac(ledger, **options),
        lambda **options: v3_requests.force(ledger, **options),
        lambda **options: v3_requests.info(3, **options),
    ]
    for version in (1, 2):
        for each in build:
            reply = talk.expect(each(version=version), EBADVERSION, version=v3.VERSION)
            talk.check_that(reply.part is not None, "the reply", "with its part", reply)
            talk.check_one_of("ledger id", reply.ledger_id, (ledger, None))
    talk.expect(v3_requests.read(ledger, 0), ENOLEDGER)
    talk.expect(v3_requests.add(ledger, 0), EOK)


@case(
    "BKW-DETECT-017",
    MUST,
    "sec-v3-request",
    sends="An add and a read with pairs of context, empty and long ones among them.",
    accepts="EOK, the entry, and no field of context in the replies.",
    dialects=(V3,),
    provenance="the source of Java 4.9 to 4.18",
)
def a_request_may_have_a_context(talk: Talk) -> None:
    """A bookie MUST serve a request that has a context, and MUST NOT send it back."""
    ledger = talk.new_ledger()
    body = make_entry(ledger, 0)

    def with_context(frame: bytes) -> bytes:
        message = v3_pb2.Request.FromString(frame)
        for key, value in (("trace", "a1"), ("", ""), ("long", "x" * 5000), ("odd", "ü\n\0")):
            message.request_context.add(key=key, value=value)
        return message.SerializeToString()

    plain = v3_requests.read(ledger, 0)
    talk.expect(with_context(v3_requests.add(ledger, 0, body)), EOK)
    without = talk.expect(plain, EOK, body=body)
    talk.check("the reply", talk.expect(with_context(plain), EOK, body=body).raw, without.raw)


def _expect_skipped(talk: Talk, ledger: int, entry_id: int, form: str, field: bytes) -> None:
    body = make_entry(ledger, entry_id)
    line = talk.line(f"unknown {form}")
    for place in (_at_end, _in_header, _in_part):
        talk.expect(place(v3_requests.add(ledger, entry_id, body), field), EOK, line, entry_id=entry_id)
        talk.expect(place(v3_requests.read(ledger, entry_id), field), EOK, line, body=body)


def _at_end(frame: bytes, field: bytes) -> bytes:
    return frame + field


def _in_header(frame: bytes, field: bytes) -> bytes:
    size = frame[1]
    return b"\x0a" + bytes([size + len(field)]) + frame[2 : 2 + size] + field + frame[2 + size :]


def _in_part(frame: bytes, field: bytes) -> bytes:
    """The request with more bytes at the end of its part, which is the last field."""
    header_end = 2 + frame[1]
    tag, rest = frame[header_end : header_end + 2], frame[header_end + 2 :]
    size_end = next(index for index, byte in enumerate(rest) if byte < 0x80) + 1
    part = rest[size_end:] + field
    return frame[:header_end] + tag + _varint(len(part)) + part


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])
