"""``/api/v1/bookie/gc``: begins a garbage collection, and tells whether one that was asked for waits or goes on."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, METHOD_NOT_ALLOWED, Answer, Refused, json_answer
from bookkeeper_tx.bookie.http.call import Call

_FAILED = "Failed to handle the request, exception: "


async def gc(call: Call, bookie: Administered) -> Answer:
    garbage = bookie.garbage
    if call.method == "PUT":
        major, minor = _asked_for(call)
        if garbage is not None:
            garbage.force(major, minor)
        return json_answer(f"Triggered GC on BookieServer: {bookie.bookie_id}")
    if call.method == "GET":
        forced = garbage is not None and garbage.status.forced
        return json_answer({"is_in_force_gc": str(forced).lower()})
    return Answer("Not allowed method. Should be PUT to trigger GC, Or GET to get Force GC state.", METHOD_NOT_ALLOWED)


def _asked_for(call: Call) -> tuple[bool | None, bool | None]:
    """Return what the body says of major and of minor compaction; None for what it does not name."""
    body = call.json_body(BAD_REQUEST, _FAILED) if call.body.strip() else {}
    if None in (body.get("forceMajor", ""), body.get("forceMinor", "")):
        raise Refused(BAD_REQUEST, f"{_FAILED}forceMajor and forceMinor are true or false, not null")
    major, minor = (
        str(body[name]).lower() == "true" if name in body else None for name in ("forceMajor", "forceMinor")
    )
    return major, minor
