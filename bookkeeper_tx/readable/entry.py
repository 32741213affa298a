"""Entries, explicit last adds confirmed, and lists of entries, as frames carry them (docs/protocol/entry.md)."""

from collections.abc import Callable, Mapping
from typing import Any

from bookkeeper_tx.entry_list import GROUP, HEADER, EntryList
from bookkeeper_tx.readable import meanings
from bookkeeper_tx.readable.shown import Sheet
from bookkeeper_tx.readable.verdicts import Verdicts
from protocol_specs import codecs
from protocol_specs.codecs import Codec, Malformed
from protocol_specs.entry import v1, v2, version
from protocol_specs.ledger_id import join

_ENTRY_V1 = codecs.derive("entry of format V1", v1.ENTRY_METADATA)
_ENTRY_V2 = codecs.derive("entry of format V2", v2.ENTRY_METADATA)
_LAC_V1 = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)
_LAC_V2 = codecs.derive("explicit last add confirmed of format V2", v2.LAC_METADATA)


def read_fixed(
    sheet: Sheet, codec: Codec, data: bytes, start: int, end: int, say: Mapping[str, Callable[[Any], str]]
) -> dict[str, Any]:
    """Read the fixed fields of ``codec`` into ``sheet`` as far as there are bytes, and return their values.

    Raises :class:`Malformed` for the field that is cut short.
    """
    values: dict[str, Any] = {}
    for (name, at), subcon in zip(codec.offsets.items(), codec.declaration.subcons, strict=False):
        size, offset = subcon.sizeof(), start + at
        if offset + size > end:
            raise Malformed(codec.name, name, offset, f"needs {size} bytes, has {max(end - offset, 0)}")
        value = values[name] = subcon.parse(data[offset : offset + size])
        sheet.add(name, offset, size, value, say[name](value) if name in say else "")
    return values


def read_entry(sheet: Sheet, data: bytes, start: int, end: int, verdicts: Verdicts) -> None:
    """Read the entry in ``data[start:end]``, of either format; raises :class:`Malformed`."""
    codec = _format(data, start, end, _ENTRY_V1, _ENTRY_V2)
    values = read_fixed(sheet, codec, data, start, end, _saying(codec))
    _refuse_scope_0(codec, values, start)
    ledger_id, entry_id, last_add_confirmed = _ledger_id(values), values["entry_id"], values["last_add_confirmed"]
    verdict = verdicts.of(
        data[start:end],
        codec.size,
        lambda digest, payload: digest.seal(ledger_id, entry_id, last_add_confirmed, values["length"], payload),
        _own_digest(values),
    )
    _read_sealed(sheet, data, start + codec.size, end, verdict.size, verdict.meaning, "payload")


def read_explicit_lac(sheet: Sheet, data: bytes, start: int, end: int, verdicts: Verdicts) -> None:
    """Read the body of a WRITE_LAC request; raises :class:`Malformed`."""
    codec = _format(data, start, end, _LAC_V1, _LAC_V2)
    values = read_fixed(sheet, codec, data, start, end, _saying(codec))
    _refuse_scope_0(codec, values, start)
    ledger_id, last_add_confirmed = _ledger_id(values), values["last_add_confirmed"]
    verdict = verdicts.of(
        data[start:end],
        codec.size,
        lambda digest, _: digest.seal_last_add_confirmed(ledger_id, last_add_confirmed),
        _own_digest(values),
    )
    _read_sealed(sheet, data, start + codec.size, end, verdict.size, verdict.meaning, "ignored")


def read_entry_list(sheet: Sheet, data: bytes, start: int, end: int) -> None:
    """Read a list of entries; raises :class:`Malformed`."""
    values = read_fixed(sheet, HEADER, data, start, end, {})
    at = start + HEADER.size
    for index in range(values["group_count"]):
        if at == end:
            raise Malformed("list of entries", "groups", at, f"ends behind {index} of {values['group_count']} groups")
        with sheet.part(f"groups[{index}]", at, GROUP.size) as group:
            read_fixed(group, GROUP, data, at, end, {})
        at += GROUP.size
    if at < end:
        sheet.add("ignored", at, end - at, data[at:end])
    try:
        entries = EntryList.decode(data[start:end])
    except Malformed as error:
        raise Malformed(error.spec, error.field, start + error.offset, error.reason) from None
    sheet.add("entries", start, end - start, len(entries), _ranges(entries))


RANGES_SHOWN = 8
"""Stretches of entries that are written out in words; all groups are shown in any case."""


def _ranges(entries: EntryList) -> str:
    shown = []
    for index, each in enumerate(entries.ranges()):
        if index == RANGES_SHOWN:
            shown.append("…")
            break
        shown.append(str(each.start) if len(each) == 1 else f"{each.start}-{each.stop - 1}")
    return ", ".join(shown)


def _format(data: bytes, start: int, end: int, of_v1: Codec, of_v2: Codec) -> Codec:
    try:
        return of_v2 if version.is_v2(data[start : min(start + 1, end)]) else of_v1
    except Malformed as error:
        raise Malformed(error.spec, error.field, start + error.offset, error.reason) from None


def _refuse_scope_0(codec: Codec, values: dict[str, Any], start: int) -> None:
    if values.get("ledger_scope_id") == 0:
        offset = start + codec.offsets["ledger_scope_id"]
        raise Malformed(codec.name, "ledger_scope_id", offset, "scope 0 has format V1 only")


def _saying(codec: Codec) -> Mapping[str, Callable[[Any], str]]:
    if codec in (_ENTRY_V1, _LAC_V1):
        return meanings.ENTRY
    return {**meanings.ENTRY, "flags": _say_flags}


def _say_flags(flags: int) -> str:
    return f"format V2, digest type {flags & v2.DIGEST_MASK}"


def _ledger_id(values: dict[str, Any]) -> int:
    return join(values.get("ledger_scope_id", 0), values["ledger_id"])


def _own_digest(values: dict[str, Any]) -> int | None:
    return values["flags"] & v2.DIGEST_MASK if "flags" in values else None


def _read_sealed(sheet: Sheet, data: bytes, at: int, end: int, size: int | None, meaning: str, behind: str) -> None:
    if size is None:
        sheet.add("digest_and_payload" if behind == "payload" else "digest", at, end - at, data[at:end], meaning)
        return
    sheet.add("digest", at, size, data[at : at + size], meaning)
    if behind == "payload" or at + size < end:
        sheet.add(behind, at + size, end - at - size, data[at + size : end])
