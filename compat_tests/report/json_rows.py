"""JSON with one item a line: small, and ``diff`` shows the items in which two versions differ."""

import json
from collections.abc import Iterable, Mapping
from typing import Any


def json_rows(data: Mapping[str, Any]) -> str:
    """Return a JSON object with a line for each value, or for each item of a value that is a list or an object."""
    return f"{{\n{_join(f'{_dump(name)}: {_value(value)}' for name, value in data.items())}\n}}\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and value:
        return f"{{\n{_join(f' {_dump(name)}: {_dump(item)}' for name, item in value.items())}\n}}"
    if isinstance(value, list) and value:
        return f"[\n{_join(f' {_dump(item)}' for item in value)}\n]"
    return _dump(value)


def _join(lines: Iterable[str]) -> str:
    return ",\n".join(lines)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
