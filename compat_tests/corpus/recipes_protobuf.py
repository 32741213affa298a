"""Inputs that are wrong as protobuf, or only costly: bytes after a good V3 request, or in it."""

from compat_tests.corpus.recipe import ANY, RecipeClass, each, frame, long_frame, status_reply
from compat_tests.corpus.recipes_v3 import HEADER_ALONE, INFO, v3_recipe


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def _field(number: int, wire_type: int) -> bytes:
    """The tag of a field."""
    return _varint(number << 3 | wire_type)


_VARINT, _FIXED64, _BYTES, _START, _END, _FIXED32 = 0, 1, 2, 3, 4, 5
_UNKNOWN = 300  # a field number that Request does not have

WIRE = RecipeClass(
    "v3-wire",
    "Good V3 requests with something behind them that is no protobuf, so that the whole is none.",
    [
        v3_recipe("v3-field-0", "Field number 0 is illegal.", each([INFO + b"\0\1", INFO + b"\2\0"])),
        v3_recipe(
            "v3-wire-types-6-and-7",
            "There are no such types.",
            each([INFO + _field(_UNKNOWN, n) + b"\1" for n in (6, 7)]),
        ),
        v3_recipe("v3-group-not-begun", "The end of a group that has no start.", frame(INFO + _field(_UNKNOWN, _END))),
        v3_recipe("v3-group-not-ended", "A start without an end.", frame(INFO + _field(_UNKNOWN, _START) + b"\x08\1")),
        v3_recipe(
            "v3-group-ended-by-another",
            "Start and end are of different fields.",
            frame(INFO + _field(_UNKNOWN, _START) + _field(_UNKNOWN + 1, _END)),
        ),
        v3_recipe(
            "v3-varint-of-11-bytes", "Ten is the most.", frame(INFO + _field(_UNKNOWN, _VARINT) + b"\xff" * 10 + b"\1")
        ),
        v3_recipe(
            "v3-varint-without-end", "The frame ends in it.", frame(INFO + _field(_UNKNOWN, _VARINT) + b"\xff\xff")
        ),
        v3_recipe("v3-tag-without-end", "The same in a tag.", frame(INFO + b"\xff")),
        v3_recipe("v3-tag-of-11-bytes", "A tag of more bits than there are.", frame(INFO + b"\xff" * 10 + b"\1")),
        v3_recipe(
            "v3-length-past-the-end",
            "A field that claims more bytes than are there: one more, 2 GiB, and -1.",
            each(
                [
                    INFO + _field(_UNKNOWN, _BYTES) + length
                    for length in (
                        b"\1",
                        bytes.fromhex("ffffffff07"),
                        bytes.fromhex("ffffffffffffffffff01"),
                    )
                ]
            ),
        ),
        v3_recipe(
            "v3-fixed-without-bytes",
            "Fixed fields with a byte less than they have.",
            each([INFO + _field(_UNKNOWN, _FIXED64) + bytes(7), INFO + _field(_UNKNOWN, _FIXED32) + bytes(3)]),
        ),
        v3_recipe(
            "v3-header-of-another-type",
            "A number, or eight bytes, where the header is to be.",
            each([b"\x08\5", b"\x09" + bytes(8), b"\x0d" + bytes(4)]),
        ),
        v3_recipe(
            "v3-header-fields-of-another-type",
            "Bytes where numbers are to be.",
            each([bytes.fromhex("0a070a010310081805"), bytes.fromhex("0a07080310081a0105")]),
        ),
        v3_recipe("v3-part-that-does-not-parse", "Ones.", frame(HEADER_ALONE + bytes.fromhex("a20604ffffffff"))),
        v3_recipe(
            "v3-part-of-another-type", "A number.", frame(HEADER_ALONE + bytes.fromhex("a006ffffffffffffffffffff01"))
        ),
    ],
)

_KEY_SIZE = 4 << 20
_KEY_TAG = bytes.fromhex("08011000") + b"\x1a" + _varint(_KEY_SIZE)
_READ_WITH_LONG_KEY = _field(100, _BYTES) + _varint(len(_KEY_TAG) + _KEY_SIZE) + _KEY_TAG

_CONTEXT = bytes.fromhex("c20c06 0a016b 120176")

BOMBS = RecipeClass(
    "v3-bombs",
    "Small or large requests that cost a careless parser time, memory or its stack.",
    [
        v3_recipe(
            "v3-100000-groups-open",
            "A stack of groups, none ended.",
            long_frame(INFO, _field(_UNKNOWN, _START), 100_000),
        ),
        v3_recipe("v3-5000-groups-in-the-header", "The same where a header is to be.", long_frame(b"", b"\x0b", 5_000)),
        v3_recipe(
            "v3-100000-context-pairs", "A repeated field.", long_frame(INFO, _CONTEXT, 100_000), status_reply("EOK")
        ),
        v3_recipe(
            "v3-300000-unknown-fields",
            "All of the same number.",
            long_frame(INFO, _field(_UNKNOWN, _VARINT) + b"\1", 300_000),
            status_reply("EOK"),
        ),
        v3_recipe(
            "v3-100000-headers",
            "The same field again: the last counts.",
            long_frame(b"", INFO, 100_000),
            status_reply("EOK"),
        ),
        v3_recipe(
            "v3-priorities",
            "A header of 100 000 priorities.",
            long_frame(b"\x0a" + _varint(6 + 2 * 100_000) + bytes.fromhex("080310081805"), b"\x20\1", 100_000),
            status_reply("EOK"),
        ),
        v3_recipe(
            "v3-length-of-64-bits",
            "Field lengths of 2^32 and 2^63: some parsers look at the lower 32 bits only, which are 0.",
            each(
                [
                    INFO + _field(_UNKNOWN, _BYTES) + b"\x80" * 4 + b"\x10",
                    INFO + _field(_UNKNOWN, _BYTES) + b"\x80" * 9 + b"\1",
                ]
            ),
            ANY,
        ),
        v3_recipe(
            "v3-key-of-4-mib",
            "A master key as long as a frame can hold.",
            long_frame(HEADER_ALONE + _READ_WITH_LONG_KEY, b"\x5a", _KEY_SIZE),
            ANY,
        ),
    ],
)

CLASSES = (WIRE, BOMBS)
