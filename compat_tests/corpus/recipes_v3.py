"""Inputs that are wrong as V3: such a frame is not V3, and as V2 it has an unknown operation."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message

from compat_tests.corpus.recipe import CLOSED, Recipe, RecipeClass, each, frame, prefixes, status_reply
from compat_tests.corpus.recipes_v2 import KEY, LEDGER, LEDGER_OF_ADDS
from protocol_specs import codecs
from protocol_specs.entry import v1
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import PARTS, V3Operation

TXN_ID = 5

_ENTRY = codecs.derive("entry", v1.ENTRY_METADATA)
_LAC = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)


def request(operation: int, part: Message | None = None, *, priority: int = 0) -> v3_pb2.Request:
    """A request; with its part, or without."""
    header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=TXN_ID)  # type: ignore[arg-type]
    if priority:
        header.priority = priority
    message = v3_pb2.Request(header=header)
    if part is not None:
        getattr(message, PARTS[V3Operation(operation)].request).CopyFrom(part)
    return message


_READ = v3_pb2.ReadRequest(ledger_id=LEDGER, entry_id=0)
_ADD = v3_pb2.AddRequest(
    ledger_id=LEDGER_OF_ADDS, entry_id=0, master_key=KEY, body=_ENTRY.pack_fixed(LEDGER_OF_ADDS, 0, -1, 5) + b"hello"
)
_WRITE_LAC = v3_pb2.WriteLacRequest(
    ledger_id=LEDGER, lac=0, master_key=KEY, body=_LAC.pack_fixed(LEDGER, 0) + b"\1\2\3\4"
)
_AUTH = v3_pb2.AuthMessage(auth_plugin_name="foo", payload=b"abc")

_PARTS: Mapping[V3Operation, Message] = {
    V3Operation.READ_ENTRY: _READ,
    V3Operation.ADD_ENTRY: _ADD,
    V3Operation.AUTH: _AUTH,
    V3Operation.WRITE_LAC: _WRITE_LAC,
    V3Operation.READ_LAC: v3_pb2.ReadLacRequest(ledger_id=LEDGER),
    V3Operation.GET_BOOKIE_INFO: v3_pb2.GetBookieInfoRequest(requested=3),
    V3Operation.START_TLS: v3_pb2.StartTlsRequest(),
    V3Operation.FORCE_LEDGER: v3_pb2.ForceLedgerRequest(ledger_id=LEDGER),
    V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER: v3_pb2.GetListOfEntriesOfLedgerRequest(ledger_id=LEDGER),
    V3Operation.BATCH_READ_ENTRY: v3_pb2.BatchReadRequest(ledger_id=LEDGER, start_entry_id=0, max_count=1, max_size=99),
}

HEADER_ALONE = request(V3Operation.READ_ENTRY).SerializeToString()
#: Asks for nothing, needs no part, and is answered EOK by every release.
INFO = request(V3Operation.GET_BOOKIE_INFO).SerializeToString()


def v3_recipe(name: str, about: str, streams: Mapping[str, Any], expect: Mapping[str, str] = CLOSED) -> Recipe:
    """An input of V3."""
    return Recipe(name, about, streams, expect, "V3")


def _word(operation: V3Operation) -> str:
    return operation.name.lower().replace("_", "-")


TRUNCATED = RecipeClass(
    "v3-truncated",
    "Requests of V3 cut everywhere but behind their header, each in a frame of its true length.",
    [
        v3_recipe(
            f"v3-{_word(operation)}-short",
            f"{operation.name}, cut everywhere.",
            prefixes(request(operation, part).SerializeToString(), 0, without=[len(HEADER_ALONE)]),
        )
        for operation, part in _PARTS.items()
    ],
)


def _without(field: str) -> bytes:
    message = request(V3Operation.READ_ENTRY, _READ)
    message.header.ClearField(field)
    return message.SerializePartialToString()


def _lacking(operation: V3Operation) -> list[bytes]:
    """The request without each of the required fields of its part, and without all of them."""
    part = _PARTS[operation]
    required = [field.name for field in part.DESCRIPTOR.fields if field.is_required]
    frames = []
    for names in [*([name] for name in required), required]:
        message = request(operation, part)
        for name in names:
            getattr(message, PARTS[operation].request).ClearField(name)
        frames.append(message.SerializePartialToString())
    return frames


_WITH_REQUIRED = [each for each, part in _PARTS.items() if any(field.is_required for field in part.DESCRIPTOR.fields)]

REQUIRED = RecipeClass(
    "v3-required",
    "Messages that parse but lack a required field, or have an enum value there that nobody knows: no V3.",
    [
        v3_recipe(
            "v3-no-header",
            "A part, and no header.",
            frame(request(V3Operation.READ_ENTRY, _READ).SerializeToString()[8:]),
        ),
        v3_recipe(
            "v3-header-lacks-a-field",
            "Its version, operation or transaction id.",
            each([_without(field) for field in ("version", "operation", "txn_id")]),
        ),
        v3_recipe(
            "v3-unknown-version",
            "An unknown enum value counts as absent.",
            each([INFO[:3] + bytes([version]) + INFO[4:] for version in (0, 4, 100)]),
        ),
        v3_recipe(
            "v3-unknown-operation",
            "The same.",
            each([INFO[:5] + bytes([operation]) + INFO[6:] for operation in (0, 13, 14, 99, 127)]),
        ),
        *(
            v3_recipe(
                f"v3-{_word(operation)}-lacks-a-field",
                "Each required field of its part in turn, and all.",
                each(_lacking(operation)),
            )
            for operation in _WITH_REQUIRED
        ),
    ],
)


_SHORT_BODIES = [_ADD.body[:size] for size in (0, 1, 15, 16, 23)]


def _adds(bodies: list[bytes]) -> list[bytes]:
    frames = []
    for body in bodies:
        part = v3_pb2.AddRequest()
        part.CopyFrom(_ADD)
        part.body = body
        frames.append(request(V3Operation.ADD_ENTRY, part).SerializeToString())
    return frames


def _reads(ids: list[tuple[int, int]]) -> list[bytes]:
    parts = [v3_pb2.ReadRequest(ledger_id=ledger_id, entry_id=entry_id) for ledger_id, entry_id in ids]
    return [request(V3Operation.READ_ENTRY, part).SerializeToString() for part in parts]


VALUES = RecipeClass(
    "v3-values",
    "Requests of V3 with values that cannot be served, or that look wrong and are not.",
    [
        v3_recipe(
            "v3-add-without-an-entrys-fields",
            "Bodies under 24 bytes.",
            each(_adds(_SHORT_BODIES)),
            status_reply("EBADREQ"),
        ),
        v3_recipe(
            "v3-read-of-negative-ledgers",
            "No such ledgers.",
            each(_reads([(-1, 0), (-(2**63), 0), (-2, -1)])),
            status_reply("ENOLEDGER"),
        ),
        v3_recipe(
            "v3-read-of-far-ledgers",
            "The highest ids there are.",
            each(_reads([(2**63 - 1, 2**63 - 1)])),
            status_reply("ENOLEDGER"),
        ),
        v3_recipe(
            "v3-fencing-read-without-key",
            "A fencing read has to show one.",
            frame(
                request(
                    1, v3_pb2.ReadRequest(ledger_id=LEDGER, entry_id=0, flag=v3_pb2.ReadRequest.FENCE_LEDGER)
                ).SerializeToString()
            ),
            status_reply("EUA"),
        ),
        v3_recipe(
            "v3-auth-plugin-no-utf8",
            "Names are compared as bytes where nobody authenticates.",
            frame(request(V3Operation.AUTH).SerializeToString() + bytes.fromhex("b206050a01ff1200")),
            status_reply("EOK"),
        ),
        v3_recipe(
            "v3-reserved-operations",
            "Known, and never served.",
            each([request(operation).SerializeToString() for operation in (3, 4)]),
            status_reply("EBADREQ"),
        ),
    ],
)

CLASSES = (TRUNCATED, REQUIRED, VALUES)
