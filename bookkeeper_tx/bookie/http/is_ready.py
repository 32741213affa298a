"""``/api/v1/bookie/is_ready``: whether clients are served; what brings the bookie up waits for it."""

from bookkeeper_tx.bookie.http.administered import Administered, Phase
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, UNAVAILABLE, Answer
from bookkeeper_tx.bookie.http.call import Call


async def is_ready(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Only support GET method check if bookie is ready.", NOT_FOUND)
    if bookie.phase is not Phase.SERVING:
        return Answer("Bookie is not fully started yet", UNAVAILABLE)
    return Answer("OK")
