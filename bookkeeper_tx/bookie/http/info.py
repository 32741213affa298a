"""``/api/v1/bookie/info``: the space of the bookie's ledger disk."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call


async def info(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Only GET is supported.", NOT_FOUND)
    disk, directory = bookie.disk, bookie.directories.ledger
    free = await bookie.threads.run(disk.free_bytes, directory)
    total = await bookie.threads.run(disk.total_bytes, directory)
    return json_answer({"freeSpace": free, "totalSpace": total})
