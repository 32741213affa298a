"""The records of logs in the metadata store: JSON, which begins with the format that it has."""

import json
from typing import Any, Final

FORMAT_VERSION: Final = 1


def packed(parts: dict[str, Any]) -> bytes:
    """Return the record of these parts."""
    return json.dumps({"format": FORMAT_VERSION, **parts}, separators=(",", ":")).encode()


def unpacked(record: bytes) -> dict[str, Any]:
    """Return the parts of a record; raises ValueError, KeyError for one without a format."""
    parts = json.loads(record)
    if not isinstance(parts, dict):
        raise ValueError("it is no JSON object")
    found = parts.pop("format")
    if found != FORMAT_VERSION:
        raise ValueError(f"it has format {found!r}, this program knows {FORMAT_VERSION}")
    return parts
