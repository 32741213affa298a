"""The V3 messages: their numbers, what is required, and bytes captured from Java."""

from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message

from protocol_specs import vectors
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import PARTS, V3Operation

R, O = "required", "optional"  # noqa: E741
NUMBERS = {
    "PacketHeader": {
        1: ("version", "enum", R),
        2: ("operation", "enum", R),
        3: ("txn_id", "uint64", R),
        4: ("priority", "uint32", O),
    },
    "ContextPair": {1: ("key", "string", R), 2: ("value", "string", R)},
    "ReadRequest": {
        1: ("ledger_id", "int64", R),
        2: ("entry_id", "int64", R),
        3: ("master_key", "bytes", O),
        4: ("previous_lac", "int64", O),
        5: ("time_out", "int64", O),
        100: ("flag", "enum", O),
        134: ("ledger_scope_id", "int64", O),
    },
    "ReadResponse": {
        1: ("status", "enum", R),
        2: ("ledger_id", "int64", R),
        3: ("entry_id", "int64", R),
        4: ("body", "bytes", O),
        5: ("max_lac", "int64", O),
        6: ("lac_update_timestamp", "int64", O),
        134: ("ledger_scope_id", "int64", O),
    },
    "AddRequest": {
        1: ("ledger_id", "int64", R),
        2: ("entry_id", "int64", R),
        3: ("master_key", "bytes", R),
        4: ("body", "bytes", R),
        5: ("write_flags", "int32", O),
        100: ("flag", "enum", O),
        134: ("ledger_scope_id", "int64", O),
    },
    "AddResponse": {
        1: ("status", "enum", R),
        2: ("ledger_id", "int64", R),
        3: ("entry_id", "int64", R),
        134: ("ledger_scope_id", "int64", O),
    },
    "WriteLacRequest": {
        1: ("ledger_id", "int64", R),
        2: ("lac", "int64", R),
        3: ("master_key", "bytes", R),
        4: ("body", "bytes", R),
        134: ("ledger_scope_id", "int64", O),
    },
    "WriteLacResponse": {1: ("status", "enum", R), 2: ("ledger_id", "int64", R), 134: ("ledger_scope_id", "int64", O)},
    "ForceLedgerRequest": {1: ("ledger_id", "int64", R), 134: ("ledger_scope_id", "int64", O)},
    "ForceLedgerResponse": {
        1: ("status", "enum", R),
        2: ("ledger_id", "int64", R),
        134: ("ledger_scope_id", "int64", O),
    },
    "ReadLacRequest": {1: ("ledger_id", "int64", R), 134: ("ledger_scope_id", "int64", O)},
    "ReadLacResponse": {
        1: ("status", "enum", R),
        2: ("ledger_id", "int64", R),
        3: ("lac_body", "bytes", O),
        4: ("last_entry_body", "bytes", O),
        134: ("ledger_scope_id", "int64", O),
    },
    "GetBookieInfoRequest": {1: ("requested", "int64", O)},
    "GetBookieInfoResponse": {
        1: ("status", "enum", R),
        2: ("total_disk_capacity", "int64", O),
        3: ("free_disk_space", "int64", O),
    },
    "GetListOfEntriesOfLedgerRequest": {1: ("ledger_id", "int64", R), 134: ("ledger_scope_id", "int64", O)},
    "GetListOfEntriesOfLedgerResponse": {
        1: ("status", "enum", R),
        2: ("ledger_id", "int64", R),
        3: ("availability_of_entries_of_ledger", "bytes", O),
        134: ("ledger_scope_id", "int64", O),
    },
    "BatchReadRequest": {
        1: ("ledger_id", "int64", R),
        2: ("start_entry_id", "int64", R),
        3: ("max_count", "int32", R),
        4: ("max_size", "int64", R),
        5: ("master_key", "bytes", O),
        6: ("previous_lac", "int64", O),
        7: ("time_out", "int64", O),
        100: ("flag", "enum", O),
        134: ("ledger_scope_id", "int64", O),
    },
    "BatchReadResponse": {
        1: ("status", "enum", R),
        2: ("ledger_id", "int64", R),
        3: ("start_entry_id", "int64", R),
        4: ("body", "bytes", "repeated"),
        5: ("max_lac", "int64", O),
        6: ("lac_update_timestamp", "int64", O),
        134: ("ledger_scope_id", "int64", O),
    },
    "StartTlsRequest": {},
    "StartTlsResponse": {},
    "AuthMessage": {1: ("auth_plugin_name", "string", R), 2: ("payload", "bytes", R)},
}
TYPES = {3: "int64", 4: "uint64", 5: "int32", 9: "string", 11: "message", 12: "bytes", 13: "uint32", 14: "enum"}


