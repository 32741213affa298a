"""``/api/v1/bookie/sanity``: writes a ledger to this bookie, reads it and deletes it."""

from twisted.logger import Logger

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.errors import BookKeeperError

ENTRIES = 10

log = Logger()


async def sanity(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Only support GET method to retrieve bookie sanity state.", NOT_FOUND)
    read_only = bookie.config.read_only
    passed = not read_only and await _passes(bookie)
    return json_answer({"passed": passed, "readOnly": read_only})


async def _passes(bookie: Administered) -> bool:
    try:
        return await _round_trip(await bookie.own_client.started())
    except BookKeeperError as error:
        log.error("the sanity test has failed: {error}", error=error)
        return False


async def _round_trip(client: BookKeeper) -> bool:
    payloads = [b"entry %d" % index for index in range(ENTRIES)]
    writer = await client.create_ledger(1, 1, 1)
    try:
        await writer.append_many(payloads)
        await writer.close()
        reader = await client.open_ledger(writer.ledger_id)
        read = await reader.read(0, ENTRIES - 1)
        return [entry.payload for entry in read] == payloads
    finally:
        await client.delete_ledger(writer.ledger_id)
