"""The ``.ksy`` files: types made from the declarations, and the structure around them."""

from typing import Any

from protocol_specs.disk import entry_log, journal, meta_entries
from protocol_specs.entry import v1, v2
from protocol_specs.entry.digest import DIGESTS
from protocol_specs.kaitai.types import Attribute, Type, type_of
from protocol_specs.wire import v2 as frames
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import STATUSES

RECORD: Type = {"seq": [{"id": "length", "type": "s4"}, {"id": "body", "size": "length"}]}

FIRST_BYTE: Attribute = {"pos": 0, "type": "u1"}
IS_V2 = f"(first_byte & {v2.NOT_V1:#x}) != 0"


def _file(name: str, title: str, doc: str, **parts: Any) -> dict[str, Any]:
    meta = {"id": name, "title": title, "license": "Apache-2.0", "endian": "be", "bit-endian": "be"}
    return {"meta": meta, "doc": doc, **parts}


def v2_frames() -> dict[str, Any]:
    """V2 frames, one direction of a connection."""
    requests = {
        "add_entry": ("add_request", frames.ADD_REQUEST),
        "read_entry": ("read_request", frames.READ_REQUEST),
        "batch_read_entry": ("batch_read_request", frames.BATCH_READ_REQUEST),
        "auth": ("auth", frames.AUTH),
    }
    replies = {
        "add_entry": ("add_reply", frames.ADD_REPLY),
        "read_entry": ("read_reply", frames.READ_REPLY),
        "batch_read_entry": ("batch_read_reply", frames.BATCH_READ_REPLY),
        "auth": ("auth", frames.AUTH),
    }
    made = {name: type_of(form.subcons, repeated={"entries": "record"}) for name, form in requests.values()}
    made |= {name: type_of(form.subcons, repeated={"entries": "record"}) for name, form in replies.values()}
    for each in made.values():
        for attribute in each["seq"]:
            if attribute["id"] == "status":
                attribute["enum"] = "status"
    cases = {"true": "reply", "false": "request"}
    packet = {"id": "packet", "size": "length", "type": {"switch-on": "_root.is_reply", "cases": cases}}
    frame: Type = {"seq": [*type_of([frames.FRAME_LENGTH])["seq"], packet]}
    types = {"frame": frame, "request": _packet(requests), "reply": _packet(replies), **made, "record": RECORD}
    return _file(
        "bookkeeper_v2",
        "BookKeeper, frames of the V2 protocol",
        "One direction of a connection.  The message of an AUTH packet is protobuf: AuthMessage in v3.proto.",
        params=[{"id": "is_reply", "type": "bool", "doc": "whether these came from the bookie"}],
        seq=[{"id": "frames", "type": "frame", "repeat": "eos"}],
        types=types,
        enums={
            "operation": {int(each): each.name.lower() for each in Operation},
            "status": {each.v2: each.name.lower() for each in STATUSES},
        },
    )


def _packet(messages: dict[str, tuple[str, Any]]) -> Type:
    cases = {f"operation::{operation}": name for operation, (name, _) in messages.items()}
    in_version_0, later = "header & 0xff", "(header >> 16) & 0xff"
    return {
        "seq": [{"id": "message", "type": {"switch-on": "operation", "cases": cases}}],
        "instances": {
            "header": {"pos": 0, "type": "u4"},
            "version": {"value": "header >> 24"},
            "operation": {"value": f"(header >> 24) == 0 ? ({in_version_0}) : ({later})", "enum": "operation"},
            "flags": {"value": "(header >> 24) == 0 ? 0 : (header & 0xffff)"},
        },
    }


