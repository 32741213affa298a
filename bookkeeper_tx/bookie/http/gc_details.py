"""``/api/v1/bookie/gc_details``: the garbage collection of each ledger directory."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call


async def gc_details(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer(
            "Only support GET method to retrieve GC details."
            " If you want to trigger gc, send a POST to gc endpoint.",  # Java's words; it is a PUT
            NOT_FOUND,
        )
    return json_answer(
        [
            {
                "forceCompacting": status.force_compacting,
                "majorCompacting": status.major_compacting,
                "minorCompacting": status.minor_compacting,
                "lastMajorCompactionTime": status.last_major_compaction_ms,
                "lastMinorCompactionTime": status.last_minor_compaction_ms,
                "lastEntryLocationCompactionTime": status.last_entry_location_compaction_ms,
                "majorCompactionCounter": status.major_compaction_count,
                "minorCompactionCounter": status.minor_compaction_count,
                "entryLocationCompactionCounter": status.entry_location_compaction_count,
            }
            for status in bookie.garbage.statuses()
        ]
    )
