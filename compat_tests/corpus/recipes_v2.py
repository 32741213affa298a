"""Inputs that are wrong as V2."""

from collections.abc import Mapping
from typing import Any

from compat_tests.corpus.recipe import CLOSED, Recipe, RecipeClass, each, frame, prefixes, status_reply
from protocol_specs import codecs
from protocol_specs.entry import v1
from protocol_specs.wire import framing, v2
from protocol_specs.wire.operations import Flag, Operation

LEDGER = 0x7E00_0000_0000_0002
LEDGER_OF_ADDS = LEDGER + 1
"""Java makes a ledger for an add that it refuses for its size."""

KEY = bytes(range(20))

_HEADER = codecs.derive("packet header", codecs.leading(v2.READ_REQUEST, "ledger_id"))
_READ = codecs.derive("read request", codecs.leading(v2.READ_REQUEST, "master_key"))
_BATCH = codecs.derive("batch read request", codecs.leading(v2.BATCH_READ_REQUEST, "master_key"))
_ENTRY = codecs.derive("entry", v1.ENTRY_METADATA)

_AUTH_MESSAGE = bytes.fromhex("0a03666f6f1203616263")


def _header(operation: int, flags: int = 0, version: int = 2) -> bytes:
    return _HEADER.pack_fixed(framing.join_header(version, operation, flags))


def _read(ledger_id: int, entry_id: int, flags: int = 0, version: int = 2) -> bytes:
    return _READ.pack_fixed(framing.join_header(version, Operation.READ_ENTRY, flags), ledger_id, entry_id)


def _batch(ledger_id: int, start: int, count: int, size: int, flags: int = 0, version: int = 2) -> bytes:
    header = framing.join_header(version, Operation.BATCH_READ_ENTRY, flags)
    return _BATCH.pack_fixed(header, ledger_id, start, 77, count, size)


def _add(ledger_id: int, version: int = 2) -> bytes:
    return _header(Operation.ADD_ENTRY, version=version) + KEY + _ENTRY.pack_fixed(ledger_id, 0, -1, 5) + b"hello"


def _v2(name: str, about: str, streams: Mapping[str, Any], expect: Mapping[str, str] = CLOSED) -> Recipe:
    return Recipe(name, about, streams, expect, "V2")


_ADD_FIXED = 4 + 20 + 16  # header, key, and of the entry what a bookie has to have: its two ids

TRUNCATED = RecipeClass(
    "v2-truncated",
    "Packets of V2 that are shorter than their fields, each in a frame of its true length.",
    [
        _v2("v2-read-short", "A read, cut everywhere.", prefixes(_read(LEDGER, 0))),
        _v2(
            "v2-fencing-read-short",
            "A fencing read, cut in its master key.",
            prefixes(_read(LEDGER, 0, Flag.FENCING) + KEY, 20),
        ),
        _v2("v2-add-short", "An add, cut before the end of its ids.", prefixes(_add(LEDGER), 0, _ADD_FIXED - 1)),
        _v2("v2-batch-read-short", "A batch read, cut everywhere.", prefixes(_batch(LEDGER, 0, 10, 1000))),
        _v2(
            "v2-fencing-batch-read-short",
            "A fencing batch read, cut in its master key.",
            prefixes(_batch(LEDGER, 0, 10, 1000, Flag.FENCING) + KEY, 40),
        ),
        _v2(
            "v2-auth-short",
            "An AUTH, cut in its message: a field is missing, or not whole.",
            prefixes(_header(Operation.AUTH) + _AUTH_MESSAGE),
        ),
        _v2("v2-header-of-version-0-short", "A header alone.", each([_header(1, version=0), _header(2, version=0)])),
    ],
)

_UNKNOWN = [code for code in range(256) if code not in tuple(Operation)]