def entry() -> dict[str, Any]:
    """One entry of either format."""
    sizes = [f"digest_type == {each.number} ? {each.size} : " for each in DIGESTS]
    by_type = {
        "digest_type": {"value": f"flags & {v2.DIGEST_MASK:#x}"},
        "digest_size": {"value": f"{''.join(sizes)}0"},
    }
    of_v1 = type_of(v1.ENTRY_METADATA.subcons)
    of_v1["seq"] += [{"id": "digest", "size": "_root.digest_size_of_v1"}, {"id": "payload", "size-eos": True}]
    of_v2 = type_of(v2.ENTRY_METADATA.subcons)
    of_v2["seq"][0]["valid"] = {"expr": f"(_ & {v2.VERSION_MASK:#x}) == {v2.VERSION:#x}"}
    of_v2["seq"] += [{"id": "digest", "size": "digest_size"}, {"id": "payload", "size-eos": True}]
    of_v2["instances"] = by_type
    return _file(
        "bookkeeper_entry",
        "BookKeeper, an entry as it is sent and stored",
        "Format V1, or V2 outside scope 0.  V1 does not say which digest it has; the ledger's metadata does.",
        params=[
            {"id": "digest_size_of_v1", "type": "u4", "doc": "CRC32 8, HMAC 20, CRC32C 4, DUMMY 0; for format V1 only"}
        ],
        seq=[{"id": "content", "type": {"switch-on": "is_v2", "cases": {"true": "v2", "false": "v1"}}}],
        instances={"first_byte": FIRST_BYTE, "is_v2": {"value": IS_V2}},
        types={"v1": of_v1, "v2": of_v2},
    )


def journal_file() -> dict[str, Any]:
    """A journal file of version 5 or later."""
    forms = {
        "entry": (v1.ENTRY_RECORD, v2.ENTRY_RECORD),
        "fence": (meta_entries.FENCE_RECORD, meta_entries.SCOPED_FENCE_RECORD),
        "blob": (meta_entries.BLOB_RECORD, meta_entries.SCOPED_BLOB_RECORD),
    }
    types: dict[str, Type] = {
        "header": type_of(journal.HEADER.subcons),
        "record": {
            "seq": [
                {"id": "length", "type": "s4", "doc": _LENGTH_DOC, "valid": {"expr": _LENGTH_VALID}},
                {"id": "pad", "type": "pad", "if": f"length == {journal.PAD_LENGTH}"},
                {"id": "body", "size": "length", "type": "body", "if": "length > 0"},
            ]
        },
        "pad": _pad(),
        "pad_body": _pad_body(),
        "seal": type_of(journal.SEAL.subcons),
        "body": _journal_body(),
    }
    for name, (plain, scoped) in forms.items():
        types[name] = type_of(plain.subcons[1:])
        types[f"scoped_{name}"] = type_of(scoped.subcons[1:])
    until = f"_io.eof or _.length == {journal.END_OF_LOG}"
    records = {"id": "records", "type": "record", "repeat": "until", "repeat-until": until, "if": "not _io.eof"}
    return _file(
        "bookkeeper_journal",
        "BookKeeper, a journal file",
        "Version 5 or later.  Zeros follow the last record.",
        seq=[{"id": "header", "type": "header", "size": journal.HEADER_SIZE}, records],
        types=types,
        enums={"kind": _KINDS},
    )


_LENGTH_DOC = "0: nothing here, nor after; -256: a pad record"
_LENGTH_VALID = f"_ >= 0 or _ == {journal.PAD_LENGTH}"

_KINDS = {
    meta_entries.LEDGER_KEY: "ledger_key",
    meta_entries.FENCE: "fence",
    meta_entries.EXPLICIT_LAC: "explicit_lac",
    meta_entries.DELETED: "deleted",
}


def _pad() -> Type:
    made = type_of(journal.PAD.subcons[1:])
    made["seq"][1] = {"id": "body", "size": "size", "type": "pad_body", "doc": made["seq"][1]["doc"]}
    return made


def _pad_body() -> Type:
    magics = " or ".join(f"mark == {list(magic)}" for magic in (journal.SEAL_MAGIC, journal.LAZY_SEAL_MAGIC))
    is_seal = f"_io.size >= {journal.SEAL.sizeof()} and ({magics})"
    return {
        "doc": "Java writes zeros and never reads them; bookkeeper_tx puts the seal of the records before it here.",
        "seq": [{"id": "seal", "type": "seal", "if": "is_seal"}, {"id": "rest", "size-eos": True}],
        "instances": {
            "mark": {"pos": 0, "size": len(journal.SEAL_MAGIC)},
            "is_seal": {"value": is_seal},
        },
    }