def _fields(name: str) -> dict[int, tuple[str, str, str]]:
    descriptor = v3_pb2.DESCRIPTOR.message_types_by_name[name]
    kinds = {
        field.number: R if field.is_required else "repeated" if field.is_repeated else O for field in descriptor.fields
    }
    return {field.number: (field.name, TYPES[field.type], kinds[field.number]) for field in descriptor.fields}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_types_and_what_is_required(name: str) -> None:
    assert _fields(name) == NUMBERS[name]


def test_every_message_is_listed_above() -> None:
    assert set(v3_pb2.DESCRIPTOR.message_types_by_name) == {*NUMBERS, "Request", "Response"}


def test_requests_and_responses_carry_their_parts_under_the_same_numbers() -> None:
    parts = ["read", "add", "auth", "write_lac", "read_lac", "get_bookie_info", "start_tls", "force_ledger"]
    parts += ["get_list_of_entries_of_ledger", "batch_read"]
    for name, kind, first in (("Request", "request", 1), ("Response", "response", 2)):
        found = {number: field[0] for number, field in _fields(name).items() if 100 <= number < 200}
        assert found == {100 + index: f"{part}_{kind}" for index, part in enumerate(parts)}
        assert [number for number, field in _fields(name).items() if field[2] is R] == [1, 2][:first]
    assert _fields("Request")[200] == ("request_context", "message", "repeated")


def test_enums() -> None:
    assert dict(v3_pb2.ProtocolVersion.items()) == {"VERSION_ONE": 1, "VERSION_TWO": 2, "VERSION_THREE": 3}
    assert dict(v3_pb2.ReadRequest.Flag.items()) == {"FENCE_LEDGER": 1, "ENTRY_PIGGYBACK": 2}
    assert dict(v3_pb2.AddRequest.Flag.items()) == {"RECOVERY_ADD": 1}
    assert dict(v3_pb2.BatchReadRequest.Flag.items()) == {"FENCE_LEDGER": 1, "ENTRY_PIGGYBACK": 2}


def test_package_and_file_name_are_our_own() -> None:
    assert v3_pb2.DESCRIPTOR.package == "bookkeeper_tx.wire"
    assert v3_pb2.DESCRIPTOR.name == "protocol_specs/wire/v3.proto"


def test_the_tag_of_a_request_context_stands_before_each_pair() -> None:
    header = v3_pb2.PacketHeader(version=3, operation=1, txn_id=1)  # type: ignore[arg-type]
    pair = v3_pb2.ContextPair(key="a", value="b")
    frame = v3_pb2.Request(header=header, request_context=[pair, pair]).SerializeToString()
    assert frame.count(v3.REQUEST_CONTEXT_TAG) == 2
    assert v3.REQUEST_CONTEXT_TAG not in v3_pb2.Request(header=header).SerializeToString()


@pytest.mark.parametrize("operation", PARTS)
def test_parts_exist(operation: V3Operation) -> None:
    assert PARTS[operation].request in v3_pb2.Request.DESCRIPTOR.fields_by_name
    assert PARTS[operation].response in v3_pb2.Response.DESCRIPTOR.fields_by_name


def _messages() -> list[Any]:
    cases = []
    for vector in vectors.load("wire"):
        for side, kind in (("request", v3_pb2.Request), ("reply", v3_pb2.Response)):
            if vector.get(f"{side}_spec", "").startswith("wire/v3."):
                data = bytes.fromhex(vector[side])
                cases.append(pytest.param(kind, data, vector[f"{side}_fields"], id=f"{vector['name']} {side}"))
    return cases


def _decoded(message: Message) -> dict[str, Any]:
    decoded: dict[str, Any] = {}
    for field, value in message.ListFields():
        decoded[field.name] = [_plain(each) for each in value] if field.is_repeated else _plain(value)
    return decoded


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return _decoded(value)
    return value.hex() if isinstance(value, bytes) else value


@pytest.mark.parametrize(("kind", "data", "decoded"), _messages())
def test_vector(kind: type[Message], data: bytes, decoded: dict[str, Any]) -> None:
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    message = kind.FromString(data[4:])
    assert message.IsInitialized()
    assert _decoded(message) == decoded
    assert message.SerializeToString() == data[4:]


@pytest.mark.parametrize(("kind", "data", "decoded"), _messages())
def test_a_cut_vector_is_refused_or_lacks_something(kind: type[Message], data: bytes, decoded: dict[str, Any]) -> None:
    """Except where the cut takes an optional part whole: then it is another message."""
    for size in range(4, len(data)):
        message = kind()
        try:
            message.ParseFromString(data[4:size])
        except DecodeError:
            continue
        if message.IsInitialized():
            assert _decoded(message) != decoded
