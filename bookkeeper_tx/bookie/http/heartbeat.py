"""``/heartbeat``: whether the process answers at all."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import Answer
from bookkeeper_tx.bookie.http.call import Call


async def heartbeat(call: Call, bookie: Administered) -> Answer:
    return Answer("OK\n")
