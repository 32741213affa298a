"""``/api/v1/bookie/info``: the space of the disks that hold the ledgers."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.space import space_of


async def info(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Only GET is supported.", NOT_FOUND)
    total, free = await bookie.threads.run(space_of, bookie.disk, bookie.ledger_directories)
    return json_answer({"freeSpace": free, "totalSpace": total})
