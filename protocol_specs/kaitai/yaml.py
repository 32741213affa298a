"""Just enough YAML to write a ``.ksy`` file: mappings, lists, texts and numbers."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN = re.compile(r"[A-Za-z_][\w.-]*")
NOT_TEXT = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Words that some YAML reader takes for something else."""


def write(value: Mapping[str, Any]) -> str:
    """Return a mapping as YAML."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _member(f"{_scalar(key)}:", each)
    else:
        for each in value:
            first, *others = _lines(each) if isinstance(each, Mapping) else [_scalar(each)]
            yield f"- {first}"
            yield from (f"  {line}" for line in others)


def _member(start: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list) and value:
        yield start
        yield from (f"  {line}" for line in _lines(value))
    elif isinstance(value, list):
        yield f"{start} []"
    else:
        yield f"{start} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if PLAIN.fullmatch(text) and text.lower() not in NOT_TEXT:
        return text
    return json.dumps(text, ensure_ascii=False)
