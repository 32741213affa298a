"""``/api/v1/bookie/gc/resume_compaction``: resumes major or minor compaction."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.http.suspend_compaction import asked_for, told


async def resume_compaction(call: Call, bookie: Administered) -> Answer:
    if call.method != "PUT":
        return Answer(
            "Not found method. Should be PUT to resume major or minor compaction, Or GET to get compaction state.",
            NOT_FOUND,
        )
    major, minor = asked_for(call, "resumeMajor", "resumeMinor")
    if bookie.garbage is not None:
        bookie.garbage.resume(major=major, minor=minor)
    return json_answer(told("Resume", major, minor, bookie))
