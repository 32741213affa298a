"""Lists of entries, as LIST_ENTRIES replies carry them (docs/protocol/entry-list.md)."""

from typing import Any

from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.readable.fixed import read_fixed
from protocol_specs.readable.shown import Sheet
from protocol_specs.wire import entry_list

_NAME = "list of entries"
_HEADER = codecs.derive(_NAME, entry_list.HEADER)
_GROUP = codecs.derive(_NAME, entry_list.GROUP)

RANGES_SHOWN = 8
"""How many ranges of entries are written out in words; all groups are shown in any case."""


def read_entry_list(sheet: Sheet, data: bytes, start: int, end: int) -> None:
    """Read a list of entries; raises :class:`Malformed` where it breaks off, and for groups that make no sense."""
    values = read_fixed(sheet, _HEADER, data, start, end, {})
    if values["version"] != entry_list.VERSION:
        raise Malformed(_NAME, "version", start, f"version {values['version']} is unknown")
    if values["group_count"] < 0:
        at = start + _HEADER.offsets["group_count"]
        raise Malformed(_NAME, "group_count", at, f"has no {values['group_count']} groups")
    at, behind, count, stretches = start + _HEADER.size, 0, 0, list[str]()
    for index in range(values["group_count"]):
        if at == end:
            raise Malformed(_NAME, "groups", at, f"ends after {index} of {values['group_count']} groups")
        with sheet.part(f"groups[{index}]", at, _GROUP.size) as part:
            group = read_fixed(part, _GROUP, data, at, end, {})
            _refuse(group, behind, at)
        behind = max(_end(group), group["first_sequence_start"] + 1)
        count += _sequence_count(group) * group["sequence_size"]
        stretches += _first_stretches(group, RANGES_SHOWN + 1 - len(stretches))
        at += _GROUP.size
    if at < end:
        sheet.add("ignored", at, end - at, data[at:end])
    more = ["…"] if len(stretches) > RANGES_SHOWN else []
    sheet.add("entries", start, end - start, count, ", ".join(stretches[:RANGES_SHOWN] + more))


def _end(group: dict[str, Any]) -> int:
    return int(group["last_sequence_start"] + group["sequence_size"])


def _sequence_count(group: dict[str, Any]) -> int:
    period = group["sequence_period"]
    return (group["last_sequence_start"] - group["first_sequence_start"]) // period + 1 if period else 1


def _first_stretches(group: dict[str, Any], most: int) -> list[str]:
    """Write out the first sequences of a group; it may stand for too many to list them all."""
    size = group["sequence_size"]
    starts = range(group["first_sequence_start"], group["last_sequence_start"] + 1, group["sequence_period"] or 1)
    return [str(at) if size == 1 else f"{at}-{at + size - 1}" for at in starts[: max(most, 0)]] if size else []


def _refuse(group: dict[str, Any], behind: int, at: int) -> None:
    """Raise :class:`Malformed` if this group is wrong in itself, or starts before the id ``behind``."""
    first, last, size, period = group.values()
    wrong: tuple[str, str] | None = None
    if first < behind:
        wrong = ("first_sequence_start", f"starts at {first}, before {behind}: out of order or overlapping")
    elif size < 0:
        wrong = ("sequence_size", f"a sequence of {size} entries")
    elif last < first:
        wrong = ("last_sequence_start", f"last sequence at {last}, before the first at {first}")
    elif _end(group) - 1 > fields.ENTRY_ID_MAX:
        wrong = ("last_sequence_start", f"{size} entries from {last} on: the last has no id")
    elif (last > first or period) and period <= size:
        wrong = ("sequence_period", f"sequences of {size} at a distance of {period}: they overlap")
    elif period and (last - first) % period:
        wrong = ("last_sequence_start", f"no sequence starts at {last}, {period} apart from {first}")
    if wrong is not None:
        raise Malformed(_NAME, wrong[0], at + _GROUP.offsets[wrong[0]], wrong[1])
