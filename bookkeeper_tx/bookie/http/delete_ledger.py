"""``/api/v1/ledger/delete``: deletes the metadata of a ledger."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.errors import NoSuchLedger


async def delete_ledger(call: Call, bookie: Administered) -> Answer:
    if call.method != "DELETE":
        return Answer("Not found method. Should be DELETE method", NOT_FOUND)
    if "ledger_id" not in call.parameters:
        return Answer("Not ledger found. Should provide ledger_id=<id>", NOT_FOUND)
    ledger_id = call.ledger_id
    try:
        await bookie.store.delete_ledger(ledger_id)
    except NoSuchLedger:
        pass  # somebody has done it before; Java says the same then
    return json_answer(f"Deleted ledger: {ledger_id.ledger_id}")
