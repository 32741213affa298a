"""``/api/v1/bookie/gc/suspend_compaction``: suspends major or minor compaction, and tells whether they are."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, FAILED, NOT_FOUND, Answer, Refused, json_answer
from bookkeeper_tx.bookie.http.call import Call


async def suspend_compaction(call: Call, bookie: Administered) -> Answer:
    garbage = bookie.garbage
    if call.method == "PUT":
        major, minor = asked_for(call, "suspendMajor", "suspendMinor")
        if garbage is not None:
            garbage.suspend(major=major, minor=minor)
        return json_answer(told("Suspend", major, minor, bookie))
    if call.method == "GET":
        minor = garbage is not None and garbage.status.minor_suspended
        major = garbage is not None and garbage.status.major_suspended
        return json_answer({"isMinorGcSuspended": str(minor).lower(), "isMajorGcSuspended": str(major).lower()})
    return Answer(
        "Not found method. Should be PUT to suspend major or minor compaction, Or GET to get compaction state.",
        NOT_FOUND,
    )


def asked_for(call: Call, major: str, minor: str) -> tuple[bool, bool]:
    """Return what the body says of major and of minor compaction; raises Refused unless it says something."""
    if not call.body:
        raise Refused(BAD_REQUEST, "Empty request body")
    body = call.json_body()
    values = body.get(major), body.get(minor)
    if values == (None, None):
        raise Refused(BAD_REQUEST, f"No {major} or {minor} params found")
    if not all(isinstance(value, bool | None) for value in values):
        raise Refused(FAILED, f"{major} and {minor} are true or false")
    return bool(values[0]), bool(values[1])


def told(what: str, major: bool, minor: bool, bookie: Administered) -> str:
    """Return Java's sentence about what was done."""
    of_major = f"{what} majorGC on BookieServer: {bookie.name}" if major else ""
    return of_major + (f", {what} minorGC on BookieServer: {bookie.name}" if minor else "")
