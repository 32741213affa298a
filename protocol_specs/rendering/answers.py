"""The tables of answers in Markdown (``protocol_specs/wire/answers``)."""

from protocol_specs.rendering.tables import table
from protocol_specs.wire.answers.row import Answer, Row
from protocol_specs.wire.answers.tables import ROWS, TABLES, to_a_fenced_ledger


def answers(name: str) -> str:
    """Return a table of answers."""
    declared = TABLES[name]
    rows = [[line.text, *map(_cell, line.answers)] for line in declared.lines]
    return table([declared.head, *(column.title for column in declared.columns)], rows)


def column(name: str) -> str:
    """Return one column of a table of answers, as in ``read-entry fencing``; the state after it has its own column."""
    of, slug = name.split(" ")
    rows = [row for row in ROWS.values() if (row.table.name, row.column.slug) == (of, slug)]
    if not rows:
        raise KeyError(name)
    return table(["state", "answer", "afterwards"], [[row.line.text, _status(row.answer), _after(row)] for row in rows])


def fenced() -> str:
    """Return the table of the answers to requests to a fenced ledger."""
    rows = [[_asked(row), ", ".join(row.dialects), _cell(row.answer)] for row in to_a_fenced_ledger()]
    return table(["request to a fenced ledger", "protocol version", "answer"], rows)


def _cell(answer: Answer | None) -> str:
    if answer is None:
        return ""
    if answer.says:
        return answer.says
    return ": ".join(filter(None, [_status(answer), ", ".join(effect.value for effect in answer.effects)]))


def _status(answer: Answer) -> str:
    return answer.status.name if answer.status else "closed"


def _after(row: Row) -> str:
    return ", ".join(effect.value for effect in row.answer.effects)


def _asked(row: Row) -> str:
    request = row.request
    words = [
        "recovery" * request.recovery,
        "fencing" * request.fencing,
        request.operation.value,
        request.entry.value if request.operation.value in ("add", "read", "batch read") else "",
        "with high priority" * request.high_priority,
    ]
    return " ".join(filter(None, words))
