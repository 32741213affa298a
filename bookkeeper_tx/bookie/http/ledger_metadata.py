"""``/api/v1/ledger/metadata``: the metadata of a ledger, its password included."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.http.metadata_json import metadata_json


async def ledger_metadata(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET" or "ledger_id" not in call.parameters:
        return Answer("Not found method. Should be GET method", NOT_FOUND)
    ledger_id = call.ledger_id
    stored = await bookie.store.read_ledger(ledger_id)
    return json_answer({str(ledger_id.ledger_id): metadata_json(ledger_id, stored.metadata)})
