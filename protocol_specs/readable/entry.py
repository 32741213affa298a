"""Entries and explicit last adds confirmed, as frames carry them (docs/protocol/entry.md)."""

from collections.abc import Callable, Mapping
from typing import Any

from protocol_specs import codecs
from protocol_specs.codecs import Codec, Malformed
from protocol_specs.entry import v1, v2, version
from protocol_specs.readable import meanings
from protocol_specs.readable.fixed import read_fixed
from protocol_specs.readable.shown import Sheet
from protocol_specs.readable.verdicts import Verdicts

_ENTRY_V1 = codecs.derive("entry of format V1", v1.ENTRY_METADATA)
_ENTRY_V2 = codecs.derive("entry of format V2", v2.ENTRY_METADATA)
_LAC_V1 = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)
_LAC_V2 = codecs.derive("explicit last add confirmed of format V2", v2.LAC_METADATA)


def read_entry(sheet: Sheet, data: bytes, start: int, end: int, verdicts: Verdicts) -> None:
    """Read the entry in ``data[start:end]``, of either format; raises :class:`Malformed`."""
    codec = _format(data, start, end, _ENTRY_V1, _ENTRY_V2)
    values = read_fixed(sheet, codec, data, start, end, _saying(codec))
    _refuse_scope_0(codec, values, start)
    verdict = verdicts.of(data[start : start + codec.size], data[start + codec.size : end], _own_digest(values))
    _read_sealed(sheet, data, start + codec.size, end, verdict.size, verdict.meaning, "payload")


def read_explicit_lac(sheet: Sheet, data: bytes, start: int, end: int, verdicts: Verdicts) -> None:
    """Read the body of a WRITE_LAC request; raises :class:`Malformed`."""
    codec = _format(data, start, end, _LAC_V1, _LAC_V2)
    values = read_fixed(sheet, codec, data, start, end, _saying(codec))
    _refuse_scope_0(codec, values, start)
    metadata, rest = data[start : start + codec.size], data[start + codec.size : end]
    verdict = verdicts.of(metadata, rest, _own_digest(values), with_payload=False)
    _read_sealed(sheet, data, start + codec.size, end, verdict.size, verdict.meaning, "ignored")


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


def _own_digest(values: dict[str, Any]) -> int | None:
    return values["flags"] & v2.DIGEST_MASK if "flags" in values else None


def _read_sealed(sheet: Sheet, data: bytes, at: int, end: int, size: int | None, meaning: str, behind: str) -> None:
    if size is None:
        sheet.add("digest_and_payload" if behind == "payload" else "digest", at, end - at, data[at:end], meaning)
        return
    sheet.add("digest", at, size, data[at : at + size], meaning)
    if behind == "payload" or at + size < end:
        sheet.add(behind, at + size, end - at - size, data[at + size : end])
