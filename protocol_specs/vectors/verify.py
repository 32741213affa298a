"""Checks a vector against its declaration.

It is read and built, by construct and by the derived codec, and read again with its last bytes missing.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from construct import Construct, ConstructError, ListContainer, SizeofError, Struct
from construct import Container as Read
from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from protocol_specs import codecs
from protocol_specs.codecs import Codec, Malformed, UnsupportedForm
from protocol_specs.disk import bookie_status, cookie
from protocol_specs.entry.digest import CRC32, CRC32C, DIGESTS, compute, master_key
from protocol_specs.forms import LengthFirst
from protocol_specs.metadata import formats_pb2, layout, ledger
from protocol_specs.vectors.cases import Case, by_name
from protocol_specs.wire import framing, tails

FRAMED = ("wire/v3.Request", "wire/v3.Response")
"""Messages that vectors hold with the length of their frame."""


def problems(case: Case) -> list[str]:
    """Return a text for each fault of a vector, none if it is right."""
    if not case.provenance:
        return ["it does not say where it comes from"]
    try:
        check = _SPECIAL.get(case.spec) or _check_of(case)
        return [] if check is None else check(case)
    except (ConstructError, Malformed, DecodeError, ValueError, KeyError) as error:
        return [f"{type(error).__name__}: {error}"]


def _check_of(case: Case) -> "Callable[[Case], list[str]]":
    declared = by_name().get(case.spec)
    if declared is None:
        raise KeyError(f"{case.spec} is declared nowhere")
    if declared.is_message:
        return lambda case: _message(case, declared.value)
    if "digest_type" in case.fields:
        return lambda case: _sealed(case, declared.value)
    return lambda case: _construct(case, declared.value)


# Constructs ----------------------------------------------------------------------------------------------------------


def _construct(case: Case, declaration: Construct) -> list[str]:
    read = declaration.parse(case.data)
    codec = _derived(case.spec, declaration)
    wrong = [] if _plain_of(read, codec) == case.fields else [f"construct reads {_plain_of(read, codec)}"]
    built = declaration.build(read)
    is_whole = built == case.data
    # Bytes after a request are ignored, so they are not built.
    if not is_whole and not (codec is not None and _has_ignored(codec, read) and case.data.startswith(built)):
        wrong.append(f"construct builds {built.hex()}")
    if codec is not None:
        wrong += _agreement(case, codec, read, built)
    return wrong + _truncations(case, declaration, codec)


def _derived(name: str, declaration: Construct) -> Codec | None:
    if not isinstance(declaration, Struct):
        return None
    try:
        return codecs.derive(name, declaration)
    except UnsupportedForm:
        return None


def _has_ignored(codec: Codec, read: Any) -> bool:
    return codec.tail is tails.Ignored or (codec.tail is tails.KeyIfFencing and read[codec.tail_name] is None)


def _agreement(case: Case, codec: Codec, read: Any, built: bytes) -> list[str]:
    values = codec.unpack_from(case.data)
    names = (*codec.fields, codec.tail_name) if codec.tail is not None else codec.fields
    expected = tuple(list(read[name]) if isinstance(read[name], list) else read[name] for name in names)
    wrong = [] if values == expected else [f"the derived codec reads {values}"]
    packed = codec.pack(*values)
    return wrong + ([] if packed == built else [f"the derived codec builds {packed.hex()}"])


def _truncations(case: Case, declaration: Construct, codec: Codec | None) -> list[str]:
    """Return the sizes that are read although bytes are missing; only a tail that takes all bytes left may be cut."""
    if isinstance(declaration, LengthFirst):
        needed = len(case.data)
    elif codec is not None:
        needed = codec.size
    else:
        needed = _fixed_size(declaration)
    readers: list[Callable[[bytes], Any]] = [declaration.parse]
    if codec is not None:
        readers.append(codec.unpack_from)
    return [
        f"its first {size} bytes are read" for size in range(needed) for read in readers if _reads(read, case, size)
    ]


def _reads(read: Callable[[bytes], Any], case: Case, size: int) -> bool:
    try:
        read(case.data[:size])
    except (ConstructError, Malformed):
        return False
    return True


def _fixed_size(declaration: Construct) -> int:
    try:
        return int(declaration.sizeof())
    except SizeofError:
        return 0


def _plain_of(read: Any, codec: Codec | None) -> Any:
    plain = _plain(read)
    if codec is not None and codec.tail is tails.Ignored:
        plain.pop(codec.tail_name, None)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Read):
        return {name: _plain(each) for name, each in value.items() if name != "_io"}
    if isinstance(value, list | ListContainer):
        return [_plain(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value


# Messages ------------------------------------------------------------------------------------------------------------


def _message(case: Case, kind: type[Message]) -> list[str]:
    data, wrong = case.data, list[str]()
    if case.spec in FRAMED:
        data = framing.FRAME.parse(case.data).body
    message = kind.FromString(data)
    if not message.IsInitialized():
        return ["a required field is missing"]
    if values_of(message) != case.fields:
        wrong.append(f"it reads {values_of(message)}")
    if message.SerializeToString() != data:
        wrong.append(f"it builds {message.SerializeToString().hex()}")
    for size in range(len(data)):
        cut = _whole_message(kind, data[:size])
        # A cut may remove whole optional fields: the rest is then another message.
        if cut is not None and values_of(cut) == case.fields:
            wrong.append(f"its first {size} bytes say the same")
    return wrong


def _whole_message(kind: type[Message], data: bytes) -> Message | None:
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    return message if message.IsInitialized() else None


def values_of(message: Message) -> dict[str, Any]:
    """Return the fields that are set, byte strings in hexadecimal."""
    return {field.name: _value(value) for field, value in message.ListFields()}


def _value(value: Any) -> Any:
    if isinstance(value, Message):
        return values_of(value)
    if isinstance(value, str | bytes | int | bool):
        return value.hex() if isinstance(value, bytes) else value
    if isinstance(value, Mapping):
        return dict(value)
    return [_value(each) for each in value]


# Digests -------------------------------------------------------------------------------------------------------------


def _sealed(case: Case, declaration: Construct) -> list[str]:
    """Check an entry or an explicit last add confirmed; its vector names the digest type and the ledger's password."""
    fields, names = dict(case.fields), [subcon.name for subcon in declaration.subcons]
    digest = {each.name: each for each in DIGESTS}[fields["digest_type"]]
    head = Struct(*(subcon for subcon in declaration.subcons if subcon.name != "digest_and_payload"))
    start = head.sizeof()
    found = _plain(head.parse(case.data))
    found["digest"] = case.data[start : start + digest.size].hex()
    if "payload" in fields:
        found["payload"] = case.data[start + digest.size :].hex()
    wrong = [f"{name} is {found[name]}" for name in found if fields.get(name) != found[name]]
    payload = bytes.fromhex(fields.get("payload", ""))
    right = compute(digest, bytes.fromhex(fields["password"]), case.data[:start] + payload)
    if right.hex() != found["digest"]:
        wrong.append(f"the digest should be {right.hex()}")
    if "digest_and_payload" in names:
        plain = {name: found[name] for name in names if name != "digest_and_payload"}
        plain["digest_and_payload"] = case.data[start:].hex()
        wrong += _construct(case._replace(fields=plain), declaration)
    return wrong


