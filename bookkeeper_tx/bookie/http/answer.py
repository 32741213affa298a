"""What an endpoint answers."""

import json
from typing import Any, Final

from attrs import frozen

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"

OK: Final = 200
BAD_REQUEST: Final = 400
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
METHOD_NOT_ALLOWED: Final = 405
TOO_LARGE: Final = 413
FAILED: Final = 500
UNAVAILABLE: Final = 503


@frozen
class Answer:
    """A status and a body."""

    body: str | bytes
    """Bytes are UTF-8."""
    status: int = OK
    content_type: str = TEXT


class Refused(Exception):
    """A request is not carried out; status and reason are the answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.answer = Answer(reason, status)


def json_text(value: Any) -> str:
    """Return ``value`` in JSON, with the spaces that Java puts into it."""
    return json.dumps(value, indent=2, separators=(",", " : "), ensure_ascii=False)


def json_answer(value: Any, status: int = OK) -> Answer:
    """Answer ``value`` in JSON."""
    return Answer(json_text(value), status, JSON)
