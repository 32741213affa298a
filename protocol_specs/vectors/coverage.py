"""Finds declarations, and fields of messages, that no vector shows."""

from collections.abc import Iterable, Iterator
from typing import Any

import construct
from google.protobuf.message import Message

from protocol_specs.declarations import Declaration, all_of_them
from protocol_specs.disk import entry_log, ledger_index
from protocol_specs.metadata import formats_pb2, ledger
from protocol_specs.vectors.cases import Case, by_name
from protocol_specs.vectors.verify import FRAMED
from protocol_specs.wire import entry_list, framing

CARRIED = {
    "GetListOfEntriesOfLedgerResponse": entry_list.ENTRY_LIST,
    "LedgerMetadata": ledger.BINARY_BODY,
}
"""By message: the construct that it carries, or that it stands in."""

REPEATED = [(entry_log.LOCATION, ledger_index.PAGE)]
"""Pairs of a declaration and one that only repeats it, for 8 KiB: a vector of the first shows the second too."""


def uncovered(cases: Iterable[Case]) -> list[str]:
    """Return the names of the declarations that no vector shows, neither as a whole nor as a part of another."""
    declared, shown, messages = by_name(), list[Any](), set[str]()
    for case in cases:
        messages.update(each.DESCRIPTOR.full_name for each in _messages(case))
        if case.spec in declared:
            shown.append(declared[case.spec].value)
    shown += [whole for name, whole in CARRIED.items() if any(each.endswith(f".{name}") for each in messages)]
    shown += [page for part, page in REPEATED if part in shown]
    return [each.name for each in all_of_them() if not _is_shown(each, shown, messages)]


def unset_fields(cases: Iterable[Case]) -> list[str]:
    """Return the fields of messages that no vector sets."""
    seen = {field.full_name for case in cases for message in _messages(case) for field, _ in message.ListFields()}
    fields = (field for each in all_of_them() if each.is_message for field in each.value.DESCRIPTOR.fields)
    return [field.full_name for field in fields if field.full_name not in seen]


def _is_shown(declaration: Declaration, shown: list[Any], messages: set[str]) -> bool:
    if declaration.is_message:
        return declaration.value.DESCRIPTOR.full_name in messages
    return any(_has(whole, declaration.value) for whole in shown)


def _has(whole: Any, part: Any) -> bool:
    """Return whether ``part`` is ``whole``, a run of its fields, or an element that one of them repeats."""
    if whole is part:
        return True
    fields, wanted = _layout(whole), _layout(part)
    if wanted and any(fields[at : at + len(wanted)] == wanted for at in range(len(fields))):
        return True
    inner = [_bare(subcon) for subcon in getattr(whole, "subcons", ())]
    return any(_has(_bare(each.subcon), part) for each in inner if isinstance(each, construct.Array))


def _layout(declaration: Any) -> list[tuple[str, Any]]:
    return [(subcon.name, _bare(subcon)) for subcon in getattr(declaration, "subcons", ())]


def _bare(subcon: Any) -> Any:
    while isinstance(subcon, construct.Renamed):
        subcon = subcon.subcon
    return subcon


def _messages(case: Case) -> Iterator[Message]:
    """Yield the message of a vector, and all messages inside it."""
    declared = by_name().get(case.spec)
    if case.spec == "metadata/ledger.RECORD":
        parts = ledger.RECORD.parse(case.data)
        if int(parts.format_version) == ledger.BINARY_PROTOBUF:
            yield from _inside(formats_pb2.LedgerMetadata.FromString(ledger.BINARY_BODY.parse(parts.body)))
    elif declared is not None and declared.is_message:
        body = framing.FRAME.parse(case.data).body if case.spec in FRAMED else case.data
        yield from _inside(declared.value.FromString(body))


def _inside(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for each in value if field.is_repeated else [value]:
            yield from _inside(each)