def _is(right: bytes, case: Case) -> list[str]:
    return [] if right == case.data else [f"it should be {right.hex()}"]


def _of_hex(case: Case, field: str) -> bytes:
    return bytes.fromhex(case.fields[field])


# What is no construct ------------------------------------------------------------------------------------------------


def _cookie(case: Case) -> list[str]:
    layout_version, values = cookie.parse(case.data)
    wrong = [] if cookie.build(layout_version, values) == case.data else ["it is built otherwise"]
    read = {"layoutVersion": layout_version, **values}
    return wrong + ([] if read == case.fields else [f"it reads {read}"])


def _bookie_status(case: Case) -> list[str]:
    status = bookie_status.parse(case.data)
    wrong = [] if bookie_status.build(status) == case.data else ["it is built otherwise"]
    mode = bookie_status.READ_ONLY if status.read_only else bookie_status.READ_WRITE
    values = (bookie_status.LAYOUT_VERSION, mode, status.updated_at_ms, status.manual)
    read = dict(zip(bookie_status.FIELDS, values, strict=True))
    return wrong + ([] if read == case.fields else [f"it reads {read}"])


def _layout(case: Case) -> list[str]:
    parts = layout.LAYOUT_RECORD.parse(case.data)
    read = {name: parts[name].decode() for name in case.fields}
    wrong = [] if read == case.fields else [f"it reads {read}"]
    return wrong + _is(layout.LAYOUT_RECORD.build(parts), case)