def _journal_body() -> Type:
    plain_at, scoped_at = (_offset_of_kind(each) for each in (meta_entries.FENCE_RECORD, _SCOPED_FENCE))
    bare = f"kind == {meta_entries.FENCE} or kind == {meta_entries.DELETED}"
    form = f"(kind >= 0 ? 0 : {bare} ? 2 : 4) + (is_scoped ? 1 : 0)"
    names = ("entry", "scoped_entry", "fence", "scoped_fence", "blob", "scoped_blob")
    return {
        "seq": [{"id": "content", "type": {"switch-on": "form", "cases": dict(enumerate(names))}}],
        "instances": {
            "first_byte": FIRST_BYTE,
            "is_scoped": {"value": IS_V2},
            "plain_kind": {"pos": plain_at, "type": "s8"},
            "scoped_kind": {"pos": scoped_at, "type": "s8"},
            "kind": {"value": "is_scoped ? scoped_kind : plain_kind", "doc": "an entry id, or negative: see enum kind"},
            "form": {"value": form},
        },
    }


_SCOPED_FENCE = meta_entries.SCOPED_FENCE_RECORD


def _offset_of_kind(record: Any) -> int:
    """Return the offset of the kind in the body of a record; an entry has its id there."""
    return sum(subcon.sizeof() for subcon in record.subcons[1:-1])


def entry_log_file() -> dict[str, Any]:
    """An entry log."""
    scoped = f"_root.header.version == {entry_log.SCOPED_VERSION}"
    rows = {"ledgers": "ledgers_map_row"}
    types: dict[str, Type] = {
        "header": type_of(entry_log.HEADER.subcons),
        "records": {"seq": [{"id": "records", "type": "record", "repeat": "eos"}]},
        "record": {
            "seq": [
                {"id": "length", "type": "s4"},
                {"id": "body", "size": "length", "type": _either(scoped, "entry", "scoped_entry")},
            ]
        },
        "entry": type_of(v1.ENTRY_RECORD.subcons[1:]),
        "scoped_entry": type_of(v2.ENTRY_RECORD.subcons[1:]),
        "ledgers_map": {
            "seq": [
                {
                    "id": "batches",
                    "type": _either(scoped, "ledgers_map_batch", "scoped_ledgers_map_batch"),
                    "repeat": "eos",
                }
            ]
        },
        "ledgers_map_batch": type_of(entry_log.LEDGERS_MAP_BATCH.subcons, repeated=rows),
        "ledgers_map_row": type_of(entry_log.LEDGERS_MAP_ROW.subcons),
        "scoped_ledgers_map_batch": type_of(
            entry_log.SCOPED_LEDGERS_MAP_BATCH.subcons, repeated={"ledgers": "scoped_ledgers_map_row"}
        ),
        "scoped_ledgers_map_row": type_of(entry_log.SCOPED_LEDGERS_MAP_ROW.subcons),
    }
    header_size = entry_log.HEADER_SIZE
    end = "header.ledgers_map_offset != 0 ? header.ledgers_map_offset : _io.size"
    return _file(
        "bookkeeper_entry_log",
        "BookKeeper, an entry log",
        "Entries of many ledgers, and a map of the ledgers once the log is full.",
        seq=[
            {"id": "header", "type": "header", "size": header_size},
            {"id": "entries", "type": "records", "size": f"({end}) - {header_size}"},
            {"id": "ledgers_map", "type": "ledgers_map", "size-eos": True, "if": "header.ledgers_map_offset != 0"},
        ],
        types=types,
    )


def _either(condition: str, otherwise: str, name: str) -> dict[str, Any]:
    return {"switch-on": condition, "cases": {"true": name, "false": otherwise}}


SOURCES = (v2_frames, entry, journal_file, entry_log_file)
