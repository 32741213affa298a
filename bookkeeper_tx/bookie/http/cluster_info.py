"""``/api/v1/bookie/cluster_info``: how many bookies there are, and whether ledgers are re-replicated."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call


async def cluster_info(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Only GET is supported.", NOT_FOUND)
    store = bookie.store
    replication = await store.replication()
    total, writable = len(await store.cookie_bookies()), len(await store.writable_bookies())
    read_only = len(await store.read_only_bookies())
    return json_answer(
        {
            "auditorElected": replication.auditor is not None,
            "auditorId": replication.auditor or "",
            "clusterUnderReplicated": replication.is_due,
            "ledgerReplicationEnabled": replication.enabled,
            "totalBookiesCount": total,
            "writableBookiesCount": writable,
            "readonlyBookiesCount": read_only,
            "unavailableBookiesCount": total - writable - read_only,
        }
    )