def _ledger_record(case: Case) -> list[str]:
    """Check the record and, in its body, the numbers that its form has."""
    parts, fields = ledger.RECORD.parse(case.data), case.fields
    wrong = _is(ledger.RECORD.build({"format_version": parts.format_version, "body": parts.body}), case)
    version = int(parts.format_version)
    if version != fields["format_version"]:
        wrong.append(f"format version {version}")
    if version == ledger.TEXT_LINES:
        numbers = tuple(map(int, parts.body.split(b"\n")[:3]))
        expected = tuple(fields[name] for name in ("write_quorum_size", "ensemble_size"))
        return wrong + ([] if numbers[:2] == expected else [f"it reads {numbers}"])
    message = formats_pb2.LedgerMetadata()
    if version == ledger.TEXT_PROTOBUF:
        text_format.Parse(parts.body, message)
    else:
        message.ParseFromString(ledger.BINARY_BODY.parse(parts.body))
    return wrong + [f"{name} is {value}" for name, value in _ledger_fields(message).items() if fields[name] != value]


def _ledger_fields(message: Any) -> dict[str, Any]:
    """Return the fields that a vector has of a ledger, from the protobuf message."""
    given = message.HasField
    return {
        "ensemble_size": message.ensembleSize,
        "write_quorum_size": message.quorumSize,
        "ack_quorum_size": message.ackQuorumSize if given("ackQuorumSize") else message.quorumSize,
        "fragments": [
            {"first_entry_id": each.firstEntryId, "ensemble": list(each.ensembleMember)} for each in message.segment
        ],
        "digest_type": message.DigestType.Name(message.digestType) if given("digestType") else None,
        "password": message.password.hex() if given("password") else None,
        "state": message.State.Name(message.state),
        "last_entry_id": message.lastEntryId,
        "length": message.length,
        "custom_metadata": {each.key: each.value.hex() for each in message.customMetadata},
        "ctime_ms": message.ctime if given("ctime") else None,
        "create_token": message.cToken if given("cToken") else None,
    }


_SPECIAL: dict[str, Callable[[Case], list[str]]] = {
    "disk/cookie": _cookie,
    "disk/bookie_status": _bookie_status,
    "metadata/layout.LAYOUT_RECORD": _layout,
    "metadata/layout.INSTANCE_ID_RECORD": lambda case: _is(case.fields["instance_id"].encode("ascii"), case),
    "metadata/ledger.RECORD": _ledger_record,
    "entry/digest.master_key": lambda case: _is(master_key(_of_hex(case, "password")), case),
    "entry/digest.MAC": lambda case: _is(hashlib.sha1(b"mac" + _of_hex(case, "password")).digest(), case),
    "entry/digest.CRC32": lambda case: _is(compute(CRC32, b"", _of_hex(case, "covered"))[4:], case),
    "entry/digest.CRC32C": lambda case: _is(compute(CRC32C, b"", _of_hex(case, "covered")), case),
}
"""By spec: the check of a vector that is no construct and no message, or more than one."""
