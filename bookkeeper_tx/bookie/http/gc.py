"""``/api/v1/bookie/gc``: begins a garbage collection, and tells whether one that was asked for is under way."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, METHOD_NOT_ALLOWED, Answer, Refused, json_answer
from bookkeeper_tx.bookie.http.call import Call

_FAILED = "Failed to handle the request, exception: "


async def gc(call: Call, bookie: Administered) -> Answer:
    if call.method == "PUT":
        _force(call, bookie)
        return json_answer(f"Triggered GC on BookieServer: {bookie.bookie_id}")
    if call.method == "GET":
        forced = any(status.force_compacting for status in bookie.garbage.statuses())
        return json_answer({"is_in_force_gc": str(forced).lower()})
    return Answer("Not allowed method. Should be PUT to trigger GC, Or GET to get Force GC state.", METHOD_NOT_ALLOWED)


def _force(call: Call, bookie: Administered) -> None:
    """Begin what the body asks for: of a kind that it does not name, unless that is suspended."""
    garbage = bookie.garbage
    body = call.json_body(BAD_REQUEST, _FAILED) if call.body.strip() else {}
    wanted = {"forceMajor": not garbage.major_suspended, "forceMinor": not garbage.minor_suspended, **body}
    if None in (wanted["forceMajor"], wanted["forceMinor"]):
        raise Refused(BAD_REQUEST, f"{_FAILED}forceMajor and forceMinor are true or false, not null")
    garbage.force(_is_true(wanted["forceMajor"]), _is_true(wanted["forceMinor"]))


def _is_true(value: object) -> bool:
    return str(value).lower() == "true"
