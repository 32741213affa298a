"""``/api/v1/bookie/state``: whether clients are served, and what they may write."""

from bookkeeper_tx.bookie.http.administered import Administered, Phase
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call


async def state(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Only support GET method to retrieve bookie state.", NOT_FOUND)
    running = bookie.phase is Phase.SERVING
    return json_answer(
        {
            "running": running,
            "readOnly": bookie.availability.read_only,
            "shuttingDown": bookie.phase is Phase.STOPPING,
            "availableForHighPriorityWrites": running and not bookie.availability.cannot_write,
        }
    )