OPERATIONS = RecipeClass(
    "v2-operations",
    "Operations that V2 does not have, in packets long enough for anything.",
    [
        _v2(
            f"v2-unknown-operations-of-version-{version}",
            "Every code that is none.",
            each([_header(code, version=version) + bytes(56) for code in _UNKNOWN]),
        )
        for version in (0, 2)
    ]
    + [
        _v2(
            "v2-unknown-operations-of-other-versions",
            "The operation is looked at before the version.",
            each(
                [_header(code, version=version) + bytes(56) for version in (1, 3, 127, 128, 255) for code in (0, 4, 9)]
            ),
        )
    ],
)

GARBAGE = RecipeClass(
    "v2-garbage",
    "Packets of a known operation whose bytes mean nothing.",
    [
        _v2("v2-auth-of-zeroes", "Field number 0.", frame(_header(Operation.AUTH) + bytes(16))),
        _v2("v2-auth-of-ones", "A tag without an end.", frame(_header(Operation.AUTH) + b"\xff" * 16)),
        _v2("v2-auth-without-payload", "A required field is missing.", frame(_header(3) + _AUTH_MESSAGE[:5])),
        _v2("v2-auth-without-plugin", "The other one is missing.", frame(_header(3) + _AUTH_MESSAGE[5:])),
        _v2(
            "v2-auth-with-a-length",
            "A length before the message, as V3 has it.",
            frame(_header(3) + bytes([len(_AUTH_MESSAGE)]) + _AUTH_MESSAGE),
        ),
        _v2(
            "v2-auth-payload-too-long",
            "The payload's length points past the frame.",
            frame(_header(3) + _AUTH_MESSAGE[:5] + b"\x12\x7f" + b"abc"),
        ),
    ],
)

_VERSIONS = (3, 4, 9, 10, 127, 128, 255)

VALUES = RecipeClass(
    "v2-values",
    "Packets that can be read, with values that cannot be served.",
    [
        _v2(
            "v2-read-of-unknown-versions",
            "Versions above 2, and negative ones.",
            each([_read(LEDGER, 0, version=version) for version in _VERSIONS]),
            status_reply("EBADVERSION"),
        ),
        _v2(
            "v2-add-of-unknown-versions",
            "The same; nothing is stored.",
            each([_add(LEDGER, version) for version in _VERSIONS]),
            status_reply("EBADVERSION"),
        ),
        _v2(
            "v2-batch-read-of-unknown-versions",
            "The same.",
            each([_batch(LEDGER, 0, 10, 1000, version=version) for version in _VERSIONS]),
            status_reply("EBADVERSION"),
        ),
        _v2(
            "v2-add-without-an-entrys-fields",
            "Entries of 16 to 23 bytes: ids, and no last add confirmed.",
            prefixes(_add(LEDGER_OF_ADDS), _ADD_FIXED, _ADD_FIXED + 7),
            status_reply("EBADREQ"),
        ),
        _v2(
            "v2-read-of-negative-ledgers",
            "No such ledgers.",
            each([_read(-1, 0), _read(-(2**63), 0), _read(-2, -1)]),
            status_reply("ENOLEDGER"),
        ),
        _v2(
            "v2-read-of-far-ledgers",
            "The highest ledger id and entry id there are.",
            each([_read(2**63 - 1, 2**63 - 1), _read(2**63 - 1, 0)]),
            status_reply("ENOLEDGER"),
        ),
        _v2(
            "v2-fencing-read-without-key",
            "Of version 0 and 1, which have no room for one.",
            each([_read(LEDGER, 0, Flag.FENCING, 1), _read(LEDGER, -1, Flag.FENCING | Flag.HIGH_PRIORITY, 1)]),
            status_reply("EUA"),
        ),
        _v2(
            "v2-batch-read-of-extremes",
            "The largest and smallest counts and sizes, of a ledger that is not there.",
            each([_batch(LEDGER, 0, c, s) for c in (-(2**31), 2**31 - 1) for s in (-(2**63), 2**63 - 1)]),
            status_reply("ENOLEDGER"),
        ),
    ],
)

CLASSES = (TRUNCATED, OPERATIONS, GARBAGE, VALUES)
