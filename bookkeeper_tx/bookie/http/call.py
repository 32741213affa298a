"""A request to an endpoint: its method, its parameters, its body."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, FAILED, Refused
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import LedgerId

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")

BAD_JSON: Final = "Failed to deserialize Object from Json string"
"""What Java says of a body that is no JSON object."""


@frozen
class Call:
    """One request.  What is wrong with a parameter is answered with 500, as Java does."""

    method: str
    parameters: Mapping[str, str]
    body: str = ""
    """Empty if there is none."""

    def flag(self, name: str) -> bool:
        """Tell whether a parameter is ``true``."""
        return self.parameters.get(name) == "true"

    def integer(self, name: str, default: int) -> int:
        """Return a parameter of 64 bits, or ``default``; raises Refused."""
        text = self.parameters.get(name)
        if text is None:
            return default
        if not _INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
            raise Refused(FAILED, f"{name}={text} is no integer of 64 bits")
        return int(text)

    @property
    def ledger_id(self) -> LedgerId:
        """The id in ``ledger_id`` and ``ledger_scope_id``, which is 0 if it is not given; raises Refused."""
        scope_id, ledger_id = self.integer("ledger_scope_id", 0), self.integer("ledger_id", -1)
        try:
            return LedgerId(ledger_id, scope_id)
        except InvalidArgument as error:
            raise Refused(FAILED, str(error)) from None

    def json_body(self, status: int = FAILED, prefix: str = "") -> dict[str, Any]:
        """Return the object in the body; raises Refused, with ``status`` and Java's words after ``prefix``."""
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        except RecursionError:
            raise Refused(BAD_REQUEST, f"{prefix}the body has too many objects or arrays within each other") from None
        if not isinstance(value, dict):
            raise Refused(status, prefix + BAD_JSON)
        return value
