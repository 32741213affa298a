"""``/api/v1/bookie/state/readonly``: an operator makes the bookie read-only, and writable again."""

from typing import Any

from bookkeeper_tx.bookie.availability import ModeFixed
from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, FAILED, NOT_FOUND, Answer, Refused, json_answer
from bookkeeper_tx.bookie.http.call import BAD_JSON, Call

_FIXED = {
    False: "Bookie is in forceReadOnly mode, cannot transit to writable mode",
    True: "Bookie is disabled ReadOnly mode, cannot transit to readOnly mode",
}
"""Java's words when the configuration does not allow what is wanted."""

_VALUES = {True: True, False: False, "true": True, "false": False}


async def state_readonly(call: Call, bookie: Administered) -> Answer:
    availability = bookie.availability
    if call.method == "PUT":
        wanted = _wanted(call.json_body())
        try:
            availability.set_manual(wanted)  # also if a disk has made it so: that passes, and what is wanted stays
        except ModeFixed:
            return Answer(_FIXED[wanted], BAD_REQUEST)
    elif call.method != "GET":
        return Answer("Unsupported method. Should be GET or PUT method", NOT_FOUND)
    return json_answer({"readOnly": availability.read_only})


def _wanted(body: dict[str, Any]) -> bool:
    """Return what the body asks for; one that does not say so asks for a writable bookie, as with Java."""
    value = body.get("readOnly", False)
    if body.keys() - {"readOnly"} or not isinstance(value, bool | str) or value not in _VALUES:
        raise Refused(FAILED, f'{BAD_JSON}: it is {{"readOnly": true}} or {{"readOnly": false}}')
    return _VALUES[value]
