"""Golden bytes, as JSON so that any language can use them.

Each file is a list.  A message is ``name``, ``spec`` (the declaration, as in ``wire/v2.READ_REQUEST_FRAME``), ``hex``,
``fields`` (decoded; byte strings in hex, enums as numbers) and ``provenance``.  An exchange with a bookie has ``name``
and ``provenance``; for the request it has the frame in hex (``request``), ``request_spec`` and ``request_fields``, for
the reply ``reply``, ``reply_spec`` and ``reply_fields``.  Frames include their length word.
"""

import json
from importlib.resources import files
from typing import Any


def load(name: str) -> list[dict[str, Any]]:
    """Return the vectors of the file ``name``: wire, entry, disk or metadata."""
    vectors: list[dict[str, Any]] = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return vectors
