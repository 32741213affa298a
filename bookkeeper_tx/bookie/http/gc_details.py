"""``/api/v1/bookie/gc_details``: what the garbage collection has done."""

from typing import Any, Final

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.http.garbage import GarbageStatus

NEVER_MS: Final = 0


async def gc_details(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer(
            "Only support GET method to retrieve GC details."
            " If you want to trigger gc, send a POST to gc endpoint.",  # Java's words; it is a PUT
            NOT_FOUND,
        )
    garbage = bookie.garbage
    return json_answer([] if garbage is None else list(map(_details, garbage.statuses)))


def _details(status: GarbageStatus) -> dict[str, Any]:
    return {
        "forceCompacting": status.forced,
        "majorCompacting": status.major_running,
        "minorCompacting": status.minor_running,
        "lastMajorCompactionTime": _milliseconds(status.last_major_s),
        "lastMinorCompactionTime": _milliseconds(status.last_minor_s),
        "lastEntryLocationCompactionTime": NEVER_MS,
        "majorCompactionCounter": status.major_count,
        "minorCompactionCounter": status.minor_count,
        "entryLocationCompactionCounter": 0,
    }


def _milliseconds(when_s: float | None) -> int:
    return NEVER_MS if when_s is None else int(when_s * 1000)
